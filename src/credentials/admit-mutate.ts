import { isObject, isSameJson, own } from '../core/json.ts'
import { resolveDeclared } from '../definitions/resolve.ts'
import type { CallOptions } from '../k8s/kube.ts'
import { readAhead } from './admit-ahead.ts'
import { READING } from './admit-create.ts'
import {
  type AdmissionServices,
  changesValues,
  definitionWarning,
  type Served,
  servedBy,
} from './admit-served.ts'
import { applicationOf } from './application.ts'
import { type NamedAccount, nameAccounts } from './declared.ts'
import { type ReadSecrets, readHolders } from './holders.ts'
import { inlinePasswords } from './inline-passwords.ts'
import { ALLOWED, allowed, type PatchOperation, type Review, refused, type Verdict } from './verdict.ts'
import { referencesTo, strangersAmong, valuesFromOf, wired } from './wiring.ts'

/**
 * What is changed in a HelmRelease before it is stored, as a mutating webhook: passwords that somebody has written into
 * its values are dropped, and its `valuesFrom` gets the stored values of its accounts. Writes nothing itself.
 */
export async function mutate(
  services: AdmissionServices,
  review: Review,
  options: CallOptions,
): Promise<Verdict> {
  if (review.operation === 'DELETE') return ALLOWED
  if (changesWiring(review)) return mutateBy(services, review, { ...options, isFresh: true })
  // What a write does not touch was right when it was written: rules that are a little old may say so, and change nothing.
  const verdict = await mutateBy(services, review, { ...options, isFresh: false })
  const isRight = verdict.is !== 'allowed' || verdict.patch.length === 0
  return isRight ? verdict : mutateBy(services, review, { ...options, isFresh: true })
}

async function mutateBy(
  services: AdmissionServices,
  review: Review,
  { isFresh, ...options }: CallOptions & { readonly isFresh: boolean },
): Promise<Verdict> {
  const [served, ahead] = await Promise.all([
    servedBy(services, review.object, { ...options, isFresh }),
    readAhead(services, review, ({ valuesPath }) => isFresh && valuesPath !== undefined, options),
  ])
  if (!served.ok) {
    return changesValues(review)
      ? refused({ is: 'failed', what: READING, failure: served.failure })
      : allowed({ warnings: [definitionWarning(served.failure)] })
  }
  if (served.value === undefined) return ALLOWED
  const [passwords, wiring] = await Promise.all([
    inlinePasswords(services, review, served.value, options),
    wiringOf(services, review, served.value, { ...options, known: ahead }),
  ])
  return allowed({
    patch: [...passwords.patch, ...wiring.paths],
    warnings: [...passwords.warnings, ...wiring.warnings],
  })
}

/** Whether a write touches the accounts, the way of their values to the chart, or which application it is. */
const changesWiring = (review: Review): boolean =>
  changesValues(review) ||
  !isSameJson(own(review.object?.spec, 'valuesFrom'), own(review.oldObject?.spec, 'valuesFrom')) ||
  !isSameJson(
    review.object && applicationOf(review.object),
    review.oldObject && applicationOf(review.oldObject),
  )

interface Wiring {
  readonly paths: readonly PatchOperation[]
  readonly warnings: readonly string[]
}

type ReadOptions = CallOptions & { readonly known: ReadSecrets }

const UNCHANGED: Wiring = { paths: [], warnings: [] }

async function wiringOf(
  services: AdmissionServices,
  review: Review,
  served: Served,
  options: ReadOptions,
): Promise<Wiring> {
  const { release, rules } = served
  const current = valuesFromOf(release)
  if (rules.valuesPath === undefined || current === undefined || !isObject(release.spec)) return UNCHANGED
  const { name } = release.metadata
  if (name === '') return { paths: [], warnings: [UNNAMED] }
  const declared = await resolveDeclared(rules, release)
  // A source that cannot be read is refused, or was wrong before: which accounts there are, nobody knows.
  if (declared.causes.length > 0) return UNCHANGED
  const { accounts } = nameAccounts(declared, name)
  const value = wired(current, await referencesTo(accounts, rules.valuesPath), name)
  const op = own(release.spec, 'valuesFrom') === undefined ? 'add' : 'replace'
  const missing = changesWiring(review) ? missingOf(services, review, served, { accounts, options }) : []
  return {
    paths: value === current ? [] : [{ op, path: '/spec/valuesFrom', value }],
    warnings: [...strangersAmong(current, value, rules.valuesPath), ...(await missing)],
  }
}

/** Accounts that were there before and have no Secret: those that a write adds get theirs when it is validated. */
async function missingOf(
  services: AdmissionServices,
  { oldObject }: Review,
  { release, rules }: Served,
  { accounts, options }: { readonly accounts: readonly NamedAccount[]; readonly options: ReadOptions },
): Promise<readonly string[]> {
  if (oldObject === undefined) return []
  const before = nameAccounts(await resolveDeclared(rules, oldObject), release.metadata.name)
  const known = new Set(before.accounts.map(({ username }) => username))
  const old = accounts.filter(({ username }) => known.has(username))
  const held = await readHolders(services, { release }, old, options)
  return [...held].flatMap(([{ username, secretName }, holder]) =>
    holder.ok && holder.value.is === 'absent'
      ? [
          `user ${JSON.stringify(username)} has no Secret ${JSON.stringify(secretName)}, and Flux waits for it: mint its password, or convert the one it has`,
        ]
      : [],
  )
}

const UNNAMED =
  'spec.valuesFrom does not name the account Secrets, as the name is still to be generated: write the object once more'
