import { byteText } from './byte-text.ts'
import { type Element, firstOf, isConstructed, oneElement, someElement, TAG } from './der.ts'
import { fromBase64Text } from './pem-advice.ts'

/** What might be a private key, in any spelling and in DER. Texts are those of `byteText`. */

/**
 * Of three dashes on: RFC 7468 has five, RFC 4716 four. The class has no dash in it, so that a run is looked at once. Between
 * the last words there may be what is left of a space that was escaped: `%20`, `\u0020`, `&nbsp;`, `%C2%A0`.
 */
const PRIVATE_KEY = /---BEGIN[A-Z0-9]*?PRIVATE[ABCNPSUX0-9]{0,9}KEY/i
const UNSQUEEZED = /[^A-Za-z0-9-]+/g

/** In UTF-8, what word processors make of dashes: U+2010 to U+2012, U+2212, U+FE58, U+FE63, U+FF0D of one each. */
const DASHES = /\u00e2\u0080[\u0090-\u0092]|\u00e2\u0088\u0092|\u00ef\u00b9[\u0098\u00a3]|\u00ef\u00bc\u008d/g
/** U+2013 to U+2015, which stand for two and more. One by itself is a dash of a sentence, which may begin with any words. */
const LONG_DASHES = /\u00e2\u0080[\u0093-\u0095]/g
/** U+FF21 to U+FF3A and U+FF41 to U+FF5A, letters as wide as Chinese ones: the last octet counts them in its lower five bits. */
const WIDE_LETTERS = /\u00ef(?:\u00bc[\u00a1-\u00ba]|\u00bd[\u0081-\u009a])/g
const toNarrow = (letter: string): string => String.fromCharCode((letter.charCodeAt(2) & 0x1f) + 0x40)
/** U+212A, the sign of the kelvin: without regard to case it is a K in Unicode, and so to Go's `(?i)`. */
const KELVIN = /\u00e2\u0084\u00aa/g

/**
 * Whether there is the head of a private key anywhere, in any spelling: PKCS #1, PKCS #8, SEC 1, OpenSSH, SSH2, PGP. What
 * is neither letter, digit nor dash does not count, so that white space, line ends, zero bytes (UTF-16 and UTF-32 have
 * them), byte order marks and invisible characters in the middle of it hide nothing.
 */
export const holdsPrivateKey = (text: string): boolean =>
  PRIVATE_KEY.test(
    text
      .replace(DASHES, '-')
      .replace(LONG_DASHES, '--')
      .replace(WIDE_LETTERS, toNarrow)
      .replace(KELVIN, 'k')
      .replace(UNSQUEEZED, ''),
  )

/** Versions of RFC 8017 (A.1.2), RFC 5958 (section 2) and RFC 5915 (section 3): 0, 1 and nothing over it. */
const VERSIONS: readonly string[] = ['\x00', '\x01']
/** In octets. A shorter modulus is no secret: it takes a second to factor. */
const SHORTEST_MODULUS = 16

/**
 * Whether this is a private key that is not encrypted: PKCS #8, SEC 1 or PKCS #1 (and OpenSSL's form for DSA, which is
 * alike). All are a SEQUENCE that begins with a version. So do other things in certificates, therefore what follows counts:
 * BasicConstraints of `CA:FALSE, pathlen:0` end there, numbers of notices are short (RFC 5280, sections 4.2.1.9 and
 * 4.2.1.4), and behind the version of a curve there are two SEQUENCEs (RFC 3279, section 2.3.5).
 */
function isKey(element: Element): boolean {
  const [version, next, third] = element.tag === TAG.sequence ? firstOf(element, 3) : []
  if (version?.tag !== TAG.integer || !VERSIONS.includes(byteText(version.content))) return false
  if (next?.tag === TAG.sequence) return third?.tag === TAG.octetString
  if (next?.tag === TAG.integer) return third?.tag === TAG.integer && next.content.length >= SHORTEST_MODULUS
  return next?.tag === TAG.octetString
}

/** Of the content of one, in octets: SEC 1 with 112 bits, the shortest curve that has a name (SEC 2, section 2.1), has 19. */
const SHORTEST_KEY = 19
/** Strings in strings, or base64 of base64. Real certificates have two or three, and more would be there to hide something. */
const MAX_WRAPPED = 10

/**
 * Whether there is a private key that is not encrypted in these bytes: they are one in DER, or have one as a part or in a
 * string of whatever kind, or are base64 of all that or of PEM.
 */
export function hidesPrivateKey(bytes: Uint8Array, wrapped = 0): boolean {
  if (wrapped > MAX_WRAPPED) return true
  const isHere = (element: Element): boolean =>
    isConstructed(element.tag) ? isKey(element) : hidesPrivateKey(octetsOf(element), wrapped + 1)
  if (oneElement(bytes) !== undefined && someElement(bytes, SHORTEST_KEY, isHere)) return true
  const inner = fromBase64Text(byteText(bytes))
  return inner !== undefined && (holdsPrivateKey(inner.text) || hidesPrivateKey(inner.bytes, wrapped + 1))
}

/** Of a BIT STRING, whatever tag it has, without the octet that counts the bits that are left over: of a key none are. */
const octetsOf = ({ tag, content }: Element): Uint8Array =>
  tag === TAG.bitString || content[0] === 0 ? content.subarray(1) : content
