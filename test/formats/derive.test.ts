import { describe, expect, test } from 'vitest'
import { deriveStored } from '../../src/formats/derive.ts'
import type { Format } from '../../src/formats/format.ts'
import { formats } from '../../src/formats/index.ts'
import { randomBytes } from './vectors.ts'

const password = 'Zq3xN8vT1mKc7LrW5dYp0HsB2gJf9EaU'
const refused = { ok: false, failure: { reason: 'value_not_canonical', format: 'odd' } }

/** A format that answers what a test wants, and takes anything for canonical unless told otherwise. */
const odd = (stored: string, more: Partial<Format> = {}): Format => ({
  name: 'odd',
  storesPlaintext: false,
  canonical: /^.*$/s,
  derive: async () => stored,
  ...more,
})
const store = (format: Format, valuesPath?: string, input = { username: 'web', password }) =>
  deriveStored(format, input, { randomBytes }, { valuesPath })

test.each([...formats.values()])('$name gives a value for a minted password', async (format) => {
  expect(await store(format)).toEqual({ ok: true, value: expect.stringMatching(format.canonical) })
})

test.each(
  [...formats.values()].filter(({ storesPlaintext, neverInValues }) => !storesPlaintext && !neverInValues),
)('$name gives a value that Helm leaves alone', async (format) => {
  expect(await store(format, '_accounts')).toMatchObject({ ok: true })
})

test.each([...formats.values()].filter(({ neverInValues }) => neverInValues))(
  '$name gives none, and is refused where the chart gets it',
  async (format) => {
    const failure = { reason: 'value_not_canonical', format: format.name }
    expect(await store(format, '_accounts')).toEqual({ ok: false, failure })
  },
)

test('a value that does not match its pattern is refused', async () => {
  expect(await store(odd('*abc', { canonical: /^\*[0-9A-F]{40}$/ }))).toEqual(refused)
})

test('an empty value is refused: to some engines it is no password at all', async () => {
  expect(await store(odd(''))).toEqual(refused)
})

test('a value of more than 8 KiB is refused, counted in bytes', async () => {
  expect(await store(odd('x'.repeat(8192)))).toMatchObject({ ok: true })
  expect(await store(odd('x'.repeat(8193)))).toEqual(refused)
  expect(await store(odd('ä'.repeat(4097)))).toEqual(refused)
})

test('a verifier that holds the password is refused', async () => {
  expect(await store(odd(`{SSHA}${password}`))).toEqual(refused)
  expect(await store(odd(`{SSHA}${password}`, { storesPlaintext: true }))).toMatchObject({ ok: true })
})

test.each([[''], ['\ud83d'], ['a\udc00b']])('the password %j is refused before it is hashed', async (bad) => {
  const never = odd('', {
    derive: () => {
      throw new Error('hashed')
    },
  })
  expect(await store(never, undefined, { username: 'web', password: bad })).toEqual(refused)
})

describe('a value that Flux would read as more than a text is refused where the chart gets it:', () => {
  // helm.sh/helm, pkg/strvals/parser.go: what ends a value, and what typedVal turns into another type.
  test.each([
    'x,_namespace.host=evil',
    '{a}',
    'a[0]',
    'a\\,b',
    'a b',
    'a\nb',
    "'a'",
    '"a"',
    '#a',
    'ä',
    'true',
    'false',
    'null',
    'True',
    'NULL',
    '0',
    '0123',
    '-12',
    '+12',
  ])('%j', async (value) => {
    expect(await store(odd(value), '_accounts')).toEqual(refused)
    expect(await store(odd(value))).toMatchObject({ ok: true })
  })

  test.each(['true1', '-', 'a', '0x12', '$apr1$a$b', '*2470C0', 'a+b/c==', 'SCRAM-SHA-256$4096:a$b:c'])(
    'but %j is a text',
    async (value) => {
      expect(await store(odd(value), '_accounts')).toEqual({ ok: true, value })
    },
  )
})

test('a value that wraps the password, in base64 or hex, is refused like the password itself', async () => {
  const password = 'hunter2-hunter2-hunter2'
  const wraps = [
    password,
    Buffer.from(password).toString('base64'),
    Buffer.from(password).toString('hex'),
    Buffer.from(password).toString('hex').toUpperCase(),
  ]
  for (const wrapped of wraps) {
    const format = {
      name: 'wrapping',
      storesPlaintext: false,
      canonical: /^/,
      derive: async () => `<${wrapped}>`,
    }
    const input = { username: 'web', password }
    const stored = await deriveStored(
      format,
      input,
      { randomBytes: () => new Uint8Array() },
      { valuesPath: undefined },
    )
    expect(stored, wrapped).toMatchObject({ ok: false })
  }
})
