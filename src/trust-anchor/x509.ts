import { type CertificateFacts, factsOf, isSame } from './certificate-fields.ts'

export type ReadCertificate = (der: Uint8Array) => CertificateFacts | undefined

/**
 * A reader that answers undefined for what is not exactly one certificate in DER (RFC 5280, section 4.1). It asks twice:
 * our own walk accounts for every byte and finds the facts, alike on every runtime; the runtime's library, which reads for most
 * clients as well (OpenSSL, or BoringSSL in workerd), must make sense of it and write the same bytes again. By itself that
 * library passes over what follows a certificate, and OpenSSL takes BER.
 *
 * Imported when it is needed: a worker without the flag for `node:crypto` starts and mints all the same.
 */
export async function certificateReader(): Promise<ReadCertificate> {
  const { X509Certificate } = await import('node:crypto')
  const isKnown = (der: Uint8Array): boolean => {
    try {
      return isSame(new X509Certificate(der).raw, der)
    } catch {
      return false
    }
  }
  return (der) => {
    const facts = factsOf(der)
    return facts !== undefined && isKnown(der) ? facts : undefined
  }
}
