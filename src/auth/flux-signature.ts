import { utf8 } from '../core/text.ts'

/** As notification-controller writes it (`internal/notifier/forwarder.go`): the algorithm, and the hash in hex. */
const SIGNATURE = /^sha256=([0-9a-f]{64})$/

/**
 * Whether one of these keys has signed these very bytes: HMAC-SHA256 (RFC 2104) in the header `X-Signature` of a Flux
 * Provider `generic-hmac`. Compared in constant time, by WebCrypto.
 */
export async function isSignedByOneOf(
  keys: readonly string[],
  body: Uint8Array<ArrayBuffer>,
  header: string | null,
): Promise<boolean> {
  const hex = SIGNATURE.exec(header ?? '')?.[1]
  if (hex === undefined) return false
  const signature = bytesOf(hex)
  const answers = await Promise.all(keys.map((key) => isSignedBy(key, body, signature)))
  return answers.includes(true)
}

async function isSignedBy(
  key: string,
  body: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const hmac = { name: 'HMAC', hash: 'SHA-256' }
  const imported = await crypto.subtle.importKey('raw', utf8(key), hmac, false, ['verify'])
  return crypto.subtle.verify('HMAC', imported, signature, body)
}

const bytesOf = (hex: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
