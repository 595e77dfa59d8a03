import type { Deps } from './deps.ts'
import { timeLimit } from './time-limit.ts'

interface ShareOptions extends Pick<Deps, 'now'> {
  /** How long one piece of work is waited for, and joined. */
  readonly timeoutMs: number
}

/**
 * Callers at the same time share one piece of work. Each waits for it by a timer of its own, and is answered undefined
 * when that or its `signal` fires first: in workerd the work dies with the request that began it, and
 * nobody would ever hear.
 */
export function createShare<T>({ now, timeoutMs }: ShareOptions) {
  let pending: { readonly work: Promise<T>; readonly since: number } | undefined

  function begin(start: () => Promise<T>): Promise<T> {
    const begun = { work: start(), since: now() }
    pending = begun
    const end = () => {
      if (pending === begun) pending = undefined
    }
    begun.work.then(end, end)
    return begun.work
  }

  /** A clock that was set back makes nothing younger. */
  const isAlive = (since: number): boolean => now() >= since && now() < since + timeoutMs

  return (start: () => Promise<T>, signal?: AbortSignal): Promise<T | undefined> => {
    const work = pending !== undefined && isAlive(pending.since) ? pending.work : begin(start)
    const limit = timeLimit(timeoutMs, signal)
    return firstOf(work, limit.signal).finally(limit.end)
  }
}

/** The answer, or undefined when the signal fires first. */
function firstOf<T>(answer: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const fired = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  return Promise.race([answer, fired])
}
