import { utf8 } from '../core/text.ts'
import { encodeGroups, type Group, NONE, passwordBytes, saltText } from './crypt64.ts'
import type { Format } from './format.ts'

const SALT_CHARACTERS = 8
const MAGIC = '$apr1$'
const ROUNDS = 1000

const GROUPS: readonly Group[] = [
  [0, 6, 12, 4],
  [1, 7, 13, 4],
  [2, 8, 14, 4],
  [3, 9, 15, 4],
  [4, 10, 5, 4],
  [NONE, NONE, 11, 2],
]

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
    const { md5 } = await import('@noble/hashes/legacy.js')
    return `${MAGIC}${salt}$${encodeGroups(apr1Digest(md5, bytes, utf8(salt)), GROUPS)}`
  },
}

type Md5 = (message: Uint8Array) => Uint8Array

/** Poul-Henning Kamp's MD5 crypt with another magic. */
function apr1Digest(md5: Md5, password: Uint8Array, salt: Uint8Array): Uint8Array {
  const hash = (...parts: readonly ArrayLike<number>[]) =>
    md5(Uint8Array.from(parts.flatMap((part) => Array.from(part))))
  const other = hash(password, salt, password)
  const filling = Uint8Array.from(password, (_, index) => other[index % other.length] ?? 0)
  let digest = hash(password, utf8(MAGIC), salt, filling, byBits(password))
  for (let round = 0; round < ROUNDS; round += 1) {
    const isOdd = round % 2 === 1
    digest = hash(
      isOdd ? password : digest,
      round % 3 === 0 ? [] : salt,
      round % 7 === 0 ? [] : password,
      isOdd ? digest : password,
    )
  }
  return digest
}

/** For each bit of the length, from the lowest on: a NUL for a one, the password's first byte for a zero. */
function byBits(password: Uint8Array): readonly number[] {
  const bytes: number[] = []
  for (let length = password.length; length > 0; length >>= 1) bytes.push(length & 1 ? 0 : (password[0] ?? 0))
  return bytes
}
