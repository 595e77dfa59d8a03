import type { Failure } from '../../core/failure.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { HelmRelease } from '../../k8s/objects.ts'
import type { Patience, ReleaseTarget, RotationServices } from './rotator.ts'

/** Between two looks at a release. */
const POLL_MS = 2_000
/** An API server that is restarted is away for some seconds. */
const MAX_FAILED_IN_A_ROW = 5

/** Why it is not looked at any more. */
export type Ended =
  /** There is none of that name, or it is being deleted. */
  | { readonly is: 'gone' }
  /** The deadline has passed. */
  | { readonly is: 'late' }
  /** The signal has fired. */
  | { readonly is: 'ended' }

type See<T> = (release: HelmRelease) => Promise<Result<T | undefined>>

/**
 * Looks at a release again and again until `see` answers something. The last look is at the deadline or after it. Fails
 * as `see` does, and when the release cannot be read several times in a row.
 */
export async function look<T>(
  services: Pick<RotationServices, 'kube' | 'deps' | 'wait'>,
  target: ReleaseTarget,
  { deadline, signal }: Patience,
  see: See<T>,
): Promise<Result<T | Ended>> {
  let failed = 0
  while (!signal?.aborted) {
    const isLast = services.deps.now() >= deadline
    const seen = await lookOnce(services, target, see)
    if ('unread' in seen) {
      failed += 1
      if (failed >= MAX_FAILED_IN_A_ROW || !PASSING.has(seen.unread.reason)) return fail(seen.unread)
    } else if (!seen.ok || seen.value !== undefined) return seen as Result<T | Ended>
    else failed = 0
    if (isLast) return ok({ is: 'late' })
    await services.wait(POLL_MS, signal)
  }
  return ok({ is: 'ended' })
}

async function lookOnce<T>(
  { kube }: Pick<RotationServices, 'kube'>,
  { namespace, release: name }: ReleaseTarget,
  see: See<T>,
): Promise<Result<T | Ended | undefined> | { readonly unread: Failure }> {
  const read = await kube.getHelmRelease(namespace, name)
  if (!read.ok) return { unread: read.failure }
  if (read.value === undefined || read.value.metadata.deletionTimestamp !== undefined)
    return ok({ is: 'gone' })
  return see(read.value)
}

const PASSING: ReadonlySet<Failure['reason']> = new Set([
  'kube_unreachable',
  'kube_timeout',
  'kube_overloaded',
  'kube_error',
])
