import { toBase64, utf8 } from '../core/text.ts'
import type { Format } from './format.ts'

const ITERATIONS = 4096
const SALT_BYTES = 16
const KEY_BITS = 256

/**
 * PostgreSQL's SCRAM verifier (RFC 5802, RFC 7677; `src/common/scram-common.c`):
 * `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`, everything in padded standard base64. CloudNativePG and
 * PostgreSQL take a near-miss for a plaintext password, and the login then fails in silence.
 * SASLprep (RFC 4013) leaves ASCII as it is; other passwords are refused with a TypeError.
 */
export const scramSha256: Format = {
  name: 'scram-sha-256',
  storesPlaintext: false,
  // The last character before the padding carries unused bits, which a canonical encoding leaves zero (RFC 4648, 3.5).
  canonical:
    /^SCRAM-SHA-256\$4096:[A-Za-z0-9+/]{21}[AQgw]==\$[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/,
  async derive({ password }, { randomBytes }) {
    if (!/^[\x20-\x7e]+$/.test(password))
      throw new TypeError('scram-sha-256 takes printable ASCII passwords only')
    const salt = randomBytes(SALT_BYTES)
    const salted = await pbkdf2(utf8(password), salt)
    const storedKey = await crypto.subtle.digest('SHA-256', await hmac(salted, 'Client Key'))
    const serverKey = await hmac(salted, 'Server Key')
    const text = (bytes: ArrayBuffer) => toBase64(new Uint8Array(bytes))
    return `SCRAM-SHA-256$${ITERATIONS}:${toBase64(salt)}$${text(storedKey)}:${text(serverKey)}`
  },
}

async function pbkdf2(
  password: Uint8Array<ArrayBuffer>,
  salt: Uint8Array<ArrayBuffer>,
): Promise<ArrayBuffer> {
  const key = await crypto.subtle.importKey('raw', password, 'PBKDF2', false, ['deriveBits'])
  return crypto.subtle.deriveBits(
    { name: 'PBKDF2', hash: 'SHA-256', salt, iterations: ITERATIONS },
    key,
    KEY_BITS,
  )
}

async function hmac(key: ArrayBuffer, message: string): Promise<ArrayBuffer> {
  const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ])
  return crypto.subtle.sign('HMAC', imported, utf8(message))
}
