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
  // A redirect is not followed, and a refusal is one whoever answers it. 0: a redirect that a browser keeps to itself.
  if (code === 0 || (code >= 300 && code < 500)) return false
  if (failure.kind === 'foreign') {
    // An answer of somebody in between, or half of the function's own.
    return failure.undelivered !== true
  }
  return code !== 503 && !isKnown(failure)
}

/**
 * The function's own words when nothing was stored (src/handlers/status.ts, status-kube.ts). Nobody knows of any others: the
 * answer to the write was lost, there is a bug, or kube-apiserver ended a call that takes too long with a 504 of its own,
 * while the function goes on (k8s.io/apiserver/pkg/server/filters/timeout.go).
 */
const isKnown = ({ message }: Refusal): boolean => BEFORE_THE_WRITE.test(message) || NOT_WRITTEN.test(message)

const BEFORE_THE_WRITE =
  /^(the Kubernetes API |resource quota |namespace |the object is immutable|ApplicationDefinition "|several ApplicationDefinitions )/
const NOT_WRITTEN = /nothing was (written|stored)|the stored password is as it was/

const DEFAULT_SECONDS = 5
const MAX_SECONDS = 300

/** Of a failure that has changed nothing. */
function retryOf(failure: ClientFailure, retryAfter: string): Retry {
  if (failure.kind === 'silence' ? !isMistake(failure) : isLater(failure))
    return { advice: 'after', seconds: secondsOf(retryAfter) }
  return { advice: failure.code === 409 || failure.code === 410 ? 'read-again' : 'never' }
}

/** No credentials, a request or a port that cannot be, a server that is not trusted. */
const isMistake = ({ code = '' }: Silence): boolean =>
  code === 'NO_CREDENTIALS' || code === 'BAD_PORT' || code.startsWith('ERR_INVALID_') || isUntrusted(code)

/** Overloaded, not reached, out of time, or broken on the way. */
const isLater = ({ kind, code }: Exclude<ClientFailure, Silence>): boolean =>
  [408, 429, 503, 504].includes(code) || (kind === 'foreign' && code >= 500)

/** A date is not read: that would take a clock. */
const secondsOf = (retryAfter: string): number =>
  /^\d{1,6}$/.test(retryAfter) ? Math.min(Number(retryAfter), MAX_SECONDS) : DEFAULT_SECONDS
