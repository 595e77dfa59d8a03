import { readBytes } from '../core/bytes.ts'
import { fail, ok, type Result } from '../core/result.ts'

/** Enough for preconditions, many times over. */
export const MAX_BODY_BYTES = 64 * 1024

/**
 * The bytes of a JSON body of at most `MAX_BODY_BYTES`, counted as they arrive: a declared length may lie. No
 * Content-Type means JSON (`kubectl create --raw` sends none), and no bytes are a body of any type. Fails with
 * `body_too_large`, `media_type_unsupported`, with `request_malformed` when the body breaks off, and with `caller_gone`
 * when `signal` fires before its end.
 */
export async function readBody(request: Request, signal: AbortSignal): Promise<Result<Uint8Array>> {
  const declared = request.headers.get('content-length')
  if (declared !== null && Number(declared) > MAX_BODY_BYTES) return tooLarge
  const bytes = await collect(request, signal)
  if (!bytes.ok || bytes.value.length === 0) return bytes

  const contentType = request.headers.get('content-type')
  const encoding = request.headers.get('content-encoding')
  if (encoding !== null && encoding !== 'identity') {
    return fail({ reason: 'media_type_unsupported', contentType: `encoded (${encoding})` })
  }
  if (contentType !== null && !isJson(contentType)) {
    return fail({ reason: 'media_type_unsupported', contentType })
  }
  return bytes
}

const tooLarge = fail({ reason: 'body_too_large', maxBytes: MAX_BODY_BYTES })

const isJson = (contentType: string): boolean =>
  contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/json'

async function collect(request: Request, signal: AbortSignal): Promise<Result<Uint8Array>> {
  try {
    const bytes = await readBytes(request.body, MAX_BODY_BYTES, signal)
    return bytes === undefined ? tooLarge : ok(bytes)
  } catch {
    if (signal.aborted) return fail({ reason: 'caller_gone' })
    return fail({ reason: 'request_malformed', message: 'the body broke off' })
  }
}
