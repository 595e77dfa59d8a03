import { sha256, sha512 } from '#digests'
import { encodeGroups, type Group, join, NONE } from './crypt64.ts'

/** The order of SHA-crypt.txt, step 22 e: of each group the three places move on by 21, modulo 30. */
const SHA256_GROUPS: readonly Group[] = [
  ...Array.from({ length: 10 }, (_, index): Group => {
    const place = (offset: number) => (offset + 21 * index) % 30
    return [place(0), place(10), place(20), 4]
  }),
  [NONE, 31, 30, 3],
]

/** The same, by 22, modulo 63. */
const SHA512_GROUPS: readonly Group[] = [
  ...Array.from({ length: 21 }, (_, index): Group => {
    const place = (offset: number) => (offset + 22 * index) % 63
    return [place(0), place(21), place(42), 4]
  }),
  [NONE, NONE, 63, 2],
]

const HASHES = {
  sha256: { hash: sha256, groups: SHA256_GROUPS },
  sha512: { hash: sha512, groups: SHA512_GROUPS },
} as const

/**
 * The digest of "Unix crypt using SHA-256 and SHA-512" (Ulrich Drepper, SHA-crypt.txt, version 0.6) as text. The numbers
 * are those of its steps. The salt is taken as it is: whoever has one that is too long cuts it. Formats load this file when they need it.
 */
export function shaCrypt(
  name: keyof typeof HASHES,
  password: Uint8Array,
  salt: Uint8Array,
  rounds: number,
): string {
  const { hash, groups } = HASHES[name]
  // 4 to 8
  const other = hash(join(password, salt, password))
  // 1 to 3, 9 to 12
  let digest = hash(join(password, salt, filled(other, password.length), ...byBits(password, other)))
  // 13 to 16
  const passwordPart = filled(hash(join(...repeated(password, password.length))), password.length)
  // 17 to 20
  const saltPart = filled(hash(join(...repeated(salt, 16 + (digest[0] ?? 0)))), salt.length)
  // 21
  for (let round = 0; round < rounds; round += 1) {
    const isOdd = round % 2 === 1
    digest = hash(
      join(
        isOdd ? passwordPart : digest,
        round % 3 === 0 ? EMPTY : saltPart,
        round % 7 === 0 ? EMPTY : passwordPart,
        isOdd ? digest : passwordPart,
      ),
    )
  }
  return encodeGroups(digest, groups)
}

const EMPTY = new Uint8Array(0)

/** For each bit of the length, from the lowest on: the digest for a one, the password for a zero. */
function byBits(password: Uint8Array, digest: Uint8Array): readonly Uint8Array[] {
  const parts: Uint8Array[] = []
  for (let length = password.length; length > 0; length >>= 1) parts.push(length & 1 ? digest : password)
  return parts
}

/** A digest, again and again, up to a length. */
const filled = (digest: Uint8Array, length: number): Uint8Array =>
  Uint8Array.from({ length }, (_, index) => digest[index % digest.length] ?? 0)

const repeated = (part: Uint8Array, times: number): readonly Uint8Array[] => Array(times).fill(part)
