import type { IncomingMessage } from 'node:http'
import { createCollector } from '../core/bytes.ts'

/**
 * All bytes of a message's body, for whoever asks once. Undefined when there are more than `maxBytes`: it is paused then, and
 * the rest is the caller's. Rejects when the body breaks off, or when `signal` fires while it waits for more.
 */
export function bytesOf(
  message: IncomingMessage,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const { take, bytes } = createCollector(maxBytes)
  return new Promise((resolve, reject) => {
    const look = (chunk: Buffer<ArrayBuffer>) => {
      if (take(chunk)) return
      stop()
      resolve(undefined)
    }
    const abort = () => {
      stop()
      reject(signal?.reason)
    }
    const over = () => signal?.removeEventListener('abort', abort)
    const stop = () => {
      message.off('data', look).pause()
      over()
    }
    if (signal?.aborted) return abort()
    // Its events are over.
    if (message.destroyed) return reject(message.errored ?? new Error(BROKE_OFF))
    signal?.addEventListener('abort', abort, { once: true })
    message
      .on('data', look)
      .once('end', () => {
        over()
        resolve(bytes())
      })
      .once('error', reject)
      .once('close', () => {
        over()
        if (!message.readableEnded) reject(new Error(BROKE_OFF))
      })
  })
}

const BROKE_OFF = 'the body broke off'
