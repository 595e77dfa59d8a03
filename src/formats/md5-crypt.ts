import { md5 } from '#digests'
import { utf8 } from '../core/text.ts'
import { encodeGroups, type Group, join, NONE } from './crypt64.ts'

const GROUPS: readonly Group[] = [
  [0, 6, 12, 4],
  [1, 7, 13, 4],
  [2, 8, 14, 4],
  [3, 9, 15, 4],
  [4, 10, 5, 4],
  [NONE, NONE, 11, 2],
]

/**
 * The digest of Poul-Henning Kamp's MD5 crypt as text. What marks the scheme is hashed as well. Formats load this file
 * when they need it.
 */
export function md5Crypt(magic: string, password: Uint8Array, salt: Uint8Array, rounds: number): string {
  const hash = (...parts: readonly Uint8Array[]) => md5(join(...parts))
  const other = hash(password, salt, password)
  const filling = Uint8Array.from(password, (_, index) => other[index % other.length] ?? 0)
  let digest = hash(password, utf8(magic), salt, filling, byBits(password))
  for (let round = 0; round < rounds; round += 1) {
    const isOdd = round % 2 === 1
    digest = hash(
      isOdd ? password : digest,
      round % 3 === 0 ? EMPTY : salt,
      round % 7 === 0 ? EMPTY : password,
      isOdd ? digest : password,
    )
  }
  return encodeGroups(digest, GROUPS)
}

const EMPTY = new Uint8Array(0)

/** For each bit of the length, from the lowest on: a NUL for a one, the password's first byte for a zero. */
function byBits(password: Uint8Array): Uint8Array {
  const bytes: number[] = []
  for (let length = password.length; length > 0; length >>= 1) bytes.push(length & 1 ? 0 : (password[0] ?? 0))
  return Uint8Array.from(bytes)
}
