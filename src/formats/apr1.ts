import { utf8 } from '../core/text.ts'
import { passwordBytes, saltText } from './crypt64.ts'
import type { Format } from './format.ts'

const SALT_CHARACTERS = 8
const MAGIC = '$apr1$'
const ROUNDS = 1000

/**
 * Apache's MD5 (`crypto/apr_md5.c` in apr-util, `htpasswd -m`, `openssl passwd -apr1`): `$apr1$<salt>$<digest>` with
 * 1,000 rounds, for basic authentication in Apache and nginx. MD5 is cheap to guess at, which only a password of high
 * entropy can afford.
 */
export const apr1: Format = {
  name: 'apr1',
  storesPlaintext: false,
  canonical: /^\$apr1\$[./0-9A-Za-z]{8}\$[./0-9A-Za-z]{21}[./01]$/,
  async derive({ password }, { randomBytes }) {
    const bytes = passwordBytes(password, 'apr1')
    const salt = saltText(randomBytes(SALT_CHARACTERS))
    const { md5Crypt } = await import('./md5-crypt.ts')
    return `${MAGIC}${salt}$${md5Crypt(MAGIC, bytes, utf8(salt), ROUNDS)}`
  },
}
