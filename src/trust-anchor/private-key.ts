import { byteText } from './byte-text.ts'
import { childrenOf, oneElement, TAG } from './der.ts'

/** What might be a private key, in any spelling and in DER. Texts are those of `byteText`. */

/** Of three dashes on: RFC 7468 has five, RFC 4716 four. The class has no dash in it, so that a run is looked at once. */
const PRIVATE_KEY = /---BEGIN[A-Z0-9]*?PRIVATEKEY/i
const UNSQUEEZED = /[^A-Za-z0-9-]+/g

/** In UTF-8, what word processors make of dashes (U+2010 to U+2015, U+2212, U+FE58, U+FE63, U+FF0D). */
const DASHES = /\u00e2\u0080[\u0090-\u0095]|\u00e2\u0088\u0092|\u00ef\u00b9[\u0098\u00a3]|\u00ef\u00bc\u008d/g
/** U+212A, the sign of the kelvin: without regard to case it is a K in Unicode, and so to Go's `(?i)`. */
const KELVIN = /\u00e2\u0084\u00aa/g

/**
 * Whether there is the head of a private key anywhere, in any spelling: PKCS #1, PKCS #8, SEC 1, OpenSSH, SSH2, PGP. What
 * is neither letter, digit nor dash does not count, so that white space, line ends, zero bytes (UTF-16 and UTF-32 have
 * them), byte order marks and invisible characters in the middle of it hide nothing.
 */
export const holdsPrivateKey = (text: string): boolean =>
  PRIVATE_KEY.test(text.replace(DASHES, '-').replace(KELVIN, 'k').replace(UNSQUEEZED, ''))

/** Versions of RFC 8017 (A.1.2), RFC 5958 (section 2) and RFC 5915 (section 3): 0, 1 and nothing over it. */
const VERSIONS: readonly string[] = ['\x00', '\x01']

/**
 * Whether these bytes are a private key in DER that is not encrypted: PKCS #1, PKCS #8 or SEC 1. All three are a SEQUENCE
 * that begins with a version, and nothing that somebody takes for a certificate does: a certificate, a request and a public key
 * begin with another SEQUENCE, and PKCS #12 has version 3.
 */
export function isPrivateKey(der: Uint8Array): boolean {
  const whole = oneElement(der)
  const [version] = (whole?.tag === TAG.sequence && childrenOf(whole)) || []
  return version?.tag === TAG.integer && VERSIONS.includes(byteText(version.content))
}
