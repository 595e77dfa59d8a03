import type { Result } from '../core/result.ts'
import type { Subject } from '../k8s/kube.ts'

/** Who is calling, as an access review wants it. `username` is never empty. */
export type Caller = Subject

/** What a request brought that may say who is calling. */
export interface Presented {
  /** The bearer token (RFC 6750), if there is one. */
  readonly token: string | undefined
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
