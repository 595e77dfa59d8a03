import type { KubeFailure } from './failure.ts'

/**
 * What is counted, as an argument: an entry says where it goes. Every label has few values, none of them chosen by a
 * caller, and none names a user, a namespace, a release, a credential or an account.
 */
export interface Metrics {
  /** A request was answered. */
  readonly request: (labels: RequestLabels, seconds: number) => void
  /** A call to the Kubernetes API was answered, refused, or given up. */
  readonly kubeCall: (labels: KubeCallLabels, seconds: number) => void
}

/** What a route does. Everything without a route, an unknown method too, is `other`. */
export type Verb =
  | 'get'
  | 'list'
  | 'mint'
  | 'revoke'
  | 'sync'
  | 'events'
  | 'tick'
  | 'admission'
  | 'discovery'
  | 'openapi'
  | 'other'

export interface RequestLabels {
  readonly verb: Verb
  /** The HTTP status. */
  readonly code: number
  /** The kind of application, such as `Postgres`, as the cluster has it; empty where none is known. */
  readonly kind: string
}

export interface KubeCallLabels {
  /** What it does: `get Secret`. */
  readonly call: string
  readonly outcome: 'ok' | KubeFailure['reason']
}

/** For a runtime where nobody comes to read them. */
export const noMetrics: Metrics = { request: () => undefined, kubeCall: () => undefined }

/** From the first to the second of two readings of a clock that may be set back in between. */
export const secondsBetween = (from: number, to: number): number => Math.max(0, to - from) / 1000
