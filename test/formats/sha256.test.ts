import { expect, test } from 'vitest'
import { sha256 } from '../../src/formats/sha256.ts'

const P32 = 'Zq3xN8vT1mKc7LrW5dYp0HsB2gJf9EaU'
const value = '37cfa00c51d89b14538dcbaff709b68d97051a67d23fd7d1639c298de5fe5ea9'
const deps = { randomBytes: () => new Uint8Array() }

test('VER-06: the hash is over the password and no line break', async () => {
  expect(await sha256.derive({ username: 'etl', password: P32 }, deps)).toBe(value)
  expect(await sha256.derive({ username: 'etl', password: `${P32}\n` }, deps)).toMatch(/^40741652ea96d25b/)
})

test('takes the UTF-8 of a password as it is, composed or not', async () => {
  const of = (password: string) => sha256.derive({ username: 'etl', password }, deps)
  // printf 'p\xc3\xa4ss' | sha256sum, and printf 'pa\xcc\x88ss' | sha256sum
  expect(await of('p\u00e4ss')).toBe('73c2e2fd2aec66e50135a01b2a007fcc23e4d35010637f98541e453a8665d25d')
  expect(await of('pa\u0308ss')).toBe('0fa6a9aa0a134847621e8baaa959cefcee1836821e421fe0804b4095cb95ab99')
})

test.each([
  ['nothing', ''],
  ['upper case', value.toUpperCase()],
  ['a leading space', ` ${value}`],
  ['a trailing line break', `${value}\n`],
  ['a digit less', value.slice(1)],
  ['a digit more', `${value}0`],
  ['a prefix', `0x${value}`],
  ['base64', 'N8+gDFHYmxRTjcuv9wm2jZcFGmfSP9fRY5wpjeX+Xqk='],
])('%s does not match', (_, nearMiss) => {
  expect(sha256.canonical.test(nearMiss)).toBe(false)
})
