import { codeOf, isUntrusted, wasNeverSent } from '../core/error-code.ts'
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

/** Of the Fetch standard ("bad port"), which has browsers and Node send nothing there. */
const badPort: Silence = {
  kind: 'silence',
  reason: 'NoAnswer',
  message: 'the runtime sends nothing to this port',
  code: 'BAD_PORT',
  neverSent: true,
}

/**
 * What an error of a fetch means. Words are kept of an error that says what became of a file, a connection or a certificate
 * and has itself the code of that. All others may quote what they could not take, a header for example: whoever throws can
 * make up a code, wrap an error in words of his own, or abort with a reason of his own.
 */
export function silenceOf(error: unknown): Silence {
  const silence = { kind: 'silence', reason: 'NoAnswer' } as const
  if (!(error instanceof Error)) return { ...silence, message: 'unknown' }
  if (error.cause instanceof Error && error.cause.message === 'bad port') return badPort
  const code = codeOf(error)
  const sent = wasNeverSent(error) ? ({ neverSent: true } as const) : {}
  if (code === undefined) return { ...silence, message: nameOf(error), ...sent }
  const words = hasKnownWords(code) ? coded(error, code)?.message : undefined
  return { ...silence, message: words || code, code, ...sent }
}

/** The error that has the code, in a chain of causes. */
function coded(error: unknown, code: string): Error | undefined {
  if (!(error instanceof Error)) return undefined
  return 'code' in error && error.code === code ? error : coded(error.cause, code)
}

const hasKnownWords = (code: string): boolean => KNOWN.has(code) || isUntrusted(code)

/** Of Node and its system calls; `NO_CREDENTIALS` is this project's own. */
const KNOWN = new Set([
  'ABORT_ERR',
  'EACCES',
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EPIPE',
  'EPROTO',
  'ETIMEDOUT',
  'NO_CREDENTIALS',
])

const nameOf = ({ name }: Error): string => (/^[A-Za-z]{0,60}Error$/.test(name) ? name : 'Error')
