import { expect, test } from 'vitest'
import { bcrypt } from '../../src/formats/bcrypt.ts'
import { randomBytes, vectorsOf } from './vectors.ts'

const value = vectorsOf('bcrypt')[0]?.stored ?? ''
const derive = (password: string) => bcrypt.derive({ username: 'web', password }, { randomBytes })

test('VER-09: is 60 characters with one prefix, always the same', async () => {
  for (const stored of await Promise.all(['a', 'pencil', 'x'.repeat(72)].map(derive))) {
    expect(stored).toHaveLength(60)
    expect(stored).toMatch(/^\$2b\$10\$/)
  }
})

test.each([
  ['the prefix of crypt_blowfish', value.replace('$2b$', '$2y$')],
  ['the prefix of before 2014', value.replace('$2b$', '$2a$')],
  ['the prefix of a bug', value.replace('$2b$', '$2x$')],
  ['another cost', value.replace('$10$', '$04$')],
  ['a character less', value.slice(0, -1)],
  ['a character more', `${value}.`],
  ['stray bits at the end of its salt', value.replace('opqrstuu', 'opqrstuv')],
  ['stray bits at its end', `${value.slice(0, -1)}n`],
])('VER-09: with %s does not match', (_, nearMiss) => {
  expect(value).toMatch(bcrypt.canonical)
  expect(nearMiss).not.toMatch(bcrypt.canonical)
})

test.each(['x'.repeat(73), 'ä'.repeat(37), 'a\0b'])(
  'refuses %j, of which a part would not count',
  async (password) => {
    await expect(derive(password)).rejects.toThrow(TypeError)
  },
)
