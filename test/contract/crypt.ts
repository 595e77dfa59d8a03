import { execFileSync } from 'node:child_process'
import { createHash, type Hash } from 'node:crypto'

/** crypt(3) and its relatives by OpenSSL through `node:crypto`. They share nothing with `src/formats`, so as to check it. */

const ALPHABET = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Which byte of the digest goes where, as each document lists it; three bytes are four characters. */
const ORDER = {
  md5: [0, 6, 12, 1, 7, 13, 2, 8, 14, 3, 9, 15, 4, 10, 5, 11],
  // biome-ignore format: rows as in SHA-crypt.txt
  sha256: [0, 10, 20, 21, 1, 11, 12, 22, 2, 3, 13, 23, 24, 4, 14, 15, 25, 5, 6, 16, 26, 27, 7, 17, 18, 28, 8, 9, 19, 29, 31, 30],
  // biome-ignore format: rows as in SHA-crypt.txt
  sha512: [
    0, 21, 42, 22, 43, 1, 44, 2, 23, 3, 24, 45, 25, 46, 4, 47, 5, 26, 6, 27, 48, 28, 49, 7, 50, 8, 29, 9, 30, 51, 31, 52, 10,
    53, 11, 32, 12, 33, 54, 34, 55, 13, 56, 14, 35, 15, 36, 57, 37, 58, 16, 59, 17, 38, 18, 39, 60, 40, 61, 19, 62, 20, 41, 63,
  ],
} as const

type Name = keyof typeof ORDER

function encode(digest: Buffer, name: Name): string {
  const bytes = ORDER[name].map((place) => digest[place] ?? 0)
  let text = ''
  for (let at = 0; at < bytes.length; at += 3) {
    const group = bytes.slice(at, at + 3)
    let bits = group.reduce((number, byte) => number * 256 + byte, 0)
    for (let character = 0; character <= group.length; character += 1) {
      text += ALPHABET[bits % 64]
      bits = Math.floor(bits / 64)
    }
  }
  return text
}

/** The whole of a digest as often as it fits, then its beginning. */
const stretch = (digest: Buffer, length: number): Buffer =>
  Buffer.concat(Array(Math.ceil(length / digest.length)).fill(digest)).subarray(0, length)

const digestOf = (name: Name, feed: (hash: Hash) => void): Buffer => {
  const hash = createHash(name)
  feed(hash)
  return hash.digest()
}

/** SHA-crypt.txt, "Algorithm for crypt using SHA-256/SHA-512", of which MySQL keeps 20 bytes of salt. */
export function shaCrypt(name: 'sha256' | 'sha512', password: string, salt: Buffer, rounds = 5000): string {
  const key = Buffer.from(password)
  const b = digestOf(name, (hash) => hash.update(key).update(salt).update(key))
  let state = digestOf(name, (hash) => {
    hash.update(key).update(salt).update(stretch(b, key.length))
    for (const bit of [...key.length.toString(2)].reverse()) hash.update(bit === '1' ? b : key)
  })
  const p = stretch(
    digestOf(name, (hash) => key.forEach(() => void hash.update(key))),
    key.length,
  )
  const repeatedSalt = Buffer.concat(Array(16 + (state[0] ?? 0)).fill(salt))
  const s = stretch(
    digestOf(name, (hash) => hash.update(repeatedSalt)),
    salt.length,
  )
  for (let round = 0; round < rounds; round += 1) {
    const before = state
    state = digestOf(name, (hash) => {
      hash.update(round % 2 ? p : before)
      if (round % 3) hash.update(s)
      if (round % 7) hash.update(p)
      hash.update(round % 2 ? before : p)
    })
  }
  return encode(state, name)
}

/** `apr_md5_encode` of Apache's apr-util. */
export function apr1(password: string, salt: string): string {
  const key = Buffer.from(password)
  const inner = digestOf('md5', (hash) => hash.update(key).update(salt).update(key))
  let state = digestOf('md5', (hash) => {
    hash.update(key).update('$apr1$').update(salt).update(stretch(inner, key.length))
    for (const bit of [...key.length.toString(2)].reverse()) {
      hash.update(bit === '1' ? Buffer.alloc(1) : key.subarray(0, 1))
    }
  })
  for (let round = 0; round < 1000; round += 1) {
    const before = state
    state = digestOf('md5', (hash) => {
      hash.update(round % 2 ? key : before)
      if (round % 3) hash.update(salt)
      if (round % 7) hash.update(key)
      hash.update(round % 2 ? before : key)
    })
  }
  return `$apr1$${salt}$${encode(state, 'md5')}`
}

const PERL = 'perl'

/** By crypt(3), which is libxcrypt on Debian: Node has no bcrypt. Perl is part of every Debian. */
export function bcrypt(password: string, setting: string): string {
  const program = 'undef $/; print crypt(<STDIN>, $ARGV[0])'
  return execFileSync(PERL, ['-e', program, setting], { input: password, encoding: 'utf8' })
}
