import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'

/** Verifiers by OpenSSL through `node:crypto`. They share nothing with `src/formats`, so as to check it. */

/** RFC 5802, section 3, as PostgreSQL stores it. */
export function scramSha256(password: string, salt: Uint8Array = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, 4096, 32, 'sha256')
  const storedKey = createHash('sha256').update(hmac(salted, 'Client Key')).digest('base64')
  const serverKey = hmac(salted, 'Server Key').toString('base64')
  return `SCRAM-SHA-256$4096:${Buffer.from(salt).toString('base64')}$${storedKey}:${serverKey}`
}

const hmac = (key: Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** What MariaDB's `PASSWORD()` answers. */
export function mysqlNative(password: string): string {
  const once = createHash('sha1').update(password).digest()
  return `*${createHash('sha1').update(once).digest('hex').toUpperCase()}`
}

/** What ClickHouse takes as `password_sha256_hex`. */
export const sha256 = (password: string): string => createHash('sha256').update(password).digest('hex')
