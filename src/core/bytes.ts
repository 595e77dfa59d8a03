/** Bytes as they arrive. */
export interface Collector {
  /** False when they are more than may be: these are not kept, and nothing else need come. */
  readonly take: (chunk: Uint8Array<ArrayBuffer>) => boolean
  /** All that was taken. */
  readonly bytes: () => Uint8Array<ArrayBuffer>
}

/**
 * Collects at most `maxBytes` in at most twice as much memory, however they come: a chunk of one byte is an object of four hundred.
 */
export function createCollector(maxBytes: number): Collector {
  let kept = new Uint8Array()
  let length = 0
  return {
    take(chunk) {
      const needed = length + chunk.length
      if (needed > maxBytes) return false
      if (length === 0) kept = chunk
      else {
        if (needed > kept.length)
          kept = grown(kept, length, Math.min(Math.max(needed, 2 * length, LEAST), maxBytes))
        kept.set(chunk, length)
      }
      length = needed
      return true
    },
    bytes: () => kept.subarray(0, length),
  }
}

/** So that what comes byte by byte is not copied again and again at the start. */
const LEAST = 16 * 1024

function grown(bytes: Uint8Array, length: number, capacity: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(capacity)
  larger.set(bytes.subarray(0, length))
  return larger
}

/**
 * All bytes of a body; none for no body. Undefined when there are more than `maxBytes`: the rest is not read. Rejects
 * when the body breaks off, or when `signal` fires while it waits for more.
 */
export async function readBytes(
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (body === null) return new Uint8Array()
  // By a reader: not every runtime's streams can be iterated.
  const reader = body.getReader()
  // Never waited for: it is the other side's stream, and nothing is left to learn from it.
  const cancel = () => void reader.cancel().catch(() => undefined)
  signal?.addEventListener('abort', cancel, { once: true })
  const { take, bytes } = createCollector(maxBytes)
  try {
    signal?.throwIfAborted()
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if (!take(next.value)) return undefined
    }
    // A cancelled reader ends as if the body had.
    signal?.throwIfAborted()
  } finally {
    signal?.removeEventListener('abort', cancel)
    cancel()
  }
  return bytes()
}
