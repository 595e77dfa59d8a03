import type { HttpRequest } from '../core/http.ts'
import { fail, ok, type Result } from '../core/result.ts'

/** What there is to know of a body. */
type Sent = Pick<HttpRequest, 'headers' | 'readBody'>

/** Enough for preconditions, many times over. */
export const MAX_BODY_BYTES = 64 * 1024

/**
 * The bytes of a JSON body, of at most `MAX_BODY_BYTES` where nothing else is said. No Content-Type means JSON (`kubectl create --raw` sends none),
 * and no bytes are a body of any type. Fails as `readRawBody` does, and with `media_type_unsupported`.
 */
export async function readBody(
  request: Sent,
  signal: AbortSignal,
  maxBytes = MAX_BODY_BYTES,
): Promise<Result<Uint8Array>> {
  const bytes = await readRawBody(request, signal, maxBytes)
  if (!bytes.ok || bytes.value.length === 0) return bytes
  const contentType = request.headers.get('content-type')
  if (contentType !== null && mediaTypeOf(contentType) !== 'application/json') {
    return fail({ reason: 'media_type_unsupported', contentType })
  }
  return bytes
}

/**
 * The bytes of a body of any type, counted as they arrive: a declared length may lie. Fails with `body_too_large`, with
 * `media_type_unsupported` when they are encoded, with `request_malformed` when the body breaks off, and with
 * `caller_gone` when `signal` fires before its end.
 */
export async function readRawBody(
  request: Sent,
  signal: AbortSignal,
  maxBytes: number,
): Promise<Result<Uint8Array<ArrayBuffer>>> {
  const declared = request.headers.get('content-length')
  if (declared !== null && Number(declared) > maxBytes) return fail({ reason: 'body_too_large', maxBytes })
  // Framed as nothing (RFC 9112, section 6.3), unless it also comes in chunks, which workerd lets pass: then a stream would be made only
  // to say so.
  if (declared === '0' && !request.headers.has('transfer-encoding'))
    return signal.aborted ? fail({ reason: 'caller_gone' }) : ok(new Uint8Array())
  const bytes = await collect(request, signal, maxBytes)
  const encoding = request.headers.get('content-encoding')
  if (bytes.ok && bytes.value.length > 0 && encoding !== null && encoding !== 'identity') {
    return fail({ reason: 'media_type_unsupported', contentType: `encoded (${encoding})` })
  }
  return bytes
}

/** Without parameters and in lower case (RFC 9110, section 8.3.1). */
export const mediaTypeOf = (contentType: string): string =>
  contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''

async function collect(
  request: Sent,
  signal: AbortSignal,
  maxBytes: number,
): Promise<Result<Uint8Array<ArrayBuffer>>> {
  try {
    const bytes = await request.readBody(maxBytes, signal)
    return bytes === undefined ? fail({ reason: 'body_too_large', maxBytes }) : ok(bytes)
  } catch {
    if (signal.aborted) return fail({ reason: 'caller_gone' })
    return fail({ reason: 'request_malformed', message: 'the body broke off' })
  }
}
