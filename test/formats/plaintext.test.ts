import { expect, test } from 'vitest'
import { plaintext } from '../../src/formats/plaintext.ts'

test.each([
  ['Zq3xN8vT1mKc7LrW5dYp0HsB2gJf9EaU'],
  ['p@ss/w%25rd$"x'],
  [' spaces at both ends '],
  ['pässwörd 😀'],
  ['x'.repeat(1024)],
])('%j is a password', (password) => {
  expect(plaintext.canonical.test(password)).toBe(true)
})

test.each([
  ['nothing', ''],
  ['a second line', 'a\nrequirepass b'],
  ['a line separator', 'a\u2028b'],
  ['a paragraph separator', 'a\u2029b'],
  ['a NUL', 'a\0b'],
  ['half a character', 'a\ud83d'],
  ['more than 1,024 characters', 'x'.repeat(1025)],
])('%s is none', (_, password) => {
  expect(plaintext.canonical.test(password)).toBe(false)
})
