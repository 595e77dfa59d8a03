import type { Deps } from '../core/deps.ts'
import { inTurns } from '../core/in-turns.ts'
import { fail, ok, type Result } from '../core/result.ts'
import type { DefinitionLookup } from '../definitions/lookup.ts'
import { resolveDeclared } from '../definitions/resolve.ts'
import type { CredentialRules } from '../definitions/rules.ts'
import type { Kube, ListOptions } from '../k8s/kube.ts'
import { listAll } from '../k8s/list-all.ts'
import { isDnsLabel, isDnsSubdomain } from '../k8s/names.ts'
import type { HelmRelease, KubeEvent, StoredSecret } from '../k8s/objects.ts'
import { isAdoptable, releaseUidIn } from './account-secret.ts'
import { type Application, applicationOf, KIND_LABEL, NAME_LABEL } from './application.ts'
import { type Asker, carryOut, type Done } from './carry-out.ts'
import { nameAccounts } from './declared.ts'
import { warningEvents } from './events.ts'
import { legacyPasswords } from './legacy.ts'
import { type Step, stepsOf } from './plan.ts'
import { ACCOUNT_SELECTOR } from './view.ts'

export interface SyncServices {
  readonly kube: Kube
  readonly definitions: DefinitionLookup
  readonly deps: Pick<Deps, 'now' | 'randomBytes' | 'log'>
  /** Events: best effort, after the answer. */
  readonly emit: (event: KubeEvent) => void
  /** From the first look at an undeclared account to the second, in milliseconds. */
  readonly graceMs: number
}

export interface SyncTarget {
  readonly namespace: string
  readonly release: string
}

/** What a sync did: names of Credentials. */
export interface SyncReport {
  readonly created: readonly string[]
  readonly adopted: readonly string[]
  readonly marked: readonly string[]
  readonly deleted: readonly string[]
  /** How many things it found that it may not mend: an Event on the release for each reason. */
  readonly warnings: number
}

export type SyncOutcome =
  | { readonly is: 'synced'; readonly report: SyncReport }
  /** There is no such release. */
  | { readonly is: 'absent' }
  /** It is no application, or of a kind without minted credentials. */
  | { readonly is: 'unserved'; readonly why: string }

/** Everything that a plan is made of, read just now. */
interface Read {
  readonly release: HelmRelease
  readonly application: Application
  readonly rules: CredentialRules
  readonly steps: readonly Step[]
}

/** Writes that lose a race are planned anew, from what is there then. */
const MAX_ROUNDS = 4

/**
 * Brings the account Secrets of one release in step with what it declares. Idempotent: a second one does nothing. It
 * seeds, adopts, marks and deletes as `planOf` says and leaves everything else byte for byte alone. Fails with a
 * `kube_*` reason, or `definition_wrong`/`definitions_ambiguous`/`webhook_failed`; what was done before stays done, and is right.
 */
export async function sync(
  services: SyncServices,
  target: SyncTarget,
  { signal, ...asker }: Asker & { readonly signal?: AbortSignal },
): Promise<Result<SyncOutcome>> {
  const options = signal === undefined ? {} : { signal }
  const done: Done[] = []
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    const read = await readPlan(services, target, options)
    if (!read.ok) return read
    if ('is' in read.value) return ok(read.value)
    const carried = await carryOut(services, read.value, { ...asker, ...options })
    done.push(...carried.done)
    if (carried.is === 'failed') return fail(carried.failure)
    // What was left to be done is done; what the warnings are about, nobody did.
    if (carried.is === 'finished') return ok({ is: 'synced', report: reportOf(services, read.value, done) })
  }
  return fail({ reason: 'kube_conflict' })
}

function reportOf({ emit }: SyncServices, { release, steps }: Read, done: readonly Done[]): SyncReport {
  const warnings = steps.flatMap((step) => (step.do === 'warn' ? [step.about] : []))
  for (const event of warningEvents(release, warnings)) emit(event)
  const names = (what: Done['what']) =>
    done.filter((each) => each.what === what).map(({ credential }) => credential)
  return {
    created: names('created'),
    adopted: names('adopted'),
    marked: names('marked'),
    deleted: names('deleted'),
    warnings: warnings.length,
  }
}

type Options = { readonly signal?: AbortSignal }

