export interface TimeLimit {
  /** Fires when the time is over, with a `TimeoutError`, or when the other signal does, with its reason. */
  readonly signal: AbortSignal
  /** It is not needed any more, and holds nothing from now on. */
  readonly end: () => void
  /** The same, and the signal fires, as `Releasable` says. */
  readonly release: () => void
}

/**
 * A signal that goes into a Request, and fires when that is over at the latest. Undici registers those with a FinalizationRegistry
 * and lets go when the signal fires, or else two collections later (`lib/web/fetch/request.js`): V8 takes what waits there
 * for live, and lets the heap grow with it.
 */
type Releasable = Pick<TimeLimit, 'signal' | 'release'>

/**
 * A time limit for something that is mostly over long before. `AbortSignal.timeout` cannot be ended: it, whoever listens
 * to it and all that they know stay in memory until it fires, which adds up when calls are many.
 */
export function timeLimit(milliseconds: number, other?: AbortSignal): TimeLimit {
  const { controller, leave } = following(other)
  const expire = () => controller.abort(new DOMException('The time is over', 'TimeoutError'))
  const timer = setTimeout(expire, milliseconds)
  const end = () => {
    clearTimeout(timer)
    leave()
  }
  const release = () => {
    end()
    controller.abort(RELEASED)
  }
  return { signal: controller.signal, end, release }
}

/** Fires when the other signal does, with its reason. */
export function releasable(other: AbortSignal): Releasable {
  const { controller, leave } = following(other)
  const release = () => {
    leave()
    controller.abort(RELEASED)
  }
  return { signal: controller.signal, release }
}

function following(other: AbortSignal | undefined) {
  const controller = new AbortController()
  const follow = () => controller.abort(other?.reason)
  if (other?.aborted) follow()
  else other?.addEventListener('abort', follow, { once: true })
  return { controller, leave: () => other?.removeEventListener('abort', follow) }
}

/** One for all: an error of its own for each, with a stack, would cost more than the time limit. */
const RELEASED = 'not needed any more'

/** Rejects with the signal's reason when it fires, and never settles before: for whoever races it with something slow. */
export const whenAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
