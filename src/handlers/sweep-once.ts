import type { RequestContext } from '../core/deps.ts'
import type { Result } from '../core/result.ts'
import { type SweepReport, sweep } from '../credentials/sweep.ts'
import type { Services } from './services.ts'
import { type SyncParts, syncServicesWith } from './sync-services.ts'

interface Options {
  /** Is given the work that nobody waits for: Events. */
  readonly later: RequestContext['afterResponse']
  readonly signal?: AbortSignal
}

/** One sweep that nobody asked for over HTTP, under the function's own name: a CronJob's, or a cron trigger's. */
export async function sweepOnce(
  services: SyncParts & Pick<Services, 'self'>,
  { later, ...options }: Options,
): Promise<Result<SweepReport>> {
  const self = await services.self()
  if (!self.ok) return self
  return sweep(syncServicesWith(services, later), { by: self.value, ...options })
}
