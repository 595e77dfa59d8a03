import type { Fetch } from '../../src/core/deps.ts'

/** Does something with this way to the API, one call after another. */
export type Actor = (fetch: Fetch) => Promise<unknown>

/** What one of them is about to do: a call, or nothing any more. */
interface Turn {
  readonly state: 'waiting' | 'done'
  readonly go: () => void
}

/**
 * Lets actors act at once, and says whose call is next: `order` has an actor's place for each call, and goes on with the first
 * that has something to do. A call goes out only when every actor waits for its turn or has ended, so that each order is
 * the same each time. Answers who has called, in order. Throws what an actor throws.
 */
export async function interleave(
  fetch: Fetch,
  actors: readonly Actor[],
  order: readonly number[],
): Promise<readonly number[]> {
  const lanes = actors.map((actor) => startLane(fetch, actor))
  const called: number[] = []
  for (;;) {
    const turns: readonly Turn[] = await Promise.all(lanes.map(({ turn }) => turn()))
    const wanted = order[called.length]
    const isWaiting = (place: number) => turns[place]?.state === 'waiting'
    const next =
      wanted !== undefined && isWaiting(wanted) ? wanted : turns.findIndex((_, at) => isWaiting(at))
    if (next === -1) break
    called.push(next)
    turns[next]?.go()
  }
  await Promise.all(lanes.map(({ ended }) => ended))
  return called
}

function startLane(fetch: Fetch, actor: Actor) {
  let announced = Promise.withResolvers<Turn>()
  const ended = actor(async (request) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    announced.resolve({
      state: 'waiting',
      go: () => {
        announced = Promise.withResolvers()
        resolve()
      },
    })
    await promise
    return fetch(request)
  })
  const end = () => announced.resolve({ state: 'done', go: () => {} })
  void ended.then(end, end)
  return { turn: () => announced.promise, ended }
}

/**
 * Every order of two actors in which each is stopped at most once and goes on to its end when the other has: calls of
 * the first, then calls of the second, then the rest of both. `calls`: how many of each, at most, before it is stopped.
 */
export function ordersOfTwo(calls: number): readonly (readonly number[])[] {
  const counts = Array.from({ length: calls + 1 }, (_, count) => count)
  const times = (count: number, actor: number) => Array<number>(count).fill(actor)
  return [0, 1].flatMap((first) =>
    counts
      .slice(1)
      .flatMap((before) =>
        counts
          .slice(1)
          .map((between) => [...times(before, first), ...times(between, 1 - first), ...times(30, first)]),
      ),
  )
}
