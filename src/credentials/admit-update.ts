import type { Result } from '../core/result.ts'
import { type Declarations, resolveDeclared } from '../definitions/resolve.ts'
import type { CallOptions, WriteOptions } from '../k8s/kube.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import { readAhead } from './admit-ahead.ts'
import { invalid, READING } from './admit-create.ts'
import {
  type AdmissionServices,
  applicationServed,
  changesValues,
  definitionWarning,
  type Served,
  servedBy,
} from './admit-served.ts'
import { type NamedAccount, nameAccounts } from './declared.ts'
import { type ReadSecrets, readHolders } from './holders.ts'
import { judge, type Seeding } from './judge.ts'
import { refusedSeeding, seedAccounts } from './seeding.ts'
import { ALLOWED, allowed, type Review, refused, type Verdict } from './verdict.ts'
import { problemsOf, ratchet, said } from './written.ts'

type Options = WriteOptions & { readonly by: string }

/**
 * A release that is to be changed. Only what the write itself brings can refuse it: names that are wrong, accounts
 * whose Secrets cannot be made. Everything that it found passes, with warnings.
 */
export async function admitUpdate(
  services: AdmissionServices,
  review: Review,
  options: Options,
): Promise<Verdict> {
  if (!changesValues(review)) return admitOther(services, review, options)
  if (applicationServed(review.object) === undefined) return ALLOWED
  // Side by side: the API server waits for the answer, and none of them needs another.
  const [served, stored, ahead] = await Promise.all([
    servedBy(services, review.object, options),
    services.kube.getHelmRelease(review.namespace, review.name, options),
    readAhead(services, review, () => true, options),
  ])
  if (!served.ok) return refused({ is: 'failed', what: READING, failure: served.failure })
  if (served.value === undefined) return ALLOWED
  const { rules, release } = served.value
  const before = review.oldObject ?? EMPTY
  const [declared, declaredBefore] = await Promise.all([
    resolveDeclared(rules, release),
    resolveDeclared(rules, before),
  ])
  if (declared.failure !== undefined) {
    return refused({ is: 'failed', what: READING, failure: declared.failure })
  }
  const { introduced, found } = ratchet(
    problemsOf(rules, declared, release),
    problemsOf(rules, declaredBefore, before),
  )
  if (introduced.length > 0) return refused(invalid(served.value, introduced))
  const warnings = found.map(({ cause }) => said(cause))
  // Nobody knows then which names a source would have reserved.
  if (declared.causes.length > 0) return allowed({ warnings })
  return admitAccounts(
    services,
    { served: served.value, declared, declaredBefore, warnings, stored, ahead },
    options,
  )
}

const EMPTY: HelmRelease = { metadata: { name: '', uid: '' }, spec: {} }

/** Nothing is asked for it but what is known already; adoption reads for itself. */
async function admitOther(
  { definitions }: AdmissionServices,
  { object }: Review,
  options: Options,
): Promise<Verdict> {
  const application = applicationServed(object)
  if (application === undefined) return ALLOWED
  const known = await definitions.load(options)
  const rules = known.ok ? known.value.rulesFor(application.kind) : known
  if (!rules.ok) return allowed({ warnings: [definitionWarning(rules.failure)] })
  return rules.value === undefined ? ALLOWED : allowed({ adopts: true })
}

interface Changed {
  readonly served: Served
  readonly declared: Declarations
  readonly declaredBefore: Declarations
  readonly warnings: readonly string[]
  /** The release as it is stored. */
  readonly stored: Result<HelmRelease | undefined>
  readonly ahead: ReadSecrets
}

async function admitAccounts(
  services: AdmissionServices,
  { served, declared, declaredBefore, warnings, stored, ahead }: Changed,
  options: Options,
): Promise<Verdict> {
  const { release, rules } = served
  const { accounts } = nameAccounts(declared, release.metadata.name)
  const known = usernamesOf(declaredBefore)
  if (!stored.ok) {
    return accounts.every(({ username }) => known.has(username))
      ? allowed({ warnings })
      : refused({ is: 'failed', what: READING, failure: stored.failure }, warnings)
  }
  // Somebody has made the review up, or the release has gone since: the API server answers for itself.
  if (stored.value === undefined || stored.value.metadata.uid !== release.metadata.uid) {
    return allowed({ warnings })
  }
  // Of two accounts of what was there before, the smaller change counts: a review may be made up, or late.
  const knownNow = usernamesOf(await resolveDeclared(rules, stored.value))
  const isAdded = ({ username }: NamedAccount) => !known.has(username) && !knownNow.has(username)
  const seeding: Seeding = { ...served, release: stored.value, isStored: true }
  const seeded = await seedAccounts(services, seeding, accounts.filter(isAdded), options)
  if (!seeded.ok) return refusedSeeding(seeded.failure, warnings)
  const { refusals } = seeded.value
  if (refusals.length > 0) return refused({ is: 'forbidden', messages: refusals }, warnings)
  const kept = accounts.filter((account) => !isAdded(account))
  const looked = await lookAt(services, seeding, kept, { ...options, known: ahead })
  return allowed({
    warnings: [...warnings, ...seeded.value.warnings, ...looked.warnings],
    adopts: looked.adopts,
  })
}

/** Malformed ones too: somebody had them in mind. */
const usernamesOf = ({ accounts, malformed }: Declarations): ReadonlySet<string> =>
  new Set([...accounts, ...malformed].flatMap(({ username }) => username ?? []))

/** Those that were there before: what is in their way is for whoever looks after them, and holds up nobody. */
async function lookAt(
  services: AdmissionServices,
  seeding: Seeding,
  accounts: readonly NamedAccount[],
  options: CallOptions & { readonly known: ReadSecrets },
): Promise<{ readonly warnings: readonly string[]; readonly adopts: boolean }> {
  const held = await readHolders(services, seeding, accounts, options)
  const judged = [...held].flatMap(([account, holder]) =>
    holder.ok ? [judge(holder.value, account, seeding)] : [],
  )
  return {
    warnings: judged.flatMap((each) => (each.do === 'refuse' ? [each.why] : [])),
    adopts: judged.some((each) => each.do === 'adopt'),
  }
}
