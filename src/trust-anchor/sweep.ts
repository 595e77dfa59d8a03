import { inTurns } from '../core/in-turns.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { APPLICATION_GROUP, applicationOf, GROUP_LABEL, KIND_LABEL } from '../credentials/application.ts'
import type { CallOptions, ListOptions } from '../k8s/kube.ts'
import { listAll } from '../k8s/list-all.ts'
import type { ObjectMeta } from '../k8s/objects.ts'
import { claimsCa, isLive, labelledClaim, releaseOfProjection } from './claim.ts'
import { PUBLISH_SELECTOR } from './contenders.ts'
import { type Declaration, declaredName } from './declaration.ts'
import type { AnchorOutcome } from './outcome.ts'
import { reconcile } from './reconcile.ts'
import { isNotServed } from './selectors-digest.ts'
import { type AnchorServices, hasOtherLegs } from './services.ts'

/** What a sweep found and did, in numbers. */
export interface AnchorSweepReport {
  /** That it looked at. */
  readonly declarations: number
  /** Whose CA is published. */
  readonly ready: number
  /** For which a Secret was created, updated or deleted. */
  readonly written: number
  /** That it could not deal with: each is a line of the log. */
  readonly failures: number
}

export interface AnchorSweepOptions {
  readonly signal?: AbortSignal
  /** How many declarations at a time. */
  readonly concurrency?: number
}

const CONCURRENCY = 8

/** A declaration, and the release that it speaks for; undefined when it names none. */
interface Listed {
  readonly declaration: Declaration
  readonly release: string | undefined
  /** Whether it asks for a CA, so that no weaker leg is heard. */
  readonly claims: boolean
}

type Lists = Result<readonly Listed[]>

/**
 * Reconciles all declarations of all namespaces, found by lists in pages. Those whose release a stronger leg speaks for are
 * passed over. A list that fails ends it before anything is written. Fails with a `kube_*` reason or `caller_gone`.
 */
export async function sweepAnchors(
  services: AnchorServices,
  { signal, concurrency = CONCURRENCY }: AnchorSweepOptions = {},
): Promise<Result<AnchorSweepReport>> {
  const options = signal === undefined ? {} : { signal }
  const found = await declarationsIn(services, undefined, options)
  if (!found.ok) return found
  const report = await reconcileAll(services, found.value, { concurrency, ...options })
  if (signal?.aborted) return fail({ reason: 'caller_gone' })
  services.deps.log('info', 'anchor_sweep', { ...report })
  return ok(report)
}

/** The declarations of a namespace, or of all (undefined), without those whose release a stronger leg speaks for. */
export async function declarationsIn(
  services: AnchorServices,
  namespace: string | undefined,
  options: CallOptions,
): Promise<Result<readonly Declaration[]>> {
  const found: Listed[] = []
  for (const list of [listProjections, listLabelled, listNamed]) {
    const listed = await list(services, namespace, options)
    if (!listed.ok) return listed
    const spokenFor = new Set(found.flatMap((each) => (each.claims ? [placeOf(each)] : [])))
    found.push(...listed.value.filter((each) => !spokenFor.has(placeOf(each))))
  }
  return ok(found.map(({ declaration }) => declaration))
}

const placeOf = ({ declaration, release }: Listed): string => `${declaration.namespace}/${release ?? ''}`

const namespaceOf = ({ metadata }: { readonly metadata: ObjectMeta }): string => metadata.namespace ?? ''

async function listProjections(
  { kube, legs }: AnchorServices,
  place: string | undefined,
  options: CallOptions,
): Promise<Lists> {
  const list = (page: ListOptions) => kube.listTenantProjections(place, page)
  const listed = await listAll(list, options, (each): Listed | undefined => {
    if (!isLive(each)) return undefined
    const declaration = { leg: 'projection', namespace: namespaceOf(each), name: each.metadata.name } as const
    const release = releaseOfProjection(each)
    return { declaration, release, claims: release !== undefined && claimsCa(each) }
  })
  return !listed.ok && isNotServed(listed.failure) && hasOtherLegs(legs) ? ok([]) : listed
}

async function listLabelled(
  { kube, legs }: AnchorServices,
  place: string | undefined,
  options: CallOptions,
): Promise<Lists> {
  if (!legs.labels) return ok([])
  const list = (page: ListOptions) => kube.listSecrets(place, page)
  return listAll(list, { ...options, labelSelector: PUBLISH_SELECTOR }, (each): Listed | undefined => {
    const claim = isLive(each) ? labelledClaim(each) : undefined
    if (claim === undefined) return undefined
    const declaration = { leg: 'label', namespace: namespaceOf(each), secret: each.metadata.name } as const
    return { declaration, release: claim.release, claims: claim.release !== undefined }
  })
}

async function listNamed(
  { kube, legs }: AnchorServices,
  place: string | undefined,
  options: CallOptions,
): Promise<Lists> {
  const all: Listed[] = []
  const list = (page: ListOptions) => kube.listHelmReleases(place, page)
  for (const kind of legs.names.keys()) {
    const labelSelector = `${GROUP_LABEL}=${APPLICATION_GROUP},${KIND_LABEL}=${kind}`
    const listed = await listAll(list, { ...options, labelSelector }, (each): Listed | undefined => {
      if (!isLive(each) || applicationOf(each)?.kind !== kind) return undefined
      const { name } = each.metadata
      return {
        declaration: { leg: 'name', namespace: namespaceOf(each), release: name },
        release: name,
        claims: true,
      }
    })
    if (!listed.ok) return listed
    all.push(...listed.value)
  }
  return ok(all)
}

async function reconcileAll(
  services: AnchorServices,
  declarations: readonly Declaration[],
  { concurrency, ...options }: CallOptions & { readonly concurrency: number },
): Promise<AnchorSweepReport> {
  const outcomes: Extract<AnchorOutcome, { is: 'done' }>[] = []
  let failures = 0
  const each = async (declaration: Declaration) => {
    const outcome = await reconcile(services, declaration, options)
    if (outcome.ok && outcome.value.is === 'done') outcomes.push(outcome.value)
    if (outcome.ok) return
    failures += 1
    const { leg, namespace } = declaration
    const name = declaredName(declaration)
    services.deps.log('warn', 'anchor_failed', { leg, namespace, name, failure: outcome.failure.reason })
  }
  await inTurns(declarations, concurrency, each, options.signal)
  return {
    declarations: declarations.length,
    ready: outcomes.filter(({ ready }) => ready).length,
    written: outcomes.filter(({ wrote }) => wrote).length,
    failures,
  }
}
