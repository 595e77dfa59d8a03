import type { Failure } from '../core/failure.ts'
import { inTurns } from '../core/in-turns.ts'
import { createOnceAtATime } from '../core/once-at-a-time.ts'
import { ok, type Result } from '../core/result.ts'
import { type SyncOutcome, type SyncTarget, sync } from '../credentials/sync.ts'
import { createReconcileHinted } from './anchor-hinted.ts'
import type { Hint } from './hint.ts'
import type { Hinted } from './hinted.ts'
import type { Exchange, Services } from './services.ts'
import { syncServicesOf } from './sync-services.ts'

export type SyncHinted = (exchange: Exchange, hints: readonly Hint[]) => Promise<Hinted>
type Tick = (exchange: Exchange) => Promise<Hinted>

/** How many releases at a time. */
const CONCURRENCY = 4
/** How long the syncs of one release may go on for one request. */
const ALIVE_MS = 60_000

/**
 * Syncs the releases that are hinted at, each once, ticks if one of the hints is a tick, and has CAs published that others
 * are about. A burst of hints at one release, replayed ones too, costs two syncs: the one that runs, and one after it.
 */
export function createSyncHinted(services: Services, tick: Tick): SyncHinted {
  const once = createOnceAtATime<Result<SyncOutcome>>({ now: services.deps.now, aliveMs: ALIVE_MS })
  const reconcileHinted = createReconcileHinted(services)

  return async (exchange, hints) => {
    const targets = targetsOf(hints)
    const ticked = hints.some(({ is }) => is === 'tick') ? await tick(exchange) : NOTHING
    const self = targets.length === 0 ? ok('') : await services.self()
    if (!self.ok) return { goesOn: false, failures: [self.failure] }

    const reconciled = await reconcileHinted(exchange, hints)
    const failures: Failure[] = [...ticked.failures, ...reconciled.failures]
    let goesOn = ticked.goesOn || reconciled.goesOn
    await inTurns(targets, CONCURRENCY, async (target) => {
      const syncing = () => syncOne(services, exchange, target, self.value)
      const done = await once(`${target.namespace}/${target.release}`, syncing)
      if (done === undefined) goesOn = true
      else if (!done.ok) failures.push(done.failure)
    })
    return { goesOn, failures }
  }
}

const NOTHING: Hinted = { goesOn: false, failures: [] }

function targetsOf(hints: readonly Hint[]): readonly SyncTarget[] {
  const byName = new Map<string, SyncTarget>()
  for (const hint of hints) {
    if (hint.is === 'release') byName.set(`${hint.target.namespace}/${hint.target.release}`, hint.target)
  }
  return [...byName.values()]
}

async function syncOne(
  services: Services,
  exchange: Exchange,
  target: SyncTarget,
  by: string,
): Promise<Result<SyncOutcome>> {
  const signal = AbortSignal.timeout(services.deadlineMs)
  const done = await sync(syncServicesOf(services, exchange), target, { by, signal })
  if (!done.ok) services.deps.log('warn', 'sync_failed', { ...target, failure: done.failure })
  return done
}
