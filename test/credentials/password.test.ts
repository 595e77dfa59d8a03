import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { generatePassword } from '../../src/credentials/password.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const real = { randomBytes: (length: number) => new Uint8Array(randomBytes(length)) }

/** Answers these bytes, call after call; the last call's again when they are over. */
function scripted(...calls: readonly (readonly number[])[]) {
  let asked = 0
  const take = (length: number): Uint8Array<ArrayBuffer> => {
    const bytes = calls[Math.min(asked, calls.length - 1)] ?? []
    asked += 1
    return Uint8Array.from({ length }, (_, index) => bytes[index % bytes.length] ?? 0)
  }
  return { deps: { randomBytes: take }, asked: () => asked }
}

test('VER-15: of 10,000 passwords each has 32 characters that nothing has to quote, and none comes twice', () => {
  const passwords = Array.from({ length: 10_000 }, () => generatePassword(real))
  for (const password of passwords) {
    expect(password).toMatch(/^[A-Za-z0-9]{32}$/)
    expect(encodeURIComponent(password)).toBe(password)
  }
  expect(new Set(passwords).size).toBe(passwords.length)
})

test('VER-15: every character of the alphabet is as frequent as the others, at every place', () => {
  const counts = new Map<string, number>()
  const firsts = new Map<string, number>()
  const passwords = 10_000
  for (let i = 0; i < passwords; i += 1) {
    const password = generatePassword(real)
    for (const character of password) counts.set(character, (counts.get(character) ?? 0) + 1)
    const first = password.charAt(0)
    firsts.set(first, (firsts.get(first) ?? 0) + 1)
  }
  // Chi-square with 61 degrees of freedom is above 140 once in 10 million runs. Without rejection it would be 1,300.
  expect(chiSquare(counts, passwords * 32)).toBeLessThan(140)
  expect(chiSquare(firsts, passwords)).toBeLessThan(140)
})

function chiSquare(counts: ReadonlyMap<string, number>, total: number): number {
  const expected = total / ALPHABET.length
  return [...ALPHABET].reduce(
    (sum, character) => sum + ((counts.get(character) ?? 0) - expected) ** 2 / expected,
    0,
  )
}

test('VER-15: bytes that would favour some characters are drawn again', () => {
  // 248 is the largest multiple of 62 in a byte.
  for (const rejected of [248, 249, 254, 255]) {
    const { deps, asked } = scripted([rejected], [0])
    expect(generatePassword(deps)).toBe('A'.repeat(32))
    expect(asked()).toBe(2)
  }
  const { deps, asked } = scripted([247])
  expect(generatePassword(deps)).toBe('9'.repeat(32))
  expect(asked()).toBe(1)
})

test('what a rejected byte leaves out comes from the next draw, in order', () => {
  const { deps, asked } = scripted([0, 255], [1])
  expect(generatePassword(deps)).toBe('A'.repeat(16) + 'B'.repeat(16))
  expect(asked()).toBe(2)
})

test('each byte below the limit stands for one character, four bytes for each', () => {
  const bytes = Array.from({ length: 248 }, (_, index) => index)
  const drawn = bytes.map((byte) => generatePassword(scripted([byte]).deps).charAt(0))
  for (const character of ALPHABET) expect(drawn.filter((each) => each === character)).toHaveLength(4)
})
