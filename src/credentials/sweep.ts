import type { Failure } from '../core/failure.ts'
import { inTurns } from '../core/in-turns.ts'
import { fail, ok, type Result } from '../core/result.ts'
import type { Definitions } from '../definitions/lookup.ts'
import { resolveDeclared } from '../definitions/resolve.ts'
import type { CredentialRules } from '../definitions/rules.ts'
import type { CallOptions, ListOptions } from '../k8s/kube.ts'
import { listAll } from '../k8s/list-all.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import { APPLICATION_GROUP, applicationOf, GROUP_LABEL, KIND_LABEL } from './application.ts'
import { type ListedSecrets, listAccountSecrets, releaseKey } from './listed.ts'
import { orphansIn, sweepOrphans } from './orphans.ts'
import { stepsOf } from './plan.ts'
import { type SyncReport, type SyncServices, type SyncTarget, sync } from './sync.ts'

/** What a sweep found and did, in numbers. */
export interface SweepReport {
  /** That it looked at. */
  readonly releases: number
  /** That needed something: the others were left alone without a call. */
  readonly synced: number
  readonly created: number
  readonly adopted: number
  readonly marked: number
  readonly deleted: number
  /** Secrets of releases that are gone. */
  readonly orphansDeleted: number
  /** How many things it found and may not mend: for each release and reason there is an Event. */
  readonly warnings: number
  /** Releases, Secrets and kinds that it could not deal with: each is a line of the log. */
  readonly failures: number
}

export interface SweepOptions {
  /** Whom records name. */
  readonly by: string
  readonly signal?: AbortSignal
  /** How many releases at a time. */
  readonly concurrency?: number
}

const CONCURRENCY = 8
/** Of a label: no release can be of any other kind (`k8s.io/apimachinery/pkg/util/validation`, IsValidLabelValue). */
const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/

/**
 * Brings the account Secrets of all releases in step, and removes those of releases that are gone. Plans are made from
 * lists: one of definitions, one of Secrets and one of releases for each kind that is served, in pages. Only a release
 * whose plan is not empty is then synced, which reads it afresh. A list that fails ends it before anything is written;
 * what is of a kind without rules, or with wrong ones, is left alone. Fails with a `kube_*` reason or `caller_gone`.
 */
export async function sweep(
  services: SyncServices,
  { by, signal, concurrency = CONCURRENCY }: SweepOptions,
): Promise<Result<SweepReport>> {
  const options = signal === undefined ? {} : { signal }
  const known = await services.definitions.read(options)
  if (!known.ok) return known
  const { served, skipped } = kindsOf(services, known.value)
  const secrets = await listAccountSecrets(services.kube, options)
  if (!secrets.ok) return secrets
  const seen = await lookAtReleases(services, served, secrets.value, options)
  if (!seen.ok) return seen
  const inNeed = seen.value.flatMap(({ target }) => target ?? [])
  // What a release that lives may take over is no orphan, whether its sync succeeds or not.
  const claimed = new Set(inNeed.map(({ namespace, release }) => releaseKey(namespace, release)))
  const orphans = orphansIn(secrets.value, {
    living: new Set(seen.value.map(({ uid }) => uid)),
    isServed: (kind) => served.has(kind),
    now: services.deps.now(),
    graceMs: services.graceMs,
  }).filter(({ secret, release }) => !claimed.has(releaseKey(secret.metadata.namespace, release)))
  const synced = await syncAll(services, inNeed, { by, concurrency, ...options })
  const { deleted, ...swept } = await sweepOrphans(services, orphans, { concurrency, ...options })
  if (signal?.aborted) return fail({ reason: 'caller_gone' })
  const report: SweepReport = {
    releases: seen.value.length,
    ...synced,
    orphansDeleted: deleted,
    warnings: synced.warnings + swept.warnings,
    failures: synced.failures + swept.failures + skipped,
  }
  services.deps.log('info', 'sweep', { ...report, by })
  return ok(report)
}

type Served = ReadonlyMap<string, CredentialRules>

/** The kinds that have rules, and how many have wrong ones. */
function kindsOf(
  { deps }: SyncServices,
  { kinds, rulesFor }: Definitions,
): { readonly served: Served; readonly skipped: number } {
  const served = new Map<string, CredentialRules>()
  let skipped = 0
  for (const kind of kinds) {
    const rules = rulesFor(kind)
    if (!rules.ok) {
      skipped += 1
      deps.log('warn', 'sweep_skipped', { kind, failure: rules.failure.reason })
    } else if (rules.value !== undefined && LABEL_VALUE.test(kind)) served.set(kind, rules.value)
  }
  return { served, skipped }
}

/** A release that was listed; with a target when it needs something. */
interface Seen {
  readonly uid: string
  readonly target?: SyncTarget
}

async function lookAtReleases(
  services: SyncServices,
  served: Served,
  secrets: ListedSecrets,
  options: CallOptions,
): Promise<Result<readonly Seen[]>> {
  const seen: Seen[] = []
  const list = (page: ListOptions) => services.kube.listHelmReleases(undefined, page)
  for (const [kind, rules] of served) {
    const labelSelector = `${GROUP_LABEL}=${APPLICATION_GROUP},${KIND_LABEL}=${kind}`
    const listed = await listAll(list, { ...options, labelSelector }, (release) =>
      lookAt(services, rules, secrets, release),
    )
    if (!listed.ok) return listed
    seen.push(...listed.value)
  }
  return ok(seen)
}

async function lookAt(
  { deps, graceMs }: SyncServices,
  rules: CredentialRules,
  secrets: ListedSecrets,
  release: HelmRelease,
): Promise<Seen | undefined> {
  // Nothing that a selector let through is believed for that.
  if (applicationOf(release) === undefined) return undefined
  const { namespace = '', name, uid } = release.metadata
  const ofRelease = secrets.get(releaseKey(namespace, name)) ?? []
  const steps = await stepsOf({
    release,
    rules,
    declared: await resolveDeclared(rules, release),
    secrets: new Map(ofRelease.map(({ secret }) => [secret.metadata.name, secret])),
    now: deps.now(),
    graceMs,
  })
  return steps.length === 0 ? { uid } : { uid, target: { namespace, release: name } }
}

type Synced = Omit<SweepReport, 'releases' | 'orphansDeleted'>

async function syncAll(
  services: SyncServices,
  targets: readonly SyncTarget[],
  { concurrency, ...options }: SweepOptions & { readonly concurrency: number },
): Promise<Synced> {
  const reports: SyncReport[] = []
  let failures = 0
  const failed = (target: SyncTarget, { reason }: Failure) => {
    failures += 1
    services.deps.log('warn', 'sweep_failed', { ...target, failure: reason })
  }
  const each = async (target: SyncTarget) => {
    const outcome = await sync(services, target, options)
    if (!outcome.ok) failed(target, outcome.failure)
    else if (outcome.value.is === 'synced') reports.push(outcome.value.report)
  }
  await inTurns(targets, concurrency, each, options.signal)
  const total = (count: (report: SyncReport) => number) =>
    reports.reduce((sum, report) => sum + count(report), 0)
  return {
    synced: reports.length,
    created: total(({ created }) => created.length),
    adopted: total(({ adopted }) => adopted.length),
    marked: total(({ marked }) => marked.length),
    deleted: total(({ deleted }) => deleted.length),
    warnings: total(({ warnings }) => warnings),
    failures,
  }
}
