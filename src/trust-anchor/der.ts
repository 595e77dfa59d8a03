/**
 * DER (ITU-T X.690, sections 8 and 10): enough to see that bytes are exactly one encoding, and to look into it. What is no
 * DER is undefined, never guessed.
 */

export interface Element {
  /** The identifier octet, section 8.1.2: class, constructed or not, and number. */
  readonly tag: number
  readonly content: Uint8Array
  /** With tag and length. */
  readonly encoded: Uint8Array
}

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
} as const

const CONSTRUCTED = 0x20
/** Whether there are elements in it, rather than octets that are a value. */
export const isConstructed = (tag: number): boolean => (tag & CONSTRUCTED) !== 0

/** Section 8.1.2.4: a number over 30 follows in octets of its own. X.509 has none. */
const LONG_FORM = 0x1f
/** Real certificates stay under 15. */
const MAX_DEPTH = 32

/** The one element that these bytes are, all of them, with everything constructed in it being DER as well. */
export function oneElement(bytes: Uint8Array): Element | undefined {
  const head = headAt(bytes, 0, bytes.length)
  if (head === undefined || head.end !== bytes.length) return undefined
  return isWhole(bytes, head, 0) ? elementOf(bytes, 0, head) : undefined
}

/** More than any certificate has anywhere: a view of each of half a million would take all that a worker has. */
const MAX_CHILDREN = 1000

/** What is inside, in order. Undefined when something is left over, or when there are too many. */
export function childrenOf({ content }: Element): readonly Element[] | undefined {
  const children: Element[] = []
  for (let at = 0; at < content.length; ) {
    const head = headAt(content, at, content.length)
    if (head === undefined || children.length === MAX_CHILDREN) return undefined
    children.push(elementOf(content, at, head))
    at = head.end
  }
  return children
}

/** The first of what is inside, so many at most. */
export function firstOf({ content }: Element, count: number): readonly Element[] {
  const children: Element[] = []
  for (let at = 0; children.length < count; ) {
    const head = headAt(content, at, content.length)
    if (head === undefined) break
    children.push(elementOf(content, at, head))
    at = head.end
  }
  return children
}

/**
 * Whether `is` says so of one of the elements that these bytes are, whole DER, or of one in them. Those with less content
 * than so many octets are passed over, and with them what they hold.
 */
export function someElement(bytes: Uint8Array, octets: number, is: (element: Element) => boolean): boolean {
  for (let at = 0; at < bytes.length; ) {
    const head = headAt(bytes, at, bytes.length)
    if (head === undefined) return false
    if (head.end - head.begin >= octets) {
      const element = elementOf(bytes, at, head)
      if (is(element)) return true
      if (isConstructed(head.tag) && someElement(element.content, octets, is)) return true
    }
    at = head.end
  }
  return false
}

/** By positions, without a view of every element: somebody may have put a million of them into one certificate. */
function isWhole(bytes: Uint8Array, { tag, begin, end }: Head, depth: number): boolean {
  if (!isConstructed(tag)) return true
  if (depth === MAX_DEPTH) return false
  for (let at = begin; at < end; ) {
    const head = headAt(bytes, at, end)
    if (head === undefined || !isWhole(bytes, head, depth + 1)) return false
    at = head.end
  }
  return true
}

interface Head {
  readonly tag: number
  /** Where the content begins, and where it ends. */
  readonly begin: number
  readonly end: number
}

const elementOf = (bytes: Uint8Array, at: number, { tag, begin, end }: Head): Element => ({
  tag,
  content: bytes.subarray(begin, end),
  encoded: bytes.subarray(at, end),
})

/** Undefined unless a whole element is between `at` and `limit`. */
function headAt(bytes: Uint8Array, at: number, limit: number): Head | undefined {
  const tag = bytes[at]
  const first = bytes[at + 1]
  if (tag === undefined || first === undefined || (tag & LONG_FORM) === LONG_FORM) return undefined
  const octets = first < SHORT ? 0 : first - SHORT
  const length = first < SHORT ? first : longLength(bytes, at + 2, octets)
  const begin = at + 2 + octets
  if (length === undefined || begin + length > limit) return undefined
  return { tag, begin, end: begin + length }
}

/** Section 8.1.3.4: lengths under this are the octet itself. */
const SHORT = 0x80
const MAX_LENGTH_OCTETS = 4

/** Section 10.1: definite, and in as few octets as will do. */
function longLength(bytes: Uint8Array, at: number, octets: number): number | undefined {
  if (octets === 0 || octets > MAX_LENGTH_OCTETS || bytes[at] === 0) return undefined
  let length = 0
  for (let i = at; i < at + octets; i += 1) length = length * 256 + (bytes[i] ?? 0)
  return length < SHORT ? undefined : length
}
