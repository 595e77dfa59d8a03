import { presentedBy } from '../auth/authenticate.ts'
import type { Caller } from '../auth/authenticator.ts'
import { fail, type Result } from '../core/result.ts'
import type { Services } from './services.ts'

/** Retries of proxies and clients send these headers, and a retry is another mint: refused before anything is read. */
const RETRY_HEADERS = ['Idempotency-Key', 'X-Idempotency-Key']

export function refuseRetryHeaders(headers: Headers): Result<undefined> {
  const sent = RETRY_HEADERS.find((name) => headers.has(name))
  if (sent === undefined) return { ok: true, value: undefined }
  return fail({
    reason: 'request_malformed',
    message: `${sent} is not supported: every mint is a new password; send resourceVersion as a precondition instead`,
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
