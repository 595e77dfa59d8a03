import type { Cause } from '../core/failure.ts'
import { textAt } from '../core/json.ts'
import { parseTimestamp } from '../core/text.ts'
import type { Declarations } from '../definitions/resolve.ts'
import type { CredentialRules } from '../definitions/rules.ts'
import type { HelmRelease, StoredSecret } from '../k8s/objects.ts'
import { isAbandonedSeed } from './abandoned.ts'
import {
  declaredByIn,
  type Holder,
  holderOf,
  isAdopted,
  storedValueIn,
  undeclaredSince,
  usernameIn,
} from './account-secret.ts'
import { applicationOf, KIND_LABEL, NAME_LABEL } from './application.ts'
import { type NamedAccount, nameAccounts } from './declared.ts'
import { accountNameOf, type CredentialName, credentialOfSecret, secretNameOf } from './naming.ts'
import { mayBeKnown } from './record.ts'
import { hasLanded, takesUnreadValues, takesValuesFrom, wasDeployed } from './release-state.ts'
import { referencesTo, valuesFromOf, wired } from './wiring.ts'

type Held<Is extends Holder['is']> = Extract<Holder, { readonly is: Is }>

/** One thing to be done for a release, or to be said about it. */
export type Step =
  /** There is none, and the engine has never seen the account: a value that nobody knows. */
  | { readonly do: 'seed'; readonly account: NamedAccount }
  /** The same where a leftover stands whose password nobody knows. */
  | { readonly do: 'replace'; readonly account: NamedAccount; readonly holder: Held<'leftover'> }
  /** Its value is empty, which some engines take for "no password". */
  | { readonly do: 'refill'; readonly account: NamedAccount; readonly holder: Held<'ours'> }
  /** The marks of the release are to be completed, and a mark of being undeclared to be taken away. */
  | { readonly do: 'adopt'; readonly account: NamedAccount; readonly holder: Held<'ours'> }
  /** No longer declared: the first look. */
  | { readonly do: 'mark'; readonly name: CredentialName; readonly secret: StoredSecret }
  /** The second look, after time for second thoughts. */
  | { readonly do: 'delete'; readonly name: CredentialName; readonly secret: StoredSecret }
  | { readonly do: 'warn'; readonly about: Warning }

export type Warning =
  | { readonly is: 'missing'; readonly account: NamedAccount }
  | { readonly is: 'leftover'; readonly account: NamedAccount }
  | { readonly is: 'foreign'; readonly account: NamedAccount; readonly why: string }
  | { readonly is: 'unsound'; readonly account: NamedAccount }
  /** Its account is not declared, and that may have other reasons than that somebody took it out of the release. */
  | { readonly is: 'kept'; readonly secretName: string; readonly why: string }
  /** The chart does not get the stored values: `spec.valuesFrom` lacks them, and only admission writes that. */
  | { readonly is: 'unwired' }
  | { readonly is: 'refused'; readonly message: string }

export interface PlanInput {
  readonly release: HelmRelease
  readonly rules: CredentialRules
  readonly declared: Declarations
  /** What stands at the names of account Secrets in the namespace, by name. */
  readonly secrets: ReadonlyMap<string, StoredSecret>
  readonly now: number
  /** From the first look at an undeclared account to the second, in milliseconds. */
  readonly graceMs: number
}

/**
 * What a sync has to do for a release: nothing, when everything is as it should be. A plan, so that a sweep over
 * thousands of releases can be made from lists; whoever carries it out reads afresh. It never changes a value that
 * somebody may know, and without complete knowledge it takes nothing away: a source that failed leaves all as it is.
 */
export function planOf(input: PlanInput): readonly Step[] {
  const { release, declared } = input
  if (release.metadata.deletionTimestamp !== undefined) return []
  if (declared.causes.length > 0) {
    return declared.causes.map(refused)
  }
  const named = nameAccounts(declared, release.metadata.name)
  return [
    ...named.problems.map(({ cause }) => refused(cause)),
    ...named.accounts.flatMap((account) => stepsFor(account, input)),
    ...undeclaredSteps(input),
  ]
}

/** A plan, and whether the chart gets the stored values. */
export async function stepsOf(input: PlanInput): Promise<readonly Step[]> {
  return [...planOf(input), ...(await wiringSteps(input))]
}

/** This function has no right to update HelmReleases: admission wires, and a sync says when it has not. */
async function wiringSteps({
  release,
  rules: { valuesPath },
  declared,
}: PlanInput): Promise<readonly Step[]> {
  const current = valuesFromOf(release)
  if (valuesPath === undefined || current === undefined || release.metadata.deletionTimestamp !== undefined)
    return []
  // Without all accounts nobody knows what should be there.
  if (declared.causes.length > 0) return []
  const { accounts } = nameAccounts(declared, release.metadata.name)
  const wanted = await referencesTo(accounts, valuesPath)
  return wired(current, wanted, release.metadata.name) === current
    ? []
    : [{ do: 'warn', about: { is: 'unwired' } }]
}

