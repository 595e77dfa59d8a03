import { hmacSha256, pbkdf2Sha256, sha256 } from '#digests'
import { toBase64, utf8 } from '../core/text.ts'
import { passwordBytes } from './crypt64.ts'
import type { Format } from './format.ts'

const ITERATIONS = 4096
const SALT_BYTES = 16

/**
 * PostgreSQL's SCRAM verifier (RFC 5802, RFC 7677; `src/common/scram-common.c`):
 * `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`, everything in padded standard base64. CloudNativePG and
 * PostgreSQL take a near-miss for a plaintext password, and the login then fails in silence.
 * The password goes through SASLprep (RFC 4013) where that allows it, and else as it is, as PostgreSQL and its clients do
 * it (`pg_be_scram_build_secret`). A NUL, where C ends a text, is a TypeError.
 */
export const scramSha256: Format = {
  name: 'scram-sha-256',
  storesPlaintext: false,
  // The last character before the padding carries unused bits, which a canonical encoding leaves zero (RFC 4648, 3.5).
  canonical:
    /^SCRAM-SHA-256\$4096:[A-Za-z0-9+/]{21}[AQgw]==\$[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/,
  // As `get_password_type` (`src/backend/libpq/crypt.c`) tells them, and some more: an exact parser would gain nothing.
  takenForStored: /^(md5[0-9a-f]{32}$|SCRAM-SHA-256\$)/,
  async derive({ password }, { randomBytes }) {
    const bytes = await preparedBytes(password)
    const salt = randomBytes(SALT_BYTES)
    const salted = await pbkdf2Sha256(bytes, salt, ITERATIONS)
    const storedKey = sha256(hmacSha256(salted, utf8('Client Key')))
    const serverKey = hmacSha256(salted, utf8('Server Key'))
    return `SCRAM-SHA-256$${ITERATIONS}:${toBase64(salt)}$${toBase64(storedKey)}:${toBase64(serverKey)}`
  },
}

/** Those that are minted are ASCII, which is prepared already. */
async function preparedBytes(password: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = passwordBytes(password, 'scram-sha-256')
  if (bytes.length === 0) throw new TypeError('scram-sha-256 takes no empty password')
  if (bytes.every((byte) => byte < 0x80)) return bytes
  const { saslprep } = await import('./saslprep.ts')
  return utf8(saslprep(password) ?? password)
}
