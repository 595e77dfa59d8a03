import { presentedBy } from '../auth/authenticate.ts'
import type { Caller } from '../auth/authenticator.ts'
import { fail, type Result } from '../core/result.ts'
import type { Services } from './services.ts'

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

export function refuseRetryHeaders(headers: Headers): Result<undefined> {
  const sent = REFUSED_HEADERS.find((name) => headers.has(name))
  if (sent === undefined) return { ok: true, value: undefined }
  return fail({
    reason: 'request_malformed',
    message: `${sent} is not supported: every mint is a new password; send spec.preconditions in the body instead`,
  })
}

/** Who sent this request. Somebody who asks to act as another must not silently act as themselves. */
export async function callerOf(
  services: Services,
  request: Request,
  signal: AbortSignal,
): Promise<Result<Caller>> {
  const presented = presentedBy(request.headers)
  if (!presented.ok) return presented
  const caller = await services.authenticate({ ...presented.value, signal })
  const impersonates = [...request.headers.keys()].some((name) => name.startsWith('impersonate-'))
  if (!caller.ok || !impersonates) return caller
  return fail({
    reason: 'request_malformed',
    message: 'impersonation headers are not supported on direct calls',
  })
}
