import type { Result } from '../core/result.ts'
import { sweepAnchorsWith } from './anchor-services.ts'
import type { Hinted } from './hinted.ts'
import type { Exchange, Services } from './services.ts'
import { syncServicesOf } from './sync-services.ts'

/** From the end of a sweep to the next one. */
const PAUSE_MS = 10_000
/** How long a sweep may take, and how long one is believed to be alive: in workerd it dies unheard with its request. */
const SWEEP_MS = 600_000

type Swept = Result<unknown>

/**
 * Sweeps, and has every CA published that is declared: one at a time, and not again at once. A tick while one runs begins
 * no other: what it may have passed over is for the next tick. One too soon after another is answered as that one was,
 * with its failure too.
 */
export function createTick(services: Services): (exchange: Exchange) => Promise<Hinted> {
  const { now } = services.deps
  let runningSince: number | undefined
  let last: { readonly endedAt: number; readonly swept: Swept } | undefined

  /** A clock that was set back makes nothing younger. */
  const isWithin = (since: number, milliseconds: number): boolean =>
    now() >= since && now() < since + milliseconds

  return async (exchange) => {
    if (runningSince !== undefined && isWithin(runningSince, SWEEP_MS)) return { goesOn: true, failures: [] }
    if (last !== undefined && isWithin(last.endedAt, PAUSE_MS)) return hintedOf(last.swept)
    runningSince = now()
    try {
      const swept = await sweepNow(services, exchange)
      last = { endedAt: now(), swept }
      return hintedOf(swept)
    } finally {
      runningSince = undefined
    }
  }
}

async function sweepNow(services: Services, exchange: Exchange): Promise<Swept> {
  const self = await services.self()
  if (!self.ok) return self
  const signal = AbortSignal.timeout(SWEEP_MS)
  const swept = await services.sweep(syncServicesOf(services, exchange), { by: self.value, signal })
  if (!swept.ok) services.deps.log('warn', 'sweep_failed', { failure: swept.failure })
  // Neither needs the other.
  const published = await sweepAnchorsWith(services, exchange.request.afterResponse, { signal })
  if (!published.ok) services.deps.log('warn', 'anchor_sweep_failed', { failure: published.failure })
  return swept.ok ? published : swept
}

const hintedOf = (swept: Swept): Hinted => ({ goesOn: false, failures: swept.ok ? [] : [swept.failure] })
