import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Whether there is a certificate in it to trust. Those around it that cannot be read are passed over, as by Go's `x509`. */
export const hasCertificate = (pem: string): boolean =>
  (pem.match(CERTIFICATE) ?? []).some((block) => succeeds(() => new X509Certificate(block)))

/** Whether a client can show this certificate and prove it with this key. A key with a passphrase is none. */
export const isPair = (cert: string, key: string): boolean =>
  succeeds(() => {
    createSecureContext({ cert, key })
    // OpenSSL has room for a key of each type, and would take one of another.
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) throw new Error('not its key')
  })

/** What is thrown by either may quote what was read. */
function succeeds(attempt: () => unknown): boolean {
  try {
    attempt()
    return true
  } catch {
    return false
  }
}
