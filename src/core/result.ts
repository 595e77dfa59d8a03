import type { Failure } from './failure.ts'

/** What every function that can fail for an expected reason returns. Bugs throw instead. */
export type Result<T, F extends Failure = Failure> = { readonly ok: true; readonly value: T } | Failed<F>
export type Failed<F extends Failure = Failure> = { readonly ok: false; readonly failure: F }

export const ok = <T>(value: T): { readonly ok: true; readonly value: T } => ({ ok: true, value })
export const fail = <const F extends Failure>(failure: F): Failed<F> => ({ ok: false, failure })
