import { describe, expect, test } from 'vitest'
import { apr1 } from '../../src/formats/apr1.ts'
import { cachingSha2Password, literalOf } from '../../src/formats/caching-sha2-password.ts'
import { shaCrypt } from '../../src/formats/sha-crypt.ts'
import { sha512Crypt } from '../../src/formats/sha512-crypt.ts'
import * as another from '../contract/crypt.ts'
import { randomBytes, vectorsOf } from './vectors.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const storedOf = (format: string) => vectorsOf(format)[0]?.stored ?? ''

const LONG = 'a very much longer text to encrypt.  This one even stretches over morethan one line.'

/** SHA-crypt.txt, of the test vectors at its end: password, salt after the cut, rounds, digest. */
const DREPPER = {
  sha512: [
    [
      'Hello world!',
      'saltstring',
      5000,
      'svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1',
    ],
    [
      LONG,
      'anotherlongsalts',
      1400,
      'POfYwTEok97VWcjxIiSOjiykti.o/pQs.wPvMxQ6Fm7I6IoYN3CmLs66x9t0oSwbtEW7o7UmJEiDwGqd8p4ur1',
    ],
  ],
  sha256: [
    ['Hello world!', 'saltstring', 5000, '5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5'],
    [LONG, 'anotherlongsalts', 1400, 'Rx.j8H.h8HjEDGomFU8bDkXm3XIUnzyxf12oP84Bnq1'],
  ],
} as const

describe('the digest of SHA-crypt.txt, by our code and by what checks it', () => {
  test.each(DREPPER.sha512)('SHA-512 of %j with salt %s and %i rounds', (password, salt, rounds, digest) => {
    expect(shaCrypt('sha512', bytes(password), bytes(salt), rounds)).toBe(digest)
    expect(another.shaCrypt('sha512', password, Buffer.from(salt), rounds)).toBe(digest)
  })

  test.each(DREPPER.sha256)('SHA-256 of %j with salt %s and %i rounds', (password, salt, rounds, digest) => {
    expect(shaCrypt('sha256', bytes(password), bytes(salt), rounds)).toBe(digest)
    expect(another.shaCrypt('sha256', password, Buffer.from(salt), rounds)).toBe(digest)
  })
})

describe('caching_sha2_password', () => {
  // MySQL 8 reference manual, "SHOW CREATE USER Statement": BY 'secret', in two of its editions.
  test.each([
    '0x244124303035240C7745603626313D613C4C10633E0A104B1E14135A544A7871567245614F4872344643546336546F624F6C7861326932752F45622F4F473273597557627139',
    '0x2441243030352446254A552E230B250D6B01753C76155E37591F46666D54754D314B79705147733938684C55434A4151765057796D544A314665462E66423561337A6B433043',
  ])('derives what a MySQL server has shown: %s', async (shown) => {
    const salt = Uint8Array.from(Buffer.from(shown.slice(2), 'hex').subarray(7, 27))
    expect(await literalOf(bytes('secret'), salt)).toBe(shown)
  })

  test('is 70 bytes, and its salt has no NUL and no "$", whatever the random bytes are', async () => {
    for (let first = 0; first < 256; first += 64) {
      const salt = Uint8Array.from({ length: 20 }, (_, index) => first + 3 * index)
      const stored = await cachingSha2Password.derive(
        { username: 'app', password: 'secret' },
        { randomBytes: () => salt },
      )
      const raw = Buffer.from(stored.slice(2), 'hex')
      expect(raw).toHaveLength(70)
      expect(raw.subarray(7).toString('latin1')).toMatch(/^[./0-9A-Za-z]{63}$/)
      expect(stored).toMatch(cachingSha2Password.canonical)
    }
  })

  const value = storedOf('caching_sha2_password')
  const withSalt = (hex: string) => value.slice(0, 16) + hex + value.slice(18)
  test.each([
    ['lower case', value.toLowerCase()],
    ['no 0x', value.slice(2)],
    ['other rounds', value.replace('303035', '303036')],
    ['a byte less', value.slice(0, -2)],
    ['a byte more', `${value}2E`],
    ['a NUL in its salt', withSalt('00')],
    ['a "$" in its salt', withSalt('24')],
    ['the end of its alphabet and one', withSalt('7B')],
    ['"@" in its salt', withSalt('40')],
    ['stray bits in its last character', `${value.slice(0, -2)}45`],
  ])('with %s does not match', (_, nearMiss) => {
    expect(value).toMatch(cachingSha2Password.canonical)
    expect(nearMiss).not.toMatch(cachingSha2Password.canonical)
  })
})

describe('sha512-crypt', () => {
  const value = storedOf('sha512-crypt')
  test.each([
    ['another scheme', value.replace('$6$', '$5$')],
    ['rounds named', value.replace('$6$', '$6$rounds=5000$')],
    ['a short salt', value.replace('toolongsaltstrin', 'toolongsaltstri')],
    ['a salt that crypt(3) would cut', value.replace('toolongsaltstrin', 'toolongsaltstring')],
    ['a colon in its salt', value.replace('toolong', 'too:ong')],
    ['a character less', value.slice(0, -1)],
    ['stray bits in its last character', `${value.slice(0, -1)}2`],
    ['a user before it', `web:${value}`],
  ])('with %s does not match', (_, nearMiss) => {
    expect(value).toMatch(sha512Crypt.canonical)
    expect(nearMiss).not.toMatch(sha512Crypt.canonical)
  })
})

describe('apr1', () => {
  const value = storedOf('apr1')
  test('VER-11: counts every character of a long password', async () => {
    const derive = (password: string) =>
      apr1.derive({ username: 'web', password }, { randomBytes: () => new Uint8Array(8) })
    const values = await Promise.all(Array.from({ length: 64 }, (_, index) => derive('x'.repeat(index + 1))))
    expect(new Set(values).size).toBe(64)
  })

  test.each([
    ['another scheme', value.replace('apr1', '1')],
    ['a short salt', value.replace('OS5yjsCr', 'OS5yjsC')],
    ['a character less', value.slice(0, -1)],
    ['stray bits in its last character', `${value.slice(0, -1)}2`],
  ])('with %s does not match', (_, nearMiss) => {
    expect(value).toMatch(apr1.canonical)
    expect(nearMiss).not.toMatch(apr1.canonical)
  })
})

test.each([apr1, sha512Crypt, cachingSha2Password])(
  '$name refuses a NUL, where C ends a text',
  async (format) => {
    await expect(format.derive({ username: 'web', password: 'a\0b' }, { randomBytes })).rejects.toThrow(
      TypeError,
    )
  },
)
