import { expect, test } from 'vitest'
import {
  cutBytes,
  decodeData,
  encodeData,
  fromBase64,
  fromUtf8,
  toBase64,
  toMicroTimestamp,
  toTimestamp,
  utf8,
} from '../../src/core/text.ts'

test.each<[text: string, maxBytes: number, cut: string]>([
  ['', 0, ''],
  ['abc', 3, 'abc'],
  ['abcd', 3, 'abc'],
  ['abc', 0, ''],
  // Two bytes: the second would not fit.
  ['aé', 2, 'a'],
  ['aé', 3, 'aé'],
  ['éé', 3, 'é'],
  // Three bytes.
  ['€€', 5, '€'],
  ['€€', 6, '€€'],
  // Four bytes, two UTF-16 units: never half of it.
  ['😀😀', 7, '😀'],
  ['😀😀', 8, '😀😀'],
  ['a😀', 4, 'a'],
])('%j cut to %d bytes is %j', (text, maxBytes, cut) => {
  expect(cutBytes(text, maxBytes)).toBe(cut)
})

test.each(['a', 'é', '€', '😀', 'a😀é€'])(
  '%j repeated is never longer than asked, nor more than one character shorter',
  (unit) => {
    const text = unit.repeat(300)
    for (let maxBytes = 0; maxBytes <= 300; maxBytes += 1) {
      const cut = cutBytes(text, maxBytes)
      const bytes = Buffer.byteLength(cut)
      expect(text.startsWith(cut)).toBe(true)
      expect(cut.isWellFormed()).toBe(true)
      expect(bytes).toBeLessThanOrEqual(maxBytes)
      if (cut !== text) expect(bytes).toBeGreaterThan(maxBytes - 4)
    }
  },
)

test('a lone surrogate counts as the three bytes that it becomes', () => {
  expect(Buffer.byteLength(cutBytes('\ud800'.repeat(10), 9))).toBe(9)
})

test('a time is written in UTC to the second, cut and not rounded', () => {
  expect(toTimestamp(Date.UTC(2026, 9, 2, 9, 14, 7, 999))).toBe('2026-10-02T09:14:07Z')
  expect(toTimestamp(0)).toBe('1970-01-01T00:00:00Z')
})

test.each([
  [Date.UTC(2026, 9, 2, 9, 14, 7, 347), '2026-10-02T09:14:07.347000Z'],
  [Date.UTC(2026, 9, 2, 9, 14, 7, 0), '2026-10-02T09:14:07.000000Z'],
])('CLI-04: a MicroTime has exactly six decimals: %d is %s', (milliseconds, text) => {
  expect(toMicroTimestamp(milliseconds)).toBe(text)
  expect(toMicroTimestamp(milliseconds)).toMatch(/T\d\d:\d\d:\d\d\.\d{6}Z$/)
})

// RFC 4648, section 10.
test.each([
  ['', ''],
  ['f', 'Zg=='],
  ['fo', 'Zm8='],
  ['foo', 'Zm9v'],
  ['foob', 'Zm9vYg=='],
  ['fooba', 'Zm9vYmE='],
  ['foobar', 'Zm9vYmFy'],
])('%j in base64 is %j, and back', (text, base64) => {
  expect(toBase64(utf8(text))).toBe(base64)
  expect(encodeData(text)).toBe(base64)
  expect(decodeData(base64)).toBe(text)
})

test('every byte goes through base64 as Node encodes it', () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
  expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'))
  expect(fromBase64(toBase64(bytes))).toEqual(bytes)
})

test.each(['%', 'a', 'Zg==Zg==', 'Zm9_'])('%j is no base64', (text) => {
  expect(fromBase64(text)).toBeUndefined()
  expect(decodeData(text)).toBeUndefined()
})

test.each([
  ['a lone continuation byte', [0x80]],
  ['an overlong slash', [0xc0, 0xaf]],
  ['half of a surrogate pair', [0xed, 0xa0, 0x80]],
  ['a character that breaks off', [0xf0, 0x9f, 0x98]],
])('%s is no UTF-8', (_, bytes) => {
  expect(fromUtf8(Uint8Array.from(bytes))).toBeUndefined()
  expect(decodeData(toBase64(Uint8Array.from(bytes)))).toBeUndefined()
})

test('a byte order mark is a character like any other', () => {
  expect(fromUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61))).toBe('\ufeffa')
})

test('no value decodes to none', () => {
  expect(decodeData(undefined)).toBeUndefined()
})
