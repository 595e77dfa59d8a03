import { ok, type Result } from '../core/result.ts'
import type { CallOptions, ListOptions } from '../k8s/kube.ts'
import { listAll } from '../k8s/list-all.ts'
import type { StoredSecret, TenantProjection } from '../k8s/objects.ts'
import { claimsCa, isLive, labelledClaim } from './claim.ts'
import { few } from './few.ts'
import { labelIs, PUBLISH_LABEL, PUBLISH_RELEASE_LABEL, RELEASE_LABEL } from './labels.ts'
import { isNotServed } from './selectors-digest.ts'
import type { AnchorServices } from './services.ts'

/** Which Secrets ask for themselves. */
export const PUBLISH_SELECTOR = `${PUBLISH_LABEL}=true`

interface Place {
  readonly namespace: string
  readonly release: string
}

/** The TenantProjections that ask for a CA of this release. Fails with a `kube_*` reason. */
export async function projectionsOf(
  { kube }: AnchorServices,
  { namespace, release }: Place,
  options: CallOptions,
): Promise<Result<readonly TenantProjection[]>> {
  const labelSelector = labelIs(RELEASE_LABEL, release)
  if (labelSelector === undefined) return ok([])
  const list = (page: ListOptions) => kube.listTenantProjections(namespace, page)
  return listAll(list, { ...options, labelSelector }, (each) => (claimsCa(each) ? each : undefined))
}

/** The same where the platform may have no such kind. */
export async function projectionsIfServed(
  services: AnchorServices,
  place: Place,
  options: CallOptions,
): Promise<Result<readonly TenantProjection[]>> {
  const found = await projectionsOf(services, place, options)
  return !found.ok && isNotServed(found.failure) ? ok([]) : found
}

/** The Secrets that ask to be published for this release; none when labels are not listened to. */
export async function labelledOf(
  { kube, legs }: AnchorServices,
  { namespace, release }: Place,
  options: CallOptions,
): Promise<Result<readonly StoredSecret[]>> {
  const ofRelease = labelIs(PUBLISH_RELEASE_LABEL, release)
  if (!legs.labels || ofRelease === undefined) return ok([])
  const list = (page: ListOptions) => kube.listSecrets(namespace, page)
  const labelSelector = `${PUBLISH_SELECTOR},${ofRelease}`
  return listAll(list, { ...options, labelSelector }, (each) =>
    isLive(each) && labelledClaim(each) !== undefined ? each : undefined,
  )
}

/** Sorted, so that it is the same text whoever says it. */
export const namesOf = (objects: readonly (StoredSecret | TenantProjection)[]): string =>
  few(objects.map(({ metadata }) => metadata.name).toSorted())
