import { at, own, textAt } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { toTimestamp } from '../../core/text.ts'
import { isSuspended } from '../../credentials/application.ts'
import { hasLanded } from '../../credentials/release-state.ts'
import { type JsonPatchOperation, pointerTo } from '../../k8s/conversion-kube.ts'
import type { HelmRelease } from '../../k8s/objects.ts'
import { type Ended, look } from './look.ts'
import type { Patience, ReleaseTarget, RotationServices } from './rotator.ts'

/** Ours: a suspension without it is somebody else's. Since when, RFC 3339. */
const SUSPENDED = 'credentials.cozystack.io/suspended-for-rotation'
const REQUESTED_AT = 'reconcile.fluxcd.io/requestedAt'
const FORCE_AT = 'reconcile.fluxcd.io/forceAt'

/** Reads of one object that is being changed by others, one after the other. */
const MAX_TRIES = 10

export const isOurs = ({ metadata }: HelmRelease): boolean =>
  textAt(metadata.annotations, SUSPENDED) !== undefined

export const isElsewhere = (release: HelmRelease): boolean => isSuspended(release) && !isOurs(release)

type Services = Pick<RotationServices, 'kube' | 'conversionKube' | 'deps' | 'wait'>

export type Held =
  | { readonly is: 'held'; readonly release: HelmRelease }
  | { readonly is: 'elsewhere' }
  | Ended

/**
 * Suspends a release that has landed, and waits until Flux knows: `observedGeneration` of a suspended release is written
 * by the reconciliation that found it so, and Flux reconciles an object once at a time (helm-controller,
 * `internal/controller/helmrelease_controller.go`). Only from then on no upgrade is under way that has rendered the
 * passwords from before. One of ours is kept, and one of somebody else's is answered as that.
 */
export function hold(services: Services, target: ReleaseTarget, patience: Patience): Promise<Result<Held>> {
  return look(services, target, patience, async (release): Promise<Result<Held | undefined>> => {
    if (isElsewhere(release)) return ok({ is: 'elsewhere' })
    if (isSuspended(release)) return ok(isObserved(release) ? { is: 'held', release } : undefined)
    if (!hasLanded(release)) return ok(undefined)
    const operations: readonly JsonPatchOperation[] = [
      ...mark(release, { [SUSPENDED]: toTimestamp(services.deps.now()) }),
      { op: 'add', path: '/spec/suspend', value: true },
    ]
    const patched = await patch(services, release, operations)
    return patched.ok || patched.failure.reason === 'kube_conflict' ? ok(undefined) : patched
  })
}

const isObserved = ({ metadata, status }: HelmRelease): boolean =>
  metadata.generation !== undefined && own(status, 'observedGeneration') === metadata.generation

/** Whether nothing of its spec has changed since it was held: no upgrade can have begun. */
export const isStillHeld = (release: HelmRelease, held: HelmRelease): boolean =>
  isSuspended(release) &&
  isOurs(release) &&
  release.metadata.uid === held.metadata.uid &&
  release.metadata.generation === held.metadata.generation

/** Lifts a suspension of ours, and takes our mark off a release that somebody has resumed. Others are left alone. */
export async function lift(
  services: Services,
  { namespace, release: name }: ReleaseTarget,
): Promise<Result<undefined>> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const read = await services.kube.getHelmRelease(namespace, name)
    if (!read.ok) return read
    if (read.value === undefined || !isOurs(read.value)) return ok(undefined)
    const lifted = await patch(services, read.value, liftOf(read.value))
    if (lifted.ok) return ok(undefined)
    if (lifted.failure.reason !== 'kube_conflict') return lifted
  }
  return fail({ reason: 'kube_conflict' })
}

/**
 * Takes our mark off a release that is not suspended any more: it would make a later suspension of somebody else's look
 * like ours. Answers the release as it is then, and as it was read when that has changed meanwhile or is as it should be.
 */
export async function dropStaleMark(services: Services, release: HelmRelease): Promise<Result<HelmRelease>> {
  if (isSuspended(release) || !isOurs(release)) return ok(release)
  const patched = await patch(services, release, liftOf(release))
  return patched.ok || patched.failure.reason !== 'kube_conflict' ? patched : ok(release)
}

/**
 * Lifts it and asks for an upgrade in the same patch: a reconciliation that finds the release suspended takes note of
 * `requestedAt` all the same, and a force of that token is then never done (`github.com/fluxcd/pkg/apis/meta`, HandleAnnotationRequest).
 */
export const liftAndForce = (
  services: Services,
  release: HelmRelease,
  token: string,
): Promise<Result<HelmRelease>> =>
  patch(services, release, [...liftOf(release), ...mark(release, forceOf(token))])

/** Asks a release that is not suspended. */
export const force = (
  services: Services,
  release: HelmRelease,
  token: string,
): Promise<Result<HelmRelease>> => patch(services, release, mark(release, forceOf(token)))

const forceOf = (token: string) => ({ [REQUESTED_AT]: token, [FORCE_AT]: token })

const liftOf = (release: HelmRelease): readonly JsonPatchOperation[] => [
  ...(isSuspended(release) ? [{ op: 'remove', path: '/spec/suspend' } as const] : []),
  { op: 'remove', path: pointerTo('metadata', 'annotations', SUSPENDED) },
]

/** An operation beneath what is not there fails (RFC 6902, section 4.1). */
const mark = (
  { metadata }: HelmRelease,
  annotations: Readonly<Record<string, string>>,
): readonly JsonPatchOperation[] =>
  metadata.annotations === undefined
    ? [{ op: 'add', path: '/metadata/annotations', value: annotations }]
    : Object.entries(annotations).map(([name, value]) => ({
        op: 'add',
        path: pointerTo('metadata', 'annotations', name),
        value,
      }))

function patch(
  { conversionKube }: Services,
  { metadata }: HelmRelease,
  operations: readonly JsonPatchOperation[],
): Promise<Result<HelmRelease>> {
  const { namespace = '', name, uid, resourceVersion = '' } = metadata
  return conversionKube.patchHelmRelease(namespace, name, { uid, resourceVersion }, operations)
}

/** What says that an upgrade was made: the number of the newest Helm release, of `status.history`. */
export function revisionOf({ status }: HelmRelease): number {
  const history = own(status, 'history')
  const newest: unknown = Array.isArray(history) ? history[0] : undefined
  return Number(at(newest, 'version') ?? 0)
}

/** Whether Flux has dealt with the token, by an upgrade or not. */
export const hasHandled = ({ status }: HelmRelease, token: string): boolean =>
  textAt(status, 'lastHandledReconcileAt') === token
