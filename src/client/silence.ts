import { codeOf, wasNeverSent } from '../core/error-code.ts'

/** No answer. A mint or a revoke may have been stored all the same, unless it was certainly never sent. */
export interface Silence {
  readonly kind: 'silence'
  readonly why: string
  readonly code?: string
  readonly neverSent?: true
}

/** In place of the error of `Headers`, which would quote the token. */
export const noToken: Silence = {
  kind: 'silence',
  why: 'the token is none that a header can hold',
  code: 'NO_CREDENTIALS',
  neverSent: true,
}

/**
 * What an error of a fetch means. Words of errors that have a code are about files, connections and certificates. Others
 * may quote what they could not take, a header for example, and so do some of Node's own (`ERR_INVALID_…`).
 */
export function silenceOf(error: unknown): Silence {
  const code = codeOf(error)
  const sent = wasNeverSent(error) ? ({ neverSent: true } as const) : {}
  if (!(error instanceof Error)) return { kind: 'silence', why: 'unknown', ...sent }
  if (code === undefined) return { kind: 'silence', why: error.name, ...sent }
  return { kind: 'silence', why: code.startsWith('ERR_INVALID_') ? code : error.message, code, ...sent }
}
