import { byteText } from './byte-text.ts'
import { childrenOf, oneElement, TAG } from './der.ts'
import { fromBase64Text } from './pem-advice.ts'

/**
 * Whether these bytes, or what they are the base64 of, are a private key behind a password, or a keystore, which nearly
 * always has one in it. Nobody here can look inside; whether a keystore holds certificates alone is not known without its password.
 */
export function holdsLockedKey(value: Uint8Array): boolean {
  const inner = fromBase64Text(byteText(value))?.bytes
  return [value, ...(inner === undefined ? [] : [inner])].some(
    (each) => isKeystore(each) || isEncryptedKey(each),
  )
}

/** JKS (`sun.security.provider.JavaKeyStore`) and JCEKS (`com.sun.crypto.provider.JceKeyStore`). */
const JAVA_KEYSTORES: readonly string[] = ['\xfe\xed\xfe\xed', '\xce\xce\xce\xce']
/** A PFX begins with version 3: RFC 7292, section 4. */
const PKCS12_VERSION = '\x02\x01\x03'
/** More than is looked at. */
const HEAD = 16

/** PKCS #12 in BER as well: its SEQUENCE may be without a length. */
function isKeystore(bytes: Uint8Array): boolean {
  const head = byteText(bytes.subarray(0, HEAD))
  if (JAVA_KEYSTORES.some((magic) => head.startsWith(magic))) return true
  const moreOctets = Math.max(head.charCodeAt(1) - 0x80, 0)
  return head.startsWith('0') && head.startsWith(PKCS12_VERSION, 2 + moreOctets)
}

/**
 * EncryptedPrivateKeyInfo (RFC 5958, section 3): how it is encrypted, and an OCTET STRING. In its place a certificate, a
 * request and a revocation list have a SEQUENCE, and a public key has a BIT STRING.
 */
function isEncryptedKey(der: Uint8Array): boolean {
  const whole = oneElement(der)
  const [algorithm, data] = (whole?.tag === TAG.sequence && childrenOf(whole)) || []
  return algorithm?.tag === TAG.sequence && data?.tag === TAG.octetString
}
