import { codeOf, wasNeverSent } from '../core/error-code.ts'
import type { Silence } from './failure.ts'

/** In place of the error of `Headers`, which would quote the token. */
export const noToken: Silence = {
  kind: 'silence',
  reason: 'NoAnswer',
  message: 'the token is none that a header can hold',
  code: 'NO_CREDENTIALS',
  neverSent: true,
}

/** What the source of the token threw may quote one, and is not repeated. */
export const noTokenSource: Silence = { ...noToken, message: 'there is no token: its source has failed' }

/** Somebody had given up before anything was sent. */
export const aborted: Silence = {
  kind: 'silence',
  reason: 'NoAnswer',
  message: 'AbortError',
  neverSent: true,
}

/**
 * What an error of a fetch means. Words of errors that have a code are about files, connections and certificates. Others
 * may quote what they could not take, a header for example, and so do some of Node's own (`ERR_INVALID_…`).
 */
export function silenceOf(error: unknown): Silence {
  const code = codeOf(error)
  const sent = wasNeverSent(error) ? ({ neverSent: true } as const) : {}
  const silence = { kind: 'silence', reason: 'NoAnswer' } as const
  if (!(error instanceof Error)) return { ...silence, message: 'unknown', ...sent }
  if (code === undefined) return { ...silence, message: error.name, ...sent }
  return { ...silence, message: code.startsWith('ERR_INVALID_') ? code : error.message, code, ...sent }
}
