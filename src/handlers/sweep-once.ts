import type { Later } from '../core/http.ts'
import { ok, type Result } from '../core/result.ts'
import { type SweepReport, sweep } from '../credentials/sweep.ts'
import type { AnchorSweepReport } from '../trust-anchor/sweep.ts'
import { sweepAnchorsWith } from './anchor-services.ts'
import type { Services } from './services.ts'
import { type SyncParts, syncServicesWith } from './sync-services.ts'

interface Options {
  /** Is given the work that nobody waits for: Events. */
  readonly later: Later
  readonly signal?: AbortSignal
}

export interface Swept {
  readonly sweep: SweepReport
  /** Of CAs. Undefined where none are published. */
  readonly anchors: AnchorSweepReport | undefined
}

/**
 * One sweep that nobody asked for over HTTP, under the function's own name: a CronJob's, or a cron trigger's. Of account
 * Secrets and of CAs, each whether the other fails or not. Fails as the first of them that did.
 */
export async function sweepOnce(
  services: SyncParts & Pick<Services, 'self' | 'anchors'>,
  { later, ...options }: Options,
): Promise<Result<Swept>> {
  const self = await services.self()
  if (!self.ok) return self
  const swept = await sweep(syncServicesWith(services, later), { by: self.value, ...options })
  const anchors = await sweepAnchorsWith(services, later, options)
  if (!anchors.ok) services.deps.log('warn', 'anchor_sweep_failed', { failure: anchors.failure.reason })
  if (!swept.ok) return swept
  return anchors.ok ? ok({ sweep: swept.value, anchors: anchors.value }) : anchors
}
