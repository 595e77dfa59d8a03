import { ok, type Result } from '../../core/result.ts'
import { toTimestamp } from '../../core/text.ts'
import { hasLanded } from '../../credentials/release-state.ts'
import type { HelmRelease } from '../../k8s/objects.ts'
import { type Ended, look } from './look.ts'
import type { Patience, ReleaseTarget, RotationServices } from './rotator.ts'
import { force, hasHandled, isElsewhere, liftAndForce, revisionOf } from './suspension.ts'

type Upgraded =
  | 'upgraded'
  | { readonly is: 'elsewhere' }
  | { readonly is: 'hindered'; readonly why: string }
  | Ended

/**
 * Lifts the suspension of a release and has Flux upgrade it, though nothing in it has changed. Whether it did is told by
 * the number of the Helm release: Flux takes note of a token that it did nothing about, too, for example when a dependency
 * is not ready just then. Such a one is asked again. Undefined when the release has changed since it was read.
 */
export async function upgrade(
  services: RotationServices,
  target: ReleaseTarget,
  held: HelmRelease,
  patience: Patience,
): Promise<Result<Upgraded | undefined>> {
  const before = revisionOf(held)
  let token = tokenOf(services)
  const lifted = await liftAndForce(services, held, token)
  if (!lifted.ok) return lifted.failure.reason === 'kube_conflict' ? ok(undefined) : lifted
  const seen = await look<Upgraded>(services, target, patience, async (release) => {
    if (isElsewhere(release)) return ok({ is: 'elsewhere' } as const)
    if (!hasLanded(release)) return ok(undefined)
    if (revisionOf(release) > before) return ok('upgraded')
    if (!hasHandled(release, token)) return ok(undefined)
    token = tokenOf(services)
    const forced = await force(services, release, token)
    return forced.ok || forced.failure.reason === 'kube_conflict' ? ok(undefined) : forced
  })
  if (!seen.ok || seen.value === 'upgraded' || seen.value.is !== 'late') return seen
  return ok({ is: 'hindered', why: 'Flux has not upgraded it in time' })
}

/** Another one every time: Flux does each token once. */
function tokenOf({ deps }: RotationServices): string {
  const random = Array.from(deps.randomBytes(4), (byte) => byte.toString(16).padStart(2, '0')).join('')
  return `${toTimestamp(deps.now())}-${random}`
}
