import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { deriveStored } from '../../src/formats/derive.ts'
import { formats } from '../../src/formats/index.ts'
import { accepts } from '../contract/verify.ts'
import { randomBytes, saltOf, titleOf, vectorsOf } from './vectors.ts'

const PASSWORDS = 1000
const TIMEOUT_MS = 30_000
/** Of these a value takes milliseconds. */
const SLOW = new Set(['apr1', 'bcrypt', 'sha512-crypt', 'caching_sha2_password'])

/** Printable ASCII of 1 to 64 characters, the same in every run. */
const passwords = Array.from({ length: PASSWORDS }, (_, index) => {
  const bytes = createHash('sha512').update(String(index)).digest()
  return String.fromCharCode(...bytes.map((byte) => 0x20 + (byte % 95))).slice(0, 1 + (index % 64))
})

/** Of 16 lengths. */
const fewer = passwords.slice(0, 64).filter((_, index) => index % 4 === 3)

// Read when the file is collected: a format without vectors fails before any test runs.
const table = [...formats.values()].map((format) => ({
  name: format.name,
  format,
  vectors: vectorsOf(format.name),
}))

test('the table calls every format by its own name', () => {
  for (const [name, format] of formats) expect(format.name).toBe(name)
})

describe.each(table)('$name', ({ name, format, vectors }) => {
  test('has vectors', () => {
    expect(vectors.length).toBeGreaterThan(0)
  })

  test.each(vectors.map((vector) => [titleOf(vector), vector] as const))('%s', async (_, vector) => {
    expect(await format.derive({ username: 'web', password: vector.password }, saltOf(vector))).toBe(
      vector.stored,
    )
  })

  const derived = (tried: readonly string[]) =>
    Promise.all(tried.map((password) => format.derive({ username: 'web', password }, { randomBytes })))

  test('matches what it derives, whatever the password', { timeout: TIMEOUT_MS }, async () => {
    const stored = await derived(SLOW.has(name) ? fewer : passwords)
    expect(stored.filter((value) => !format.canonical.test(value))).toEqual([])
  })

  test('derives what another implementation accepts', { timeout: TIMEOUT_MS }, async () => {
    const stored = await derived(fewer)
    const accepted = stored.filter((value, index) => accepts(value, fewer[index] ?? ''))
    expect(accepted).toHaveLength(fewer.length)
    expect(stored.filter((value) => accepts(value, 'another'))).toEqual([])
  })

  test('gives two accounts with one password the same value only when it has no salt', async () => {
    const derive = () => format.derive({ username: 'web', password: 'pencil' }, { randomBytes })
    const isSalted = vectors.some(({ salt }) => salt !== undefined)
    const values = await Promise.all([derive(), derive()])
    expect(new Set(values).size).toBe(isSalted ? 2 : 1)
  })

  test('anchors its pattern, which keeps no state', () => {
    expect(format.canonical.source).toMatch(/^\^.*\$$/)
    expect(format.canonical.source).not.toContain('|')
    expect(format.canonical.flags.replace('u', '')).toBe('')
  })

  test.each([
    ['nothing', ''],
    ['a line break', '\n'],
    ['a line break at the end', `${vectors[0]?.stored}\n`],
    ['a carriage return at the end', `${vectors[0]?.stored}\r`],
    ['a line before', `x\n${vectors[0]?.stored}`],
    ['a NUL at the end', `${vectors[0]?.stored}\0`],
  ])('does not match %s', (_, value) => {
    expect(format.canonical.test(value)).toBe(false)
  })

  test('is the password itself exactly where it says so', async () => {
    const password = 'Zq3xN8vT1mKc7LrW5dYp0HsB2gJf9EaU'
    const stored = await format.derive({ username: 'web', password }, { randomBytes })
    expect(stored.includes(password)).toBe(format.storesPlaintext)
  })

  test('MIG-07: stores nothing for an empty password', async () => {
    const options = { valuesPath: undefined }
    expect(await deriveStored(format, { username: 'app', password: '' }, { randomBytes }, options)).toEqual({
      ok: false,
      failure: { reason: 'value_not_canonical', format: name },
    })
  })
})
