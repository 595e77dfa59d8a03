import { presentedBy } from '../auth/authenticate.ts'
import type { Caller } from '../auth/authenticator.ts'
import { impersonated } from '../auth/impersonation.ts'
import type { LogLevel } from '../core/deps.ts'
import type { Failure } from '../core/failure.ts'
import type { HeaderFields, HttpRequest } from '../core/http.ts'
import { type Failed, fail, type Result } from '../core/result.ts'
import type { Exchange, Services } from './services.ts'

/**
 * With these a proxy or client may send a request again, which is another mint; or it asks for a condition that would
 * silently not hold. Refused before anything is read.
 */
const REFUSED_HEADERS = [
  'Idempotency-Key',
  'X-Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'If-Modified-Since',
  'If-Unmodified-Since',
]

export function refuseRetryHeaders(headers: HeaderFields): Result<undefined> {
  const sent = REFUSED_HEADERS.find((name) => headers.has(name))
  if (sent === undefined) return { ok: true, value: undefined }
  return fail({
    reason: 'request_malformed',
    message: `${sent} is not supported: every mint is a new password; send spec.preconditions in the body instead`,
  })
}

/**
 * Who sent this request, or whom they act as. Fails as the authenticators do, and with `forbidden` or
 * `request_malformed` when somebody asks to act as another and may not.
 */
export async function callerOf(
  services: Services,
  { request }: Exchange,
  signal: AbortSignal,
): Promise<Result<Caller>> {
  const { headers, headerLines, clientCertificate } = request
  const caller = await services.authenticate({
    ...presentedBy(headers),
    headers: headerLines,
    ...(clientCertificate === undefined ? {} : { clientCertificate }),
    signal,
  })
  if (!caller.ok) return unlessGone(request, caller)
  if (caller.value.vouchedBy === 'front-proxy') {
    // The proxy would wait for another protocol, and take any answer for none: a password would be lost.
    if (headers.has('Upgrade')) {
      return fail({ reason: 'request_malformed', message: 'Upgrade is not supported: leave the header out' })
    }
    // kube-apiserver has dealt with impersonation: the headers that are still there mean nothing.
    return caller
  }
  const acting = await impersonated(caller.value, headerLines, services.authorize, { signal })
  return acting.ok ? acting : unlessGone(request, acting)
}

/** A failure of what was asked for a caller; when they have gone meanwhile it is theirs: whoever was asked would seem to be at fault. */
export const unlessGone = ({ signal }: Pick<HttpRequest, 'signal'>, failed: Failed): Failed =>
  signal.aborted ? fail({ reason: 'caller_gone' }) : failed

/** For the log: a caller who hangs up is no fault of ours. */
export const levelOf = (code: number, failure: Failure | undefined): LogLevel =>
  code < 500 || failure?.reason === 'caller_gone' ? 'info' : 'error'

/** For the log. */
export const callerFields = (caller: Caller | undefined) =>
  caller === undefined ? {} : { user: caller.username, uid: caller.uid, impersonator: caller.impersonator }

/** As kube-apiserver sends it through the aggregation layer: a correlation, no evidence. */
export function auditIdOf(headers: HeaderFields): string | undefined {
  const id = headers.get('Audit-ID')
  return id !== null && /^[A-Za-z0-9-]{1,64}$/.test(id) ? id : undefined
}
