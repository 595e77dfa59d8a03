import { median, percentile } from '../figures.ts'
import type { Context } from './context.ts'

/** One scenario: what is measured, beside what, and what it is to be. */
export interface Row {
  /** For `--only`. */
  readonly name: string
  readonly run: (context: Context) => Promise<readonly Finding[]>
}

/** The middle half of the samples is between `low` and `high`. */
interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

/** A line of the table. */
export interface Finding {
  readonly what: string
  readonly ours: string
  readonly floor?: string
  readonly beside?: string
  /** Of the medians, and between which values the middle half of the rounds is. */
  readonly ratio?: string
  /** Left out: it is reported only. */
  readonly goal?: string
  readonly isMet?: boolean
  /** What keeps it from its goal, when it is not met. */
  readonly stoppedBy?: string
  /** A counted fact is not as it must be: the run fails. */
  readonly wrong?: string
  readonly rounds?: number
}

type Unit = 'ms' | 'MiB' | '/s' | 'kB' | 'ms of CPU'

const spreadOf = (samples: readonly number[]): Spread => ({
  median: median(samples),
  low: percentile(samples, 0.25),
  high: percentile(samples, 0.75),
})

/** Three significant digits or so. */
export function rounded(value: number): string {
  const size = Math.abs(value)
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3)
}

export function figure(samples: readonly number[], unit: Unit): string {
  const { median: middle, low, high } = spreadOf(samples)
  const spread = samples.length > 1 ? ` (${rounded(low)}–${rounded(high)})` : ''
  return `${rounded(middle)}${spread} ${unit}`
}

interface Compared {
  readonly what: string
  readonly floor: string
  readonly ours: readonly number[]
  readonly beside: readonly number[]
  readonly unit?: Unit
  readonly atMost?: number
  readonly atLeast?: number
  /** Which of the samples are compared: the middle one, or another. */
  readonly share?: number
  readonly stoppedBy?: string
}

/** A figure beside its floor: each sample beside the one of the same round. */
export function compared({
  what,
  floor,
  ours,
  beside,
  unit = 'ms',
  atMost,
  atLeast,
  share = 0.5,
  stoppedBy,
}: Compared): Finding {
  const ratio = percentile(ours, share) / percentile(beside, share)
  const each = ours.map((sample, round) => sample / (beside[round] ?? Number.NaN))
  const { low, high } = spreadOf(each)
  const isMet = atMost !== undefined ? ratio <= atMost : atLeast !== undefined ? ratio >= atLeast : undefined
  const goal = atMost !== undefined ? `≤ ${atMost}×` : atLeast !== undefined ? `≥ ${atLeast}×` : undefined
  const isMiddle = share === 0.5
  const shown = (samples: readonly number[]) =>
    isMiddle ? figure(samples, unit) : `${rounded(percentile(samples, share))} ${unit}`
  return {
    what,
    floor,
    ours: shown(ours),
    beside: shown(beside),
    ratio:
      isMiddle && each.length > 1
        ? `${ratio.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`
        : ratio.toFixed(2),
    rounds: ours.length,
    ...(goal === undefined ? {} : { goal }),
    ...(isMet === undefined ? {} : { isMet }),
    ...(isMet === false && stoppedBy !== undefined ? { stoppedBy } : {}),
  }
}

/**
 * What is said of a goal that is not met: the least that is possible, as a ratio to the same floor. Only when that is
 * beyond the goal does `because` stop anybody; otherwise the function could do better.
 */
export function stoppedAt(
  least: number,
  goal: Pick<Compared, 'atMost' | 'atLeast'>,
  because: string,
): string {
  const { atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY } = goal
  const isBeyond = least > atMost || least < atLeast
  return isBeyond
    ? `${because}: ${least.toFixed(2)}× with nothing else`
    : `least ${least.toFixed(2)}× (${because}), the rest is the function's own`
}

interface Counted {
  readonly what: string
  readonly count: number
  readonly expected: number
  readonly unit: string
}

/** Something that is so or not, on every machine. */
export const counted = ({ what, count, expected, unit }: Counted): Finding => ({
  what,
  ours: `${count} ${unit}`,
  floor: 'counted',
  goal: `${expected} ${unit}`,
  isMet: count === expected,
  ...(count === expected ? {} : { wrong: `${what}: ${count} ${unit}, not ${expected}` }),
})
