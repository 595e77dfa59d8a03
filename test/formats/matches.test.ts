import { describe, expect, test } from 'vitest'
import type { NamedFormat } from '../../src/formats/format.ts'
import { formats } from '../../src/formats/index.ts'
import { matches } from '../../src/formats/matches.ts'
import { randomBytes, saltOf, titleOf, vectorsOf } from './vectors.ts'

const table = [...formats.values()].map((format) => ({ name: format.name, format }))
const ofUser = (password: string) => ({ username: 'web', password })

describe.each(table)('a stored value of $name', ({ name, format }) => {
  const vectors = vectorsOf(name).filter(({ stored }) => format.canonical.test(stored))

  test.each(vectors.map((vector) => [titleOf(vector), vector] as const))(
    'is that of its password and of no other: %s',
    async (_title, vector) => {
      const { password, stored } = vector
      expect(await format.derive(ofUser(password), saltOf(vector))).toBe(stored)
      expect(await matches(format, stored, ofUser(password))).toBe(true)
      for (const other of [`${password} `, password.slice(1) || 'x', password.toUpperCase() + password]) {
        expect(await matches(format, stored, ofUser(other))).toBe(false)
      }
    },
  )

  test('with any salt is that of its password', async () => {
    for (const password of ['hunter2', 'tr0ub4dor&3 ', 'p\u00e4ssw\u00f6rd']) {
      const stored = await format.derive(ofUser(password), { randomBytes })
      expect(await matches(format, stored, ofUser(password)), password).toBe(true)
    }
  })

  test('that somebody has cut or made up is that of no password', async () => {
    const stored = await format.derive(ofUser('hunter2'), { randomBytes })
    for (const other of ['', stored.slice(0, -1), `${stored}\n`, 'md5']) {
      expect(await matches(format, other, ofUser('hunter2')), other).toBe(false)
    }
  })
})

test('a password that the format cannot encode has no stored value', async () => {
  for (const name of ['scram-sha-256', 'bcrypt', 'sha512-crypt']) {
    const format = formats.get(name)
    const stored = (await format?.derive(ofUser('a'), { randomBytes })) ?? ''
    expect(format && (await matches(format, stored, ofUser('a\0b')))).toBe(false)
  }
})

test('of a format that is not built in nothing is known', async () => {
  const odd: NamedFormat = {
    name: 'odd',
    storesPlaintext: false,
    canonical: /^/,
    derive: async () => 'x',
  }
  expect(await matches(odd, 'x', ofUser('hunter2'))).toBe(false)
})
