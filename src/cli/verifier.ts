import { createHash, createHmac, pbkdf2Sync, timingSafeEqual } from 'node:crypto'

const SCRAM = /^SCRAM-SHA-256\$(\d+):([^$:]+)\$([^$:]+):([^$:]+)$/

/**
 * Whether PostgreSQL would let this password in: RFC 5802, section 3, with SHA-256 (RFC 7677). Written a second time, on
 * Node's own OpenSSL, so that it can contradict `src/formats`. False for a value that is no verifier.
 */
export function scramAccepts(verifier: string, password: string): boolean {
  const [, iterations, salt = '', storedKey = '', serverKey = ''] = SCRAM.exec(verifier) ?? []
  if (iterations === undefined) return false
  const salted = pbkdf2Sync(password, Buffer.from(salt, 'base64'), Number(iterations), 32, 'sha256')
  const hmac = (text: string) => createHmac('sha256', salted).update(text).digest()
  const clientProof = createHash('sha256').update(hmac('Client Key')).digest()
  return isSame(clientProof, storedKey) && isSame(hmac('Server Key'), serverKey)
}

function isSame(computed: Buffer, base64: string): boolean {
  const stored = Buffer.from(base64, 'base64')
  return stored.length === computed.length && timingSafeEqual(stored, computed)
}
