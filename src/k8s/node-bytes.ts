import type { IncomingMessage } from 'node:http'

/**
 * All bytes of a message's body, for whoever asks once. Undefined when there are more than `maxBytes`: it is paused then, and
 * the rest is the caller's. Rejects when the body breaks off, or when `signal` fires while it waits for more.
 */
export function bytesOf(
  message: IncomingMessage,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  return new Promise((resolve, reject) => {
    const take = (chunk: Buffer) => {
      length += chunk.length
      chunks.push(chunk)
      if (length <= maxBytes) return
      stop()
      resolve(undefined)
    }
    const abort = () => {
      stop()
      reject(signal?.reason)
    }
    const over = () => signal?.removeEventListener('abort', abort)
    const stop = () => {
      message.off('data', take).pause()
      over()
    }
    if (signal?.aborted) return abort()
    // Its events are over.
    if (message.destroyed) return reject(message.errored ?? new Error(BROKE_OFF))
    signal?.addEventListener('abort', abort, { once: true })
    message
      .on('data', take)
      .once('end', () => {
        over()
        resolve(joined(chunks, length))
      })
      .once('error', reject)
      .once('close', () => {
        over()
        if (!message.readableEnded) reject(new Error(BROKE_OFF))
      })
  })
}

const BROKE_OFF = 'the body broke off'

function joined(chunks: readonly Buffer[], length: number): Uint8Array<ArrayBuffer> {
  const [first] = chunks as readonly Buffer<ArrayBuffer>[]
  return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks, length)
}
