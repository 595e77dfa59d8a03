import { createHmac, hash, pbkdf2Sync } from 'node:crypto'
import type * as Digests from './digests.ts'

/*
 * What `digests.ts` exports, by OpenSSL: a start has less to load and to run, and of crypt(3) it saves a fifth to a half
 * (docs/adr/0003-password-hashing.md).
 */
const digestBy =
  (algorithm: string): Digests.Digest =>
  (data) =>
    hash(algorithm, data, 'buffer')

export const md5 = digestBy('md5')
export const sha1 = digestBy('sha1')
export const sha256 = digestBy('sha256')
export const sha512 = digestBy('sha512')

export const hmacSha256: typeof Digests.hmacSha256 = (key, data) =>
  createHmac('sha256', key).update(data).digest()

/** At once: 4,096 rounds take half a millisecond, and to another thread and back takes half as long again (docs/performance.md). */
export const pbkdf2Sha256: typeof Digests.pbkdf2Sha256 = async (password, salt, iterations) =>
  pbkdf2Sync(password, salt, iterations, 32, 'sha256')
