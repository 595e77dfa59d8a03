import { fromBase64, toBase64 } from '../core/text.ts'
import { SOMETHING_BEHIND, whyNoBase64, whyNoBegin, whyNoEnd } from './pem-advice.ts'

/** The DER of each block in order, or words for a person about the first thing that is wrong. */
export type Blocks =
  | { readonly ok: true; readonly ders: readonly Uint8Array[] }
  | { readonly ok: false; readonly why: string }

const wrong = (why: string): Blocks => ({ ok: false, why })

const BEGIN = '-----BEGIN CERTIFICATE-----'
const END = '-----END CERTIFICATE-----'
const COLUMNS = /.{1,64}/g

/**
 * The one way in which certificates are written (RFC 7468, section 5): nothing but these bytes, as base64 in lines of 64,
 * ended by LF.
 */
export const toPem = (ders: readonly Uint8Array[]): string =>
  ders.map((der) => [BEGIN, ...(toBase64(der).match(COLUMNS) ?? []), END, ''].join('\n')).join('')

/**
 * Four dashes or more and a word at the start of a line: meant as a marker, whatever else is wrong with it. Before them there may
 * be what nobody sees: white space and, in UTF-8, U+0080 to U+00A0, U+00AD, U+200B to U+200F, U+2028 to U+202F, U+2060 to
 * U+206F, U+3000 and U+FEFF. Not zero bytes, as UTF-16 has them.
 */
const MARKER =
  /^(?:[ \t\v\f\x7f]|\xc2[\x80-\xa0\xad]|\xe2(?:\x80[\x8b-\x8f\xa8-\xaf]|\x81[\xa0-\xaf])|\xe3\x80\x80|\xef\xbb\xbf)*-{4,}[ \t]*(BEGIN|END)(?![a-z])/i
const isBlank = (text: string): boolean => /^[ \t\v\f]*$/.test(text)
const isExactly = (line: string, marker: string): boolean =>
  line.startsWith(marker) && isBlank(line.slice(marker.length))
/** Of a file that was put behind another. As `byteText` has it. */
const BYTE_ORDER_MARK = /^\u00ef\u00bb\u00bf/

/**
 * The blocks of a text of `byteText`. Stricter than RFC 7468 wants parsers to be, so that what is published is what the
 * author of the source meant: every block counts, and one that does not decode refuses all. Text before and between blocks
 * is passed over (section 2), and so is a marker with a `#` or anything else before it in its line; behind the last block
 * there may be nothing, as what stands there is often a block that broke off.
 */
export function blocksIn(text: string): Blocks {
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.replace(BYTE_ORDER_MARK, ''))
  const ders: Uint8Array[] = []
  let behind = 0
  for (let at = nextMarker(lines, 0); at < lines.length; at = nextMarker(lines, behind)) {
    const which = `block ${ders.length + 1}`
    const begin = lines[at] ?? ''
    if (!isExactly(begin, BEGIN)) return wrong(`${which} ${whyNoBegin(begin)}`)
    const end = nextDashes(lines, at + 1)
    if (!isExactly(lines[end] ?? '', END)) return wrong(`${which} ${whyNoEnd(lines[end])}`)
    const body = lines.slice(at + 1, end)
    const der = decoded(body)
    if (der === undefined) return wrong(`${which} ${whyNoBase64(body)}`)
    ders.push(der)
    behind = end + 1
  }
  if (ders.length > 0 && !lines.slice(behind).every(isBlank)) return wrong(SOMETHING_BEHIND)
  return { ok: true, ders }
}

const nextMarker = (lines: readonly string[], from: number): number =>
  indexFrom(lines, from, (line) => MARKER.test(line))

const nextDashes = (lines: readonly string[], from: number): number =>
  indexFrom(lines, from, (line) => line.includes('----'))

function indexFrom(lines: readonly string[], from: number, is: (line: string) => boolean): number {
  for (let at = from; at < lines.length; at += 1) if (is(lines[at] ?? '')) return at
  return lines.length
}

/** White space is passed over (section 3); padding is not to be missing, nor are bits to be left over (RFC 4648, section 3.5). */
function decoded(body: readonly string[]): Uint8Array | undefined {
  const base64 = body.join('').replace(/[ \t\v\f]+/g, '')
  const bytes = base64 === '' ? undefined : fromBase64(base64)
  return bytes !== undefined && toBase64(bytes) === base64 ? bytes : undefined
}
