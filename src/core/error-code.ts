/** Errors of a connection that was never made, or of credentials that could not be read or made. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'EACCES',
  'NO_CREDENTIALS',
])

/**
 * How OpenSSL and Node name a server certificate that we do not trust (X509_V_ERR_*, `ERR_TLS_CERT_ALTNAME_INVALID`):
 * found before the first byte of a request leaves. Not so an alert about *our* certificate: with TLS 1.3 it may come
 * after the request (RFC 8446, appendix E.1.2).
 */
const UNTRUSTED =
  /^(CERT_|ERR_TLS_CERT_|UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH$)/

/** The code of an error, or of what caused it; undefined when there is none that may be shown to anybody. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const code = 'code' in error ? error.code : undefined
  if (typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code)) return code
  return codeOf(error.cause)
}

/** Whether the certificate of the server is what hindered. */
export const isUntrusted = (code: string): boolean => UNTRUSTED.test(code)

/** Marks an error of a request as one that came before there was a connection for it. */
export const markNeverSent = (error: unknown): Error =>
  Object.assign(error instanceof Error ? error : new Error('not sent'), { neverSent: true })

/** Whether a request that failed with this error has certainly not left: it is marked so, or its code says so. */
export function wasNeverSent(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = codeOf(error)
  if ('neverSent' in error && error.neverSent === true) return true
  return code !== undefined && (NEVER_SENT.has(code) || isUntrusted(code))
}