const refused = ({ field = 'spec.values', message }: Cause): Step => ({
  do: 'warn',
  about: { is: 'refused', message: `${field}: ${message}` },
})

function stepsFor(account: NamedAccount, input: PlanInput): readonly Step[] {
  const { release, secrets } = input
  const holder = holderOf(secrets.get(account.secretName), account.username, release.metadata.uid)
  switch (holder.is) {
    case 'absent':
      return [
        wasDeployed(release) ? { do: 'warn', about: { is: 'missing', account } } : { do: 'seed', account },
      ]
    case 'foreign':
      return [{ do: 'warn', about: { is: 'foreign', account, why: holder.why } }]
    case 'leftover':
      if (isAbandoned(account, holder, input))
        return [{ do: 'adopt', account, holder: { ...holder, is: 'ours' } }]
      return mayBeKnown(holder.record.origin) || wasDeployed(release) || isTerminating(holder.secret)
        ? [{ do: 'warn', about: { is: 'leftover', account } }]
        : [{ do: 'replace', account, holder }]
    case 'ours':
      return stepsForOurs(account, holder, input)
  }
}

/** Of another create of this name: its value may even be the one that the chart has rendered. */
function isAbandoned(
  { username }: NamedAccount,
  holder: Held<'leftover'>,
  { release, rules }: PlanInput,
): boolean {
  const application = applicationOf(release)
  return (
    application !== undefined &&
    !isTerminating(holder.secret) &&
    isAbandonedSeed(holder, { username, application, rules })
  )
}

/** What is going away is the collector's. */
const isTerminating = ({ metadata }: StoredSecret): boolean => metadata.deletionTimestamp !== undefined

function stepsForOurs(
  account: NamedAccount,
  holder: Held<'ours'>,
  { release, rules }: PlanInput,
): readonly Step[] {
  const { secret } = holder
  if (isTerminating(secret)) return []
  const stored = storedValueIn(secret) ?? ''
  // Bytes that are no text are a value all the same: not ours to replace.
  const isEmpty = !textAt(secret.data, 'password')
  if (isEmpty && secret.immutable !== true) return [{ do: 'refill', account, holder }]
  const isSettled =
    isAdopted(secret, release.metadata.uid) &&
    undeclaredSince(secret) === undefined &&
    declaredByIn(secret) === rules.declaredBy
  return [
    ...(isSettled ? [] : [{ do: 'adopt', account, holder } as const]),
    ...(rules.format.canonical.test(stored)
      ? []
      : [{ do: 'warn', about: { is: 'unsound', account } } as const]),
  ]
}

/** Secrets of this release for accounts that it no longer declares, in any form, once it has landed without them. */
function undeclaredSteps(input: PlanInput): readonly Step[] {
  const { release, declared, secrets } = input
  if (!declared.complete || !hasLanded(release)) return []
  const { name: ofRelease } = release.metadata
  const spoken = new Set(
    declared.accounts.map(({ username }) =>
      secretNameOf({ release: ofRelease, account: accountNameOf(username) }),
    ),
  )
  return [...secrets.values()].flatMap((secret): readonly Step[] => {
    if (spoken.has(secret.metadata.name)) return []
    const name = credentialOfSecret(secret.metadata.name)
    if (name === undefined || !isOwn(secret, name, release)) return []
    if (isTerminating(secret) || takesValuesFrom(release, secret.metadata.name)) return []
    const why = whyKept(secret, input)
    if (why === undefined) return looksAt(secret, name, input)
    return [{ do: 'warn', about: { is: 'kept', secretName: secret.metadata.name, why } }]
  })
}

/** The first look, or the second. A time that is none, or is still to come, says nothing: the first look is now. */
function looksAt(secret: StoredSecret, name: CredentialName, { now, graceMs }: PlanInput): readonly Step[] {
  const since = parseTimestamp(undeclaredSince(secret) ?? '')
  if (since === undefined || since > now) return [{ do: 'mark', name, secret }]
  return now - since >= graceMs ? [{ do: 'delete', name, secret }] : []
}

/** Why an account may be in use although it is not declared; undefined when the release itself has dropped it. */
function whyKept(secret: StoredSecret, { release, rules }: PlanInput): string | undefined {
  const { labels } = secret.metadata
  const application = applicationOf(release)
  if (textAt(labels, KIND_LABEL) !== application?.kind || textAt(labels, NAME_LABEL) !== application?.name) {
    return 'it was made for an application of another kind or name'
  }
  if (takesUnreadValues(release)) return 'the release takes values from references, which are not read'
  return rules.declaredBy !== undefined && declaredByIn(secret) === rules.declaredBy
    ? undefined
    : `the account sources of ApplicationDefinition ${rules.definition} have changed since it was declared`
}

/** Whether an account Secret of this name is this release's. One whose user does not make its name is not. */
function isOwn(secret: StoredSecret, name: CredentialName, { metadata }: HelmRelease): boolean {
  const username = usernameIn(secret)
  if (name.release !== metadata.name || username === undefined) return false
  return accountNameOf(username) === name.account && holderOf(secret, username, metadata.uid).is === 'ours'
}
