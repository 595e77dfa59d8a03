import type { HeaderLines } from '../core/headers.ts'
import type { ClientCertificate } from '../core/http.ts'
import type { Failed, Result } from '../core/result.ts'
import type { Subject } from '../k8s/kube.ts'

/** Who is calling, as an access review wants it. `username` is never empty. */
export interface Caller extends Subject {
  /** Who it really was, when the caller acts as another (Kubernetes impersonation). */
  readonly impersonator?: string
  /** kube-apiserver has authenticated the caller, and told so through its front proxy. */
  readonly vouchedBy?: 'front-proxy'
}

/** What a request brought that may say who is calling. */
export interface Presented {
  /** The bearer token (RFC 6750), if there is one. */
  readonly token: string | undefined
  /** Why the Authorization header says nobody's name, if it does not. */
  readonly refused?: Failed
  readonly headers?: HeaderLines
  readonly clientCertificate?: ClientCertificate
  readonly signal?: AbortSignal
}

/**
 * One way to know a caller. A failure is final: no later authenticator is asked. Undefined means "not mine": the
 * next one is asked.
 */
export interface Authenticator {
  readonly name: string
  readonly authenticate: (presented: Presented) => Promise<Result<Caller | undefined>>
}
