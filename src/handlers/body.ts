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
  if (request.body === null) return ok(new Uint8Array())
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of iterate(request.body, signal)) {
      length += chunk.length
      if (length > MAX_BODY_BYTES) return tooLarge
      chunks.push(chunk)
    }
  } catch {
    if (signal.aborted) return fail({ reason: 'caller_gone' })
    return fail({ reason: 'request_malformed', message: 'the body broke off' })
  }
  const bytes = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.length
  }
  return ok(bytes)
}

/** By a reader: not every runtime's streams can be iterated. */
async function* iterate(stream: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  // Ends a read that waits for a client that sends nothing more.
  const stop = () => void reader.cancel().catch(() => undefined)
  signal.addEventListener('abort', stop, { once: true })
  try {
    signal.throwIfAborted()
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
    signal.throwIfAborted()
  } finally {
    signal.removeEventListener('abort', stop)
    // After an early end: what is still to come is nobody's.
    reader.cancel().catch(() => undefined)
  }
}
