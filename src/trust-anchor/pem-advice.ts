import { fromBase64 } from '../core/text.ts'
import { byteText } from './byte-text.ts'

/** What is wrong with a source's value and what to do about it, for an Event: constant words, never those of the value. */

export const SOMETHING_BEHIND =
  'something follows the last certificate: remove it, or move it before the certificates'

/** What a line may say in place of `CERTIFICATE`, and what to do then. */
const OTHER_LABELS: readonly (readonly [label: string, advice: string])[] = [
  ['TRUSTED CERTIFICATE', "is in OpenSSL's own form: write it with `openssl x509 -in FILE`"],
  ['X509 CERTIFICATE', 'has an old label: write it with `openssl x509 -in FILE`'],
  ['CERTIFICATE REQUEST', 'is a request and no certificate: use what the authority answered'],
  ['NEW CERTIFICATE REQUEST', 'is a request and no certificate: use what the authority answered'],
  ['PKCS7', 'is PKCS #7: write the certificates with `openssl pkcs7 -print_certs -in FILE`'],
  ['CMS', 'is CMS: write the certificates with `openssl pkcs7 -print_certs -in FILE`'],
  ['X509 CRL', 'is a revocation list: leave only certificates'],
  ['PUBLIC KEY', 'is a public key and no certificate: leave only certificates'],
  ['RSA PUBLIC KEY', 'is a public key and no certificate: leave only certificates'],
  ['EC PARAMETERS', 'is EC PARAMETERS, which belong to a key: leave only certificates'],
  ['DH PARAMETERS', 'is DH PARAMETERS, which belong to a server: leave only certificates'],
]

const LABEL = /^-----BEGIN ([A-Z0-9]+(?: [A-Z0-9]+)*)-----[ \t]*$/
const SPELT =
  'the line must be exactly -----BEGIN CERTIFICATE-----, and the one after it -----END CERTIFICATE-----'

export function whyNoBegin(line: string): string {
  if (/^[ \t]/.test(line)) return 'is indented: markers are to be at the start of a line'
  if (!line.startsWith('-')) return 'has something invisible before its first dash: write that line anew'
  if (/^-+[ \t]*end/i.test(line))
    return 'has an end and no beginning, or its beginning is not on a line of its own'
  const label = LABEL.exec(line)?.[1]
  const known = OTHER_LABELS.find(([other]) => other === label)
  if (known) return known[1]
  return label === undefined ? `begins wrongly: ${SPELT}` : 'is no CERTIFICATE: leave only certificates'
}

/** `line`: the next with dashes; undefined when there is none. */
export function whyNoEnd(line: string | undefined): string {
  if (line === undefined) return 'has no end: it may have been cut off'
  if (/^[ \t]*-+[ \t]*begin/i.test(line)) return 'has no end before the next one begins'
  if (/^-----END CERTIFICATE-----/.test(line)) return 'has something behind its end, on the same line'
  if (/^[ \t]*-+[ \t]*end/i.test(line)) return 'does not end with -----END CERTIFICATE-----'
  return 'is no base64'
}

export const whyNoBase64 = (body: readonly string[]): string =>
  body.some((line) => line.includes(':'))
    ? 'has headers in it, which certificates do not have: leave only base64 between the markers'
    : 'is no base64, or not all of it: copy the certificate again'

const DER = 'it is binary (DER), not PEM: convert it with `openssl x509 -inform der -in FILE`'

/** PFX of RFC 7292, section 4, begins with version 3. */
const PKCS12_VERSION = '\x02\x01\x03'
/** 1.2.840.113549.1.7.2, signedData: RFC 2315, section 14. */
const PKCS7_SIGNED_DATA = '\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02'
const JAVA_KEYSTORE = '\xfe\xed\xfe\xed'
const BYTE_ORDER_MARKS: readonly string[] = ['\xff\xfe', '\xfe\xff']
/** The first dash, without a byte order mark. */
const DASHES: readonly string[] = ['-\0', '\0-']

/** Of a file that is no text, by how it begins. */
function whyBinary(text: string): string | undefined {
  const two = text.slice(0, 2)
  if (BYTE_ORDER_MARKS.includes(two) || DASHES.includes(two)) return 'it is UTF-16: save it as plain text'
  if (text.startsWith(JAVA_KEYSTORE))
    return 'it is a Java keystore: write the certificates with `keytool -exportcert -rfc -keystore FILE`'
  // A SEQUENCE of more than 127 bytes, or (BER) without a length.
  if (!/^0[\u0080-\u0084]/.test(text)) return undefined
  const behindLength = text.slice(2 + (text.charCodeAt(1) - 0x80))
  if (behindLength.startsWith(PKCS12_VERSION))
    return 'it is PKCS #12: write the certificates with `openssl pkcs12 -nokeys -in FILE`'
  if (behindLength.startsWith(PKCS7_SIGNED_DATA))
    return 'it is PKCS #7: write the certificates with `openssl pkcs7 -inform der -print_certs -in FILE`'
  return DER
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** Of a text of `byteText` in which there is no block at all. */
export function whyNoPem(text: string): string {
  const binary = whyBinary(text)
  if (binary !== undefined) return binary
  const inner = fromBase64Text(text)?.text
  if (inner?.includes('-----BEGIN')) return 'it is base64 of PEM: it was encoded once too often'
  const innerBinary = whyBinary(inner ?? '')
  if (innerBinary !== undefined)
    return innerBinary === DER
      ? 'it is a certificate without -----BEGIN CERTIFICATE----- around it'
      : innerBinary
  if (/-----BEGIN [A-Z0-9 ]+-----\\[rn]/.test(text))
    return 'its line ends are written as \\n: it was quoted once too often'
  return 'it holds no line -----BEGIN CERTIFICATE-----'
}

/** What is behind a base64 that is nothing else: as bytes, and as text a character a byte. */
export function fromBase64Text(
  text: string,
): { readonly bytes: Uint8Array; readonly text: string } | undefined {
  const joined = text.replace(/\s+/g, '')
  const bytes = BASE64.test(joined) ? fromBase64(joined) : undefined
  return bytes && { bytes, text: byteText(bytes) }
}
