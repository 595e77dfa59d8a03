import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { utf8 } from '../../src/core/text.ts'
import * as anywhere from '../../src/formats/digests.ts'
import { toHex } from '../../src/formats/hex.ts'
import * as node from '../../src/formats/node-digests.ts'

const ways: readonly (readonly [string, typeof anywhere])[] = [
  ['anywhere', anywhere],
  ['in Node', node],
]
const DIGESTS = ['md5', 'sha1', 'sha256', 'sha512'] as const

test('formats get those of Node here', async () => {
  expect(await import('#digests')).toBe(node)
})

describe.each(ways)('digests %s', (_, { hmacSha256, pbkdf2Sha256, ...digests }) => {
  // RFC 1321 (A.5), FIPS 180-4 examples.
  test.each([
    ['md5', '900150983cd24fb0d6963f7d28e17f72'],
    ['sha1', 'a9993e364706816aba3e25717850c26c9cd0d89d'],
    ['sha256', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
    [
      'sha512',
      'ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f',
    ],
  ] as const)('%s of abc', (name, hex) => {
    expect(toHex(digests[name](utf8('abc')))).toBe(hex)
  })

  test('HMAC-SHA-256: RFC 4231, test case 2', () => {
    expect(toHex(hmacSha256(utf8('Jefe'), utf8('what do ya want for nothing?')))).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    )
  })

  test('PBKDF2-HMAC-SHA-256: the first 32 bytes of RFC 7914, section 11', async () => {
    expect(toHex(await pbkdf2Sha256(utf8('passwd'), utf8('salt'), 1))).toBe(
      '55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc',
    )
  })
})

test('of any bytes both ways say the same, with a view into a larger buffer too', async () => {
  const large = randomBytes(4096)
  for (let length = 0; length <= 300; length += 1) {
    const data = new Uint8Array(large.buffer, large.byteOffset + length, length)
    const [other, ours] = ways.map(([, digests]) => DIGESTS.map((name) => toHex(digests[name](data))))
    expect(ours).toEqual(other)
    const key = new Uint8Array(large.buffer, large.byteOffset + 7, length % 140)
    expect(toHex(node.hmacSha256(key, data))).toBe(toHex(anywhere.hmacSha256(key, data)))
  }
  for (const length of [0, 1, 32, 64, 65, 200]) {
    const [password, salt] = [new Uint8Array(randomBytes(length)), new Uint8Array(randomBytes(16))]
    expect(toHex(await node.pbkdf2Sha256(password, salt, 20))).toBe(
      toHex(await anywhere.pbkdf2Sha256(password, salt, 20)),
    )
  }
})
