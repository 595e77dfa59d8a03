import {
  LEFT_TO_RIGHT,
  MAPPED_TO_NOTHING,
  NON_ASCII_SPACES,
  PROHIBITED,
  RAND_AL,
} from './stringprep-tables.ts'

type Has = (codePoint: number) => boolean

/** A table, read: first and last code points, in order. */
function tableOf(text: string): Has {
  let last = 0
  const ranges = text.split(' ').map((range) => {
    const [gap = '', more = '0'] = range.split('-')
    const first = last + Number.parseInt(gap, 36)
    last = first + Number.parseInt(more, 36)
    return [first, last] as const
  })
  return (codePoint) => ranges.some(([from, to]) => from <= codePoint && codePoint <= to)
}

const isSpace = tableOf(NON_ASCII_SPACES)
const isMappedToNothing = tableOf(MAPPED_TO_NOTHING)
const isProhibited = tableOf(PROHIBITED)
const isRandAl = tableOf(RAND_AL)
const isLeftToRight = tableOf(LEFT_TO_RIGHT)

/**
 * A password as SASLprep makes it (RFC 4013, a stored string: code points that Unicode 3.2 does not assign are
 * forbidden). Undefined when it is forbidden. As PostgreSQL does it (`src/common/saslprep.c`, `pg_saslprep`), which looks
 * for what is forbidden before it normalises and not after: a code point whose normal form alone is forbidden passes.
 * Pure ASCII it takes as it is, control characters included.
 */
export function saslprep(text: string): string | undefined {
  if (!text.isWellFormed()) return undefined
  if (Array.from(text).every((character) => codePointOf(character) < 0x80)) return text
  const mapped = Array.from(text).flatMap((character) => {
    const codePoint = codePointOf(character)
    if (isSpace(codePoint)) return [0x20]
    return isMappedToNothing(codePoint) ? [] : [codePoint]
  })
  if (mapped.length === 0 || mapped.some(isProhibited) || !isBidiSound(mapped)) return undefined
  return mapped
    .map((codePoint) => String.fromCodePoint(codePoint))
    .join('')
    .normalize('NFKC')
}

const codePointOf = (character: string): number => character.codePointAt(0) ?? 0

/** RFC 3454, section 6. */
function isBidiSound(codePoints: readonly number[]): boolean {
  if (!codePoints.some(isRandAl)) return true
  const [first = 0] = codePoints
  return !codePoints.some(isLeftToRight) && isRandAl(first) && isRandAl(codePoints.at(-1) ?? 0)
}
