/** What one evaluation may cost, in turns of a short loop. Counted, not timed: an expression fails everywhere or nowhere. */
const MAX_STEPS = 10_000

/** What an evaluation has used up. It never waits, so one meter serves one at a time. */
export interface Meter {
  readonly reset: () => void
  /** What is wrong once the limit is passed, from then on; undefined before. */
  readonly spend: (steps: number) => string | undefined
  /** For what is too large to be made at all. */
  readonly refuse: (problem: string) => string
  /** The first problem, whatever became of the error that was made of it. */
  readonly problem: () => string | undefined
}

export function createMeter(): Meter {
  let left = MAX_STEPS
  let problem: string | undefined
  const refuse = (why: string): string => {
    problem ??= why
    return problem
  }
  return {
    reset() {
      left = MAX_STEPS
      problem = undefined
    },
    spend(steps) {
      left -= steps
      return left < 0 ? refuse(`takes more than ${MAX_STEPS} steps`) : problem
    },
    refuse,
    problem: () => problem,
  }
}