/** A release that is written after it was read here is noticed before anything is deleted: it is read once more then. */
async function readPlan(
  services: SyncServices,
  { namespace, release: name }: SyncTarget,
  options: Options,
): Promise<Result<Read | Exclude<SyncOutcome, { is: 'synced' }>>> {
  const { kube, definitions, deps, graceMs } = services
  if (!isDnsLabel(namespace) || !isDnsSubdomain(name)) return ok({ is: 'absent' })
  // At the first dot the names of Credentials and of their Secrets end to speak of a release.
  if (!isDnsLabel(name)) return ok({ is: 'unserved', why: 'the name of the HelmRelease is no DNS label' })
  const [read, known] = await Promise.all([
    kube.getHelmRelease(namespace, name, options),
    definitions.read(options),
  ])
  if (!read.ok) return read
  if (read.value === undefined) return ok({ is: 'absent' })
  const release = read.value
  const application = applicationOf(release)
  if (application === undefined) return ok({ is: 'unserved', why: 'the HelmRelease is no application' })
  if (!known.ok) return known
  const rules = known.value.rulesFor(application.kind)
  if (!rules.ok) return rules
  if (rules.value === undefined) {
    return ok({ is: 'unserved', why: `applications of kind ${application.kind} have no minted credentials` })
  }
  const listed = await secretsOfRelease(services, application, { namespace, release: name }, options)
  if (!listed.ok) return listed
  const declared = await resolveDeclared(rules.value, release)
  if (declared.failure !== undefined) return fail(declared.failure)
  const secrets = await withOthers(services, listed.value, nameAccounts(declared, name), namespace, options)
  if (!secrets.ok) return secrets
  const input = { release, rules: rules.value, declared, secrets: secrets.value, now: deps.now(), graceMs }
  const steps = await withLegacy(services, await stepsOf(input), { release, rules: rules.value }, options)
  return steps.ok ? ok({ release, application, rules: rules.value, steps: steps.value }) : steps
}

type Secrets = ReadonlyMap<string, StoredSecret>

/** The account Secrets of the application: one list, in pages, and never of a whole namespace. */
async function secretsOfRelease(
  { kube }: SyncServices,
  { kind, name }: Application,
  { namespace, release }: SyncTarget,
  options: Options,
): Promise<Result<Secrets>> {
  const list = (page: ListOptions) => kube.listSecrets(namespace, page)
  const labelSelector = `${ACCOUNT_SELECTOR},${KIND_LABEL}=${kind},${NAME_LABEL}=${name}`
  const found = await listAll(list, { ...options, labelSelector }, (secret) =>
    secret.metadata.name.startsWith(`${release}.`) ? ([secret.metadata.name, secret] as const) : undefined,
  )
  return found.ok ? ok(new Map(found.value)) : found
}

/** An API server is not to be flooded by one release. */
const READS_AT_ONCE = 8

/** Beside those with our label: whatever else stands at the name of an account Secret. */
async function withOthers(
  { kube }: SyncServices,
  listed: Secrets,
  { accounts }: ReturnType<typeof nameAccounts>,
  namespace: string,
  options: Options,
): Promise<Result<Secrets>> {
  const names = accounts.flatMap(({ secretName }) => (listed.has(secretName) ? [] : [secretName]))
  const found = new Map<string, Result<StoredSecret | undefined>>()
  await inTurns(names, READS_AT_ONCE, async (name) => {
    found.set(name, await kube.getSecret(namespace, name, options))
  })
  const all = new Map(listed)
  for (const [name, secret] of found) {
    if (!secret.ok) return secret
    if (secret.value !== undefined) all.set(name, secret.value)
  }
  return ok(all)
}

/** While a chart from before keeps a password in the clear, that one works: a seed would cut its holders off. */
async function withLegacy(
  { kube }: SyncServices,
  steps: readonly Step[],
  { release, rules }: Pick<Read, 'release' | 'rules'>,
  options: Options,
): Promise<Result<readonly Step[]>> {
  const legacy = legacyPasswords(kube, { release, rules }, options)
  const kept: Step[] = []
  for (const step of steps) {
    const has = isSeeding(step, release) ? await legacy.has(step.account.username) : ok(false)
    if (!has.ok) return has
    if (!isSeeding(step, release) || !has.value) kept.push(step)
    // Instead of a leftover nobody's, or of nothing.
    else
      kept.push({
        do: 'warn',
        about: { is: step.do === 'seed' ? 'missing' : 'leftover', account: step.account },
      })
  }
  return ok(kept)
}

/** Whether a step gives the release a value that it did not have: the seed of another create is one too. */
const isSeeding = (
  step: Step,
  { metadata }: HelmRelease,
): step is Extract<Step, { do: 'seed' | 'replace' | 'adopt' }> =>
  step.do === 'seed' ||
  step.do === 'replace' ||
  (step.do === 'adopt' &&
    releaseUidIn(step.holder.secret) !== metadata.uid &&
    !isAdoptable(step.holder.secret))
