import { hmac } from '@noble/hashes/hmac.js'
import * as legacy from '@noble/hashes/legacy.js'
import * as sha2 from '@noble/hashes/sha2.js'

/** From all bytes to their digest. */
export type Digest = (data: Uint8Array) => Uint8Array

/*
 * What formats are made of, imported as `#digests`: here for any runtime, and in `node-digests.ts` for Node (`imports` in
 * package.json). In JavaScript: WebCrypto takes each to another thread and back, which is longer than they take themselves.
 */
export const md5: Digest = legacy.md5
export const sha1: Digest = legacy.sha1
export const sha256: Digest = sha2.sha256
export const sha512: Digest = sha2.sha512

/** HMAC (RFC 2104). */
export const hmacSha256 = (key: Uint8Array, data: Uint8Array): Uint8Array => hmac(sha2.sha256, key, data)

/**
 * PBKDF2 with HMAC-SHA-256 (RFC 8018, section 5.2): 32 bytes. By WebCrypto: of thousands of rounds JavaScript makes ten times as much
 * work.
 */
export async function pbkdf2Sha256(
  password: Uint8Array<ArrayBuffer>,
  salt: Uint8Array<ArrayBuffer>,
  iterations: number,
): Promise<Uint8Array> {
  const key = await crypto.subtle.importKey('raw', password, 'PBKDF2', false, ['deriveBits'])
  const how = { name: 'PBKDF2', hash: 'SHA-256', salt, iterations }
  return new Uint8Array(await crypto.subtle.deriveBits(how, key, 256))
}
