import { ok, type Result } from '../core/result.ts'
import type { CallOptions, ListOptions } from '../k8s/kube.ts'
import { listAll } from '../k8s/list-all.ts'
import type { TenantProjection } from '../k8s/objects.ts'
import { claimOf, claimsCa, isLive, releaseOfProjection } from './claim.ts'
import type { Declaration } from './declaration.ts'
import { isNotServed } from './selectors-digest.ts'
import { type AnchorServices, hasOtherLegs } from './services.ts'
import { readyReason } from './status.ts'
import { declarationsIn } from './sweep.ts'

interface About {
  readonly namespace: string
  /** Whether one of its TenantProjections is gone: which release it spoke for, nobody can say any more. */
  readonly isGone: boolean
}

type Found = Result<readonly Declaration[]>

/**
 * Whom else a change of a TenantProjection concerns, once it was looked at itself: the others whose status says that they are
 * contested and are not any more, or the other way round; and when it is gone, what speaks for releases without one. Fails with a
 * `kube_*` reason.
 */
export async function declarationsBeside(
  services: AnchorServices,
  { namespace, isGone }: About,
  options: CallOptions = {},
): Promise<Found> {
  const rivals = await rivalsIn(services, namespace, options)
  if (!rivals.ok || !isGone || !hasOtherLegs(services.legs)) return rivals
  const all = await declarationsIn(services, namespace, options)
  if (!all.ok) return all
  return ok([...rivals.value, ...all.value.filter(({ leg }) => leg !== 'projection')])
}

async function rivalsIn(
  { kube, legs }: AnchorServices,
  namespace: string,
  options: CallOptions,
): Promise<Found> {
  const list = (page: ListOptions) => kube.listTenantProjections(namespace, page)
  const listed = await listAll(list, options, (each) => (isLive(each) ? each : undefined))
  if (!listed.ok) return isNotServed(listed.failure) && hasOtherLegs(legs) ? ok([]) : listed
  const speakers = Map.groupBy(listed.value.filter(claimsCa), releaseOfProjection)
  const isContested = (each: TenantProjection): boolean => {
    const release = releaseOfProjection(each)
    const isOneOfMany = release !== undefined && (speakers.get(release) ?? []).length > 1
    return isOneOfMany && claimOf(each).is === 'one'
  }
  return ok(
    listed.value
      .filter((each) => isContested(each) !== (readyReason(each) === 'ReleaseContested'))
      .map(({ metadata }) => ({ leg: 'projection', namespace, name: metadata.name })),
  )
}
