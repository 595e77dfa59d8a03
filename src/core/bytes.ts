/**
 * All bytes of a body; none for no body. Undefined when there are more than `maxBytes`: the rest is not read. Rejects
 * when the body breaks off, or when `signal` fires while it waits for more.
 */
export async function readBytes(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (body === null) return new Uint8Array()
  // By a reader: not every runtime's streams can be iterated.
  const reader = body.getReader()
  // Never waited for: it is the other side's stream, and nothing is left to learn from it.
  const cancel = () => void reader.cancel().catch(() => undefined)
  signal?.addEventListener('abort', cancel, { once: true })
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    signal?.throwIfAborted()
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      length += next.value.length
      if (length > maxBytes) return undefined
      chunks.push(next.value)
    }
    // A cancelled reader ends as if the body had.
    signal?.throwIfAborted()
  } finally {
    signal?.removeEventListener('abort', cancel)
    cancel()
  }
  return join(chunks, length)
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.length
  }
  return bytes
}
