import type { HeaderLines } from './headers.ts'
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

/** What one request brings beside itself. */
export interface RequestContext {
  /**
   * Begins `work` when the answer has gone, or the caller has, and keeps the process until it is over: `ctx.waitUntil` in a
   * worker. For work that has begun, `() => work`.
   */
  readonly afterResponse: (work: () => Promise<unknown>) => void
  /** The request target as it stood on the request line (RFC 9112, section 3.2), where the runtime shows it. */
  readonly rawTarget?: string
  /** Every header field, where the runtime shows them one by one. */
  readonly headerLines?: HeaderLines
  /** What the caller showed in the TLS handshake: verified against the request-header CA just now, or not here. */
  readonly clientCertificate?: ClientCertificate
}

export interface ClientCertificate {
  /** The subject's common name. */
  readonly commonName: string
}

/** The seam to every HTTP server that we call. */
export type Fetch = (request: Request) => Promise<Response>
