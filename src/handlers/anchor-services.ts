import type { Later } from '../core/http.ts'
import { ok, type Result } from '../core/result.ts'
import type { AnchorServices } from '../trust-anchor/services.ts'
import type { AnchorSweepReport } from '../trust-anchor/sweep.ts'
import type { Services } from './services.ts'
import { emitterWith, type SyncParts } from './sync-services.ts'

export type AnchorParts = Pick<SyncParts, 'kube' | 'definitions' | 'deps'> & Pick<Services, 'anchors'>

/** What CAs are published with; undefined where none are. `later` is given the work that nobody waits for. */
export function anchorServicesWith(services: AnchorParts, later: Later): AnchorServices | undefined {
  const { kube, definitions, deps, anchors: legs } = services
  if (legs === undefined) return undefined
  return { kube, definitions, deps, emit: emitterWith(services, later), legs }
}

/** Looks at every declaration of a CA. Undefined where none are published. Fails as `sweepAnchors` does. */
export async function sweepAnchorsWith(
  services: AnchorParts,
  later: Later,
  options: { readonly signal?: AbortSignal },
): Promise<Result<AnchorSweepReport | undefined>> {
  const anchors = anchorServicesWith(services, later)
  if (anchors === undefined) return ok(undefined)
  // Certificates are parsed by code that a mint never needs.
  const { sweepAnchors } = await import('../trust-anchor/sweep.ts')
  return sweepAnchors(anchors, options)
}
