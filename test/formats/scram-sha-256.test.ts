import { hmac } from '@noble/hashes/hmac.js'
import { pbkdf2 } from '@noble/hashes/pbkdf2.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { describe, expect, test } from 'vitest'
import { scramSha256 } from '../../src/formats/scram-sha-256.ts'
import { randomBytes, vectorsOf } from './vectors.ts'

const [pencil, , p32] = vectorsOf('scram-sha-256').map(({ stored }) => stored)
const value = p32 ?? ''
const derive = (password: string) => scramSha256.derive({ username: 'web', password }, { randomBytes })

test('VER-01: is one line, and no two values share a salt', async () => {
  const values = await Promise.all(
    Array.from({ length: 200 }, () => derive('Zq3xN8vT1mKc7LrW5dYp0HsB2gJf9EaU')),
  )
  const salts = new Set(values.map((stored) => stored.split(/[:$]/)[2]))
  expect(salts.size).toBe(values.length)
  expect(new Set(values.map((stored) => stored.length))).toEqual(new Set([133]))
})

test('agrees with another implementation on the longest and the oddest passwords', async () => {
  for (const password of [' ', '~', ' leading', 'trailing ', '%25$:', 'x'.repeat(1000)]) {
    const [, salt = '', storedKey, serverKey] = /4096:(.*)\$(.*):(.*)/.exec(await derive(password)) ?? []
    const salted = pbkdf2(sha256, password, Buffer.from(salt, 'base64'), { c: 4096, dkLen: 32 })
    const key = (name: string) => hmac(sha256, salted, new TextEncoder().encode(name))
    expect(storedKey).toBe(Buffer.from(sha256(key('Client Key'))).toString('base64'))
    expect(serverKey).toBe(Buffer.from(key('Server Key')).toString('base64'))
  }
})

test.each(['nul\0', ''])('refuses %j, which no client could send', async (password) => {
  await expect(derive(password)).rejects.toThrow(TypeError)
})

describe('a near-miss, which PostgreSQL or its operator takes for a plaintext password, does not match:', () => {
  test.each([
    ['lower-case prefix', value.replace('SCRAM-SHA-256', 'scram-sha-256')],
    ['leading space', ` ${value}`],
    ['trailing space', `${value} `],
    ['trailing line break', `${value}\n`],
    ['no padding', value.replaceAll('=', '')],
    ['no padding at the end', value.slice(0, -1)],
    ['url-safe base64', value.replaceAll('/', '_').replaceAll('+', '-')],
    ['empty salt', value.replace('AAECAwQFBgcICQoLDA0ODw==', '')],
    ['salt of 15 bytes', value.replace('AAECAwQFBgcICQoLDA0ODw==', 'AAECAwQFBgcICQoLDA0O')],
    ['salt with stray bits', value.replace('ODw==', 'ODx==')],
    ['key with stray bits', value.replace('gplE=', 'gplF=')],
    ['other iterations', value.replace('4096', '10000')],
    ['signed iterations', value.replace('4096', '+4096')],
    ['padded iterations', value.replace('4096', '04096')],
    ['a key too few', value.slice(0, value.lastIndexOf(':'))],
    ['a part too many', `${value}$`],
    ['MD5', 'md5a8f5f167f44f4964e6c998dee827110c'],
  ])('%s', (_, nearMiss) => {
    expect(value).not.toBe(nearMiss)
    expect(scramSha256.canonical.test(value)).toBe(true)
    expect(scramSha256.canonical.test(nearMiss)).toBe(false)
  })
})

test('lets the client and the server of RFC 7677, section 3, prove themselves to each other', () => {
  const message = [
    'n=user,r=rOprNGfwEbeRWgbNEkqO',
    'r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096',
    'c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0',
  ].join(',')
  const proof = Buffer.from('dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=', 'base64')
  const serverSignature = '6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4='

  const [storedKey = '', serverKey = ''] = (pencil ?? '').split('$')[2]?.split(':') ?? []
  const sign = (key: string) => hmac(sha256, Buffer.from(key, 'base64'), new TextEncoder().encode(message))
  const signature = sign(storedKey)
  const clientKey = proof.map((byte, index) => byte ^ (signature[index] ?? 0))
  expect(Buffer.from(sha256(clientKey)).toString('base64')).toBe(storedKey)
  expect(Buffer.from(sign(serverKey)).toString('base64')).toBe(serverSignature)
})
