import { utf8 } from '../core/text.ts'
import { passwordBytes, saltText } from './crypt64.ts'
import type { Format } from './format.ts'

const SALT_CHARACTERS = 16
/** What crypt(3) takes when a value names no rounds (SHA-crypt.txt, "ROUNDS_DEFAULT"). */
const ROUNDS = 5000

/**
 * crypt(3)'s `$6$` (Ulrich Drepper, SHA-crypt.txt): `$6$<salt>$<digest>` with 5,000 rounds and a salt of 16 characters,
 * for whatever checks passwords by crypt(3), such as nginx's basic authentication.
 */
export const sha512Crypt: Format = {
  name: 'sha512-crypt',
  storesPlaintext: false,
  canonical: /^\$6\$[./0-9A-Za-z]{16}\$[./0-9A-Za-z]{85}[./01]$/,
  async derive({ password }, { randomBytes }) {
    const bytes = passwordBytes(password, 'sha512-crypt')
    const salt = saltText(randomBytes(SALT_CHARACTERS))
    const { shaCrypt } = await import('./sha-crypt.ts')
    return `$6$${salt}$${shaCrypt('sha512', bytes, utf8(salt), ROUNDS)}`
  },
}
