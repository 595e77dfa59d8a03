/**
 * What to do after a failure. Nothing here is done by the client: it sends each call once.
 *
 * - `never`: nothing was changed, and the same call would fail again. The message says what to correct.
 * - `after`: nothing was changed. The same call may work in so many seconds.
 * - `read-again`: nothing was changed, because somebody was faster, something is in the way, or what was read is too old.
 *   Read, then decide.
 * - `mint-again`: the password may have been replaced, and nobody has the new one. Mint again, once you can keep the answer:
 *   the newest password is the one that counts.
 * - `revoke-again`: the password may have been revoked. Revoking again does no harm.
 */
export type Retry =
  | { readonly advice: 'never' | 'read-again' | 'mint-again' | 'revoke-again' }
  | { readonly advice: 'after'; readonly seconds: number }

export interface Outcome {
  /** `unknown`: it may have been stored all the same. */
  readonly outcome: 'unchanged' | 'unknown'
  readonly retry: Retry
}

/** The function refused: a `metav1.Status`. */
export interface Refusal {
  readonly kind: 'status'
  /** The HTTP status. */
  readonly code: number
  /** `Conflict`, `Forbidden`, `NotFound`, … as in `k8s.io/apimachinery/pkg/apis/meta/v1`. */
  readonly reason: string
  /** Says what to do. Never holds a password. */
  readonly message: string
}

/** Somebody between here and the function answered, or what came is no answer of it. What it said is not kept. */
export interface ForeignAnswer {
  readonly kind: 'foreign'
  /** The HTTP status; 0 for a redirect that a browser keeps to itself. */
  readonly code: number
  readonly reason: 'NotReached' | 'NotUnderstood'
  readonly message: string
  /** kube-apiserver's aggregation layer says that it never reached the function. */
  readonly undelivered?: true
}

/** No answer. A mint or a revoke may have been stored all the same, unless it was certainly never sent. */
export interface Silence {
  readonly kind: 'silence'
  readonly reason: 'NoAnswer'
  readonly message: string
  /** Of the error, `ECONNREFUSED` and the like; `NO_CREDENTIALS`: no token; `BAD_PORT`: none that may be called. */
  readonly code?: string
  readonly neverSent?: true
}

export type ClientFailure = Refusal | ForeignAnswer | Silence
