import { passwordBytes } from './crypt64.ts'
import type { Format } from './format.ts'

const SALT_BYTES = 16
/** A tenth of a second of a core. More would buy nothing for 190 random bits, and engines pay it at each login. */
const COST = 10
/** What is beyond is not hashed, and any end would do. */
const MAX_BYTES = 72

/**
 * bcrypt (Provos and Mazières, "A Future-Adaptable Password Scheme", 1999) as OpenBSD marks it since 5.5:
 * `$2b$10$<22 characters of salt><31 of digest>`. For ASCII `$2a$` and `$2y$` are the same; crypt(3) of libxcrypt and
 * nats-server take all three. A password of more than 72 bytes is a TypeError.
 */
export const bcrypt: Format = {
  name: 'bcrypt',
  storesPlaintext: false,
  // The last character of the salt carries two bits, the last of the digest four.
  canonical: /^\$2b\$10\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{30}[.CGKOSWaeimquy26]$/,
  async derive({ password }, { randomBytes }) {
    if (passwordBytes(password, 'bcrypt').length > MAX_BYTES)
      throw new TypeError(`bcrypt takes passwords of at most ${MAX_BYTES} bytes`)
    const { encodeBase64, hash } = await import('bcryptjs')
    const salt = encodeBase64([...randomBytes(SALT_BYTES)], SALT_BYTES)
    return hash(password, `$2b$${COST}$${salt}`)
  },
}
