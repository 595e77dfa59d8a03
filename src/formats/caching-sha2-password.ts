import { utf8 } from '../core/text.ts'
import { passwordBytes, saltText } from './crypt64.ts'
import type { Format } from './format.ts'
import { toHex } from './hex.ts'

const SALT_BYTES = 20
/** In thousands, as three hexadecimal digits (`sql/auth/sha2_password.cc`). */
const ITERATIONS = '005'
const ROUNDS = 5000

/**
 * MySQL 8's `caching_sha2_password`: `$A$005$`, 20 bytes of salt, and the 43 characters of a SHA-256 crypt over them
 * (`sql/auth/sha2_password.cc`, `sql-common/crypt_genhash_impl.cc`). Stored as SQL takes it, a hexadecimal literal:
 * `IDENTIFIED WITH caching_sha2_password AS 0x…`. MySQL's salts are bytes that need be no text; ours are of crypt(3)'s
 * alphabet, 120 random bits, so that none is a NUL, where C ends a text, or a `$`, where MySQL ends the salt.
 */
export const cachingSha2Password: Format = {
  name: 'caching_sha2_password',
  storesPlaintext: false,
  // `0x`, `$A$005$`, then 63 characters of the alphabet, of which the last has four bits only.
  canonical:
    /^0x24412430303524(?:(?!2[0-9A-D])(?!3[A-F])(?![46]0)(?![57][B-F])[2-7][0-9A-F]){62}(?!2[0-9A-D])(?!3[A-F])(?!4[05-9A-F])[2-4][0-9A-F]$/,
  async derive({ password }, { randomBytes }) {
    const bytes = passwordBytes(password, 'caching_sha2_password')
    const salt = saltText(randomBytes(SALT_BYTES))
    return literalOf(bytes, utf8(salt))
  },
}

/** For any 20 bytes of salt: MySQL's own are no text. */
export async function literalOf(password: Uint8Array, salt: Uint8Array): Promise<string> {
  const { shaCrypt } = await import('./sha-crypt.ts')
  const digest = shaCrypt('sha256', password, salt, ROUNDS)
  const bytes = Uint8Array.of(...utf8(`$A$${ITERATIONS}$`), ...salt, ...utf8(digest))
  return `0x${toHex(bytes.buffer).toUpperCase()}`
}
