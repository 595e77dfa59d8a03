import { setTimeout as sleep } from 'node:timers/promises'

/** The middle of the sorted samples. */
export const median = (samples: readonly number[]): number => percentile(samples, 0.5)

export const percentile = (samples: readonly number[], share: number): number =>
  [...samples].sort((a, b) => a - b)[Math.min(samples.length - 1, Math.floor(samples.length * share))] ??
  Number.NaN

/** Milliseconds that `work` takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** Between 0 and 1, the same in each run: mulberry32, by Tommy Ettinger, in the public domain. */
export function seeded(seed = 1): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** In any order: each item is put at any place among those before it. What has just run before it helps or hinders what is measured. */
export function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  return items.reduce<T[]>((order, item, index) => {
    const place = Math.floor(random() * (index + 1))
    return [...order.slice(0, place), item, ...order.slice(place)]
  }, [])
}

interface Rounds {
  readonly rounds: number
  /** That do not count. V8 compiles what has run a hundred times or so. */
  readonly warmUp?: number
  /** After each: what goes on after an answer, an Event say, is over before anything else is measured. */
  readonly pauseMs?: number
}

/** Does each of the tasks once in each round, in an order that changes, and answers what they answered. */
export async function interleaved<Name extends string, Sample>(
  tasks: Readonly<Record<Name, () => Promise<Sample>>>,
  { rounds, warmUp = 1, pauseMs = 0 }: Rounds,
): Promise<Readonly<Record<Name, readonly Sample[]>>> {
  const names = Object.keys(tasks) as Name[]
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Sample[]>
  const random = seeded()
  for (let round = 0; round < warmUp + rounds; round += 1) {
    for (const name of shuffled(names, random)) {
      const sample = await tasks[name]()
      if (round >= warmUp) samples[name].push(sample)
      if (pauseMs > 0) await sleep(pauseMs)
    }
  }
  return samples
}

/** One line: the figure, and what it is beside its reference of the same run. */
export function show(name: string, samples: readonly number[], reference?: readonly number[]): void {
  const ratio = reference === undefined ? '' : `   × ${(median(samples) / median(reference)).toFixed(2)}`
  const figures = `p50 ${median(samples).toFixed(2)} ms   p95 ${percentile(samples, 0.95).toFixed(2)} ms`
  console.log(`${name.padEnd(44)} ${figures}${ratio}`)
}
