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

/** Each round begins with another: what has just run before it helps or hinders what is measured. */
export function rotated<T>(items: readonly T[], round: number): readonly T[] {
  const first = (round + 1) % items.length
  return [...items.slice(first), ...items.slice(0, first)]
}

interface Rounds {
  readonly rounds: number
  /** That do not count. V8 compiles what has run a hundred times or so. */
  readonly warmUp?: number
  /** After each: what goes on after an answer, an Event say, is over before anything else is measured. */
  readonly pauseMs?: number
}

/** Does each of the tasks once in each round, and answers what they answered. */
export async function interleaved<Name extends string, Sample>(
  tasks: Readonly<Record<Name, () => Promise<Sample>>>,
  { rounds, warmUp = 1, pauseMs = 0 }: Rounds,
): Promise<Readonly<Record<Name, readonly Sample[]>>> {
  const names = Object.keys(tasks) as Name[]
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Sample[]>
  for (let round = 0; round < warmUp + rounds; round += 1) {
    for (const name of rotated(names, round)) {
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
