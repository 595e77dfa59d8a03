export interface TimeLimit {
  /** Fires when the time is over, with a `TimeoutError`, or when the other signal does, with its reason. */
  readonly signal: AbortSignal
  /** It is not needed any more, and holds nothing from now on. */
  readonly end: () => void
  /**
   * The same, and the signal fires: for one that went into a Request. Undici registers those with a FinalizationRegistry and
   * lets go when the signal fires, or else two collections later (`lib/web/fetch/request.js`): V8 takes what waits there
   * for live, and lets the heap grow with it.
   */
  readonly release: () => void
}

/**
 * A time limit for something that is mostly over long before. `AbortSignal.timeout` cannot be ended: it, whoever listens
 * to it and all that they know stay in memory until it fires, which adds up when calls are many.
 */
export function timeLimit(milliseconds: number, other?: AbortSignal): TimeLimit {
  const controller = new AbortController()
  const expire = () => controller.abort(new DOMException('The time is over', 'TimeoutError'))
  const timer = setTimeout(expire, milliseconds)
  const follow = () => controller.abort(other?.reason)
  if (other?.aborted) follow()
  else other?.addEventListener('abort', follow, { once: true })
  const end = () => {
    clearTimeout(timer)
    other?.removeEventListener('abort', follow)
  }
  const release = () => {
    end()
    controller.abort(RELEASED)
  }
  return { signal: controller.signal, end, release }
}

/** One for all: an error of its own for each, with a stack, would cost more than the time limit. */
const RELEASED = 'not needed any more'

/** Rejects with the signal's reason when it fires, and never settles before: for whoever races it with something slow. */
export const whenAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
