import type { Failure } from '../core/failure.ts'
import { type Failed, fail } from '../core/result.ts'

/**
 * A 401. `why` is for the log: it may name claims and never holds a value of one. `hint` is told to the caller.
 */
export const refuse = (why: string, hint?: string): Failed<Extract<Failure, { reason: 'unauthenticated' }>> =>
  fail({ reason: 'unauthenticated', why, ...(hint === undefined ? {} : { hint }) })
