import { expect, test } from 'vitest'
import { fingerprint } from '../../src/core/fingerprint.ts'

// draft-eastlake-fnv, appendix "A Few Test Vectors": FNV-1a of 64 bits.
test.each([
  ['', 'cbf29ce484222325'],
  ['a', 'af63dc4c8601ec8c'],
  ['foobar', '85944171f73967e8'],
])('of %j is %s', (text, expected) => {
  expect(fingerprint(text)).toBe(expected)
})

test('is of the UTF-8 of a text, in sixteen digits', () => {
  expect(fingerprint('é')).not.toBe(fingerprint('e\u0301'))
  for (let n = 0; n < 500; n += 1) expect(fingerprint(String(n))).toMatch(/^[0-9a-f]{16}$/)
})
