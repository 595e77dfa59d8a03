import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { saslprep } from '../../src/formats/saslprep.ts'

/** RFC 4013, section 3, whose sixth example is pure ASCII: PostgreSQL takes that as it is (`pg_saslprep`). */
test.each([
  ['I\u00adX', 'IX', 'a soft hyphen is mapped to nothing'],
  ['user', 'user', 'nothing to do'],
  ['USER', 'USER', 'case stays'],
  ['\u00aa', 'a', 'NFKC'],
  ['\u2168', 'IX', 'NFKC'],
  ['\u0627\u0031', undefined, 'from right to left, and ends in a digit'],
])('%j becomes %j: %s', (text, prepared, _why) => {
  expect(saslprep(text)).toBe(prepared)
})

/** PostgreSQL's `src/test/authentication/t/002_saslprep.pl` logs in with these. */
test.each([
  ['foo\u0007bar', 'foo\u0007bar'],
  ['foo\u0627\u0031bar', undefined],
])('%j is %j to PostgreSQL', (text, prepared) => {
  expect(saslprep(text)).toBe(prepared)
})

describe('RFC 3454, appendices', () => {
  test.each([
    ['C.1.2: spaces become a space', 'a\u00a0b\u3000c', 'a b c'],
    ['B.1: a byte order mark goes', '\ufeffaé', 'aé'],
    ['B.1: variation selectors go', 'é\ufe0f', 'é'],
    ['C.2.2: a control character that is not ASCII', 'a\u0085', undefined],
    ['C.2.1: one of ASCII beside another letter', 'é\u007f', undefined],
    ['C.3: private use', '\ue000', undefined],
    ['C.4: a noncharacter', '\ufdd0', undefined],
    ['C.4: another', '\u{1ffff}', undefined],
    ['C.5: half of a pair', 'a\ud800', undefined],
    ['C.6: a replacement character', '\ufffd', undefined],
    ['C.7: ideographic description', '\u2ff0', undefined],
    ['C.8: a change of direction', 'é\u200e', undefined],
    ['C.9: tags', 'é\u{e0001}', undefined],
    ['A.1: of a later Unicode than 3.2 (U+0221)', '\u0221', undefined],
    ['A.1: of a later Unicode than 3.2 (an emoji)', '\u{1f600}', undefined],
    ['D.1: right to left', '\u0627\u0628', '\u0627\u0628'],
    ['D.2: both directions', '\u0627a\u0628', undefined],
    ['nothing is left', '\u00ad', undefined],
    ['beyond the first plane', '\u{1d400}', 'A'],
    ['a letter and its accent become one', 'e\u0301', 'é'],
  ])('%s', (_what, text, prepared) => {
    expect(saslprep(text)).toBe(prepared)
  })
})

/**
 * One bit for each code point of the first plane from U+0080 on, compared with the module `stringprep` of Python 3, which is
 * made from the tables of the RFC by others.
 */
describe('every code point', () => {
  const digestOf = (isAllowed: (character: string) => boolean): string => {
    const bits = Array.from({ length: 0x10000 - 0x80 }, (_, index) =>
      isAllowed(String.fromCodePoint(index + 0x80)) ? '1' : '0',
    )
    return createHash('sha256').update(bits.join('')).digest('hex')
  }

  test('alone: C.1.2, or neither B.1 nor one of C.2 to C.9 nor A.1', () => {
    expect(digestOf((character) => saslprep(character) !== undefined)).toBe(
      '8883de876a2ae6ac8f7603c9eddc4644ab9e2087351baed9eec3b8ddfc03be0e',
    )
  })

  test('between letters that are written from right to left: not D.2 either', () => {
    expect(digestOf((character) => saslprep(`\u0627${character}\u0627`) !== undefined)).toBe(
      '525358f0733bba57efa1f1951b112f2732929c52d1d0b287a9a7663674923510',
    )
  })
})
