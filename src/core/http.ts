import type { HeaderLines } from './headers.ts'

/**
 * A request to this function as plain values, whatever took it. Node's Fetch API costs a start as much as Node itself:
 * docs/adr/0005-cold-start.md.
 */
export interface HttpRequest {
  /** In capitals when it is one that HTTP knows. */
  readonly method: string
  /** The path of the request target (RFC 9112, section 3.2) as it came: nobody has decoded it. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: HeaderFields
  /** Every header field, one by one where the runtime shows them so. */
  readonly headerLines: HeaderLines
  /**
   * All bytes of the body, for whoever asks once; undefined when there are more than `maxBytes`. Rejects when it breaks off, or
   * when `signal` fires while it waits for more.
   */
  readonly readBody: (maxBytes: number, signal: AbortSignal) => Promise<Uint8Array<ArrayBuffer> | undefined>
  /** Fires when the caller has gone before the answer was sent. */
  readonly signal: AbortSignal
  /**
   * Begins `work` when the answer has gone, or the caller has, and keeps the process until it is over: `ctx.waitUntil` in a
   * worker. For work that has begun, `() => work`.
   */
  readonly afterResponse: Later
  /** What the caller showed in the TLS handshake: verified against the request-header CA just now, or not here. */
  readonly clientCertificate?: ClientCertificate
}

export type Later = (work: () => Promise<unknown>) => void

export interface ClientCertificate {
  /** The subject's common name. */
  readonly commonName: string
}

/** By a name in any case; the values of one name are joined by ", " (RFC 9110, section 5.3). `Headers` of the Fetch API are such. */
export interface HeaderFields {
  readonly get: (name: string) => string | null
  readonly has: (name: string) => boolean
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Empty when there is none. */
  readonly body: string
}

/**
 * GETs JSON at an address of another server, once. Follows no redirect: it would move the trust to an address that nobody
 * configured. Rejects when no whole answer came.
 */
export type Get = (url: string, options: GetOptions) => Promise<Got>

interface GetOptions {
  readonly signal: AbortSignal
  /** A longer body is not read to its end. */
  readonly maxBytes: number
}

interface Got {
  readonly status: number
  /** Undefined when there are more than `maxBytes`, and of any status but 200. */
  readonly bytes: Uint8Array | undefined
}
