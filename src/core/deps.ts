import type { Metrics } from './metrics.ts'

/** Everything impure below an entry, as arguments. An entry builds one, a test builds another. */
export interface Deps {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** From a cryptographic generator. */
  readonly randomBytes: (length: number) => Uint8Array<ArrayBuffer>
  readonly log: Log
  readonly metrics: Metrics
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** One structured line. Never a token, a body, a password, a verifier, nor another server's free text. */
export type Log = (level: LogLevel, event: string, fields: Readonly<Record<string, unknown>>) => void

/** The seam to every HTTP server that we call. */
export type Fetch = (request: Request) => Promise<Response>
