import type { Deps } from './deps.ts'

interface Options extends Pick<Deps, 'now'> {
  /** How long a piece of work is believed to be alive: in workerd it dies unheard with the request that began it. */
  readonly aliveMs: number
}

/**
 * Runs the work of one key once at a time. Asked for while it runs, it runs once more when it ends, however often that
 * was: whoever began it does that, and the others get undefined at once. So nobody waits for somebody else's request.
 */
export function createOnceAtATime<T>({ now, aliveMs }: Options) {
  const running = new Map<string, { readonly since: number; isAskedAgain: boolean }>()

  /** A clock that was set back makes nothing younger. */
  const isAlive = (since: number): boolean => now() >= since && now() < since + aliveMs

  return async (key: string, work: () => Promise<T>): Promise<T | undefined> => {
    const other = running.get(key)
    if (other !== undefined && isAlive(other.since)) {
      other.isAskedAgain = true
      return undefined
    }
    const mine = { since: now(), isAskedAgain: false }
    running.set(key, mine)
    try {
      return await untilNobodyAsks(work, mine)
    } finally {
      if (running.get(key) === mine) running.delete(key)
    }
  }
}

async function untilNobodyAsks<T>(work: () => Promise<T>, mine: { isAskedAgain: boolean }): Promise<T> {
  mine.isAskedAgain = false
  const done = await work()
  return mine.isAskedAgain ? untilNobodyAsks(work, mine) : done
}
