/** The middle of the sorted samples. */
export const median = (samples: readonly number[]): number =>
  [...samples].sort((a, b) => a - b)[Math.floor(samples.length / 2)] ?? Number.NaN

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

/** One line: the figure, and what it is beside its reference of the same run. */
export function show(name: string, samples: readonly number[], reference?: readonly number[]): void {
  const ratio = reference === undefined ? '' : `   × ${(median(samples) / median(reference)).toFixed(2)}`
  const figures = `p50 ${median(samples).toFixed(2)} ms   p95 ${percentile(samples, 0.95).toFixed(2)} ms`
  console.log(`${name.padEnd(44)} ${figures}${ratio}`)
}
