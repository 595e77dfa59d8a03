import { isUntrusted } from '../core/error-code.ts'
import type { ClientFailure, Outcome, Refusal, Retry, Silence } from './failure.ts'

/** What was asked for: `read` stands for whatever may be repeated at will. */
export type Verb = 'mint' | 'revoke' | 'read'

/**
 * What a failed call means for who made it. Whatever is not certain to have changed nothing is unknown.
 * `retryAfter`: what the answer's header of that name says (RFC 9110, section 10.2.3).
 */
export function outcomeOf(
  failure: ClientFailure,
  { verb, retryAfter }: { readonly verb: Verb; readonly retryAfter?: string | null | undefined },
): Outcome {
  if (verb !== 'read' && mayBeStored(failure)) {
    return { outcome: 'unknown', retry: { advice: `${verb}-again` } }
  }
  return { outcome: 'unchanged', retry: retryOf(failure, retryAfter ?? '') }
}

/** Whether a mint or a revoke that failed so may have been stored all the same. */
export function mayBeStored(failure: ClientFailure): boolean {
  if (failure.kind === 'silence') return failure.neverSent !== true
  const { code } = failure
  if (REFUSED.has(code)) return false
  if (failure.kind === 'foreign') {
    // An answer of somebody in between, or half of the function's own.
    return failure.undelivered !== true && code !== 0 && !(code >= 300 && code < 500)
  }
  return isUncertain(failure)
}

/** Whoever answers so has stored nothing. */
const REFUSED = new Set([401, 403, 404, 408, 409, 429])

function isUncertain({ code, message }: Refusal): boolean {
  if (code === 503) return false
  if (code === 504) return !isOfFunction(message)
  return UNCERTAIN.test(message) && !message.includes('the stored password is as it was')
}

/** The function says so itself, or nobody foresaw what happened: in the function, or in kube-apiserver. */
const UNCERTAIN = /may have been replaced|nobody has the password|^internal error/i

/**
 * kube-apiserver ends a call that takes too long with a 504 of its own, while the function goes on
 * (k8s.io/apiserver/pkg/server/filters/timeout.go). The function's own say that nothing was written.
 */
const isOfFunction = (message: string): boolean =>
  message.includes('nothing was written') || message.startsWith('the Kubernetes API did not answer in time: ')

const DEFAULT_SECONDS = 5
const MAX_SECONDS = 300

/** Of a failure that has changed nothing. */
function retryOf(failure: ClientFailure, retryAfter: string): Retry {
  if (failure.kind === 'silence' ? !isMistake(failure) : isLater(failure))
    return { advice: 'after', seconds: secondsOf(retryAfter) }
  return { advice: failure.code === 409 || failure.code === 410 ? 'read-again' : 'never' }
}

/** No credentials, a request that cannot be, a server that is not trusted. */
const isMistake = ({ code = '' }: Silence): boolean =>
  code === 'NO_CREDENTIALS' || code.startsWith('ERR_INVALID_') || isUntrusted(code)

/** Overloaded, not reached, out of time, or broken on the way. */
const isLater = ({ kind, code }: Exclude<ClientFailure, Silence>): boolean =>
  [408, 429, 503, 504].includes(code) || (kind === 'foreign' && code >= 500)

/** A date is not read: that would take a clock. */
const secondsOf = (retryAfter: string): number =>
  /^\d{1,6}$/.test(retryAfter) ? Math.min(Number(retryAfter), MAX_SECONDS) : DEFAULT_SECONDS
