import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'

/** MongoDB's own numbers: `src/mongo/crypto/sha256_block.h` less four bytes, and the parameter `scramSHA256IterationCount`. */
const SALT_BYTES = 28
const ITERATIONS = 15_000

/** What MongoDB keeps of a password in `system.users`, under the name of the mechanism. */
export interface ScramCredentials {
  readonly iterationCount: number
  readonly salt: string
  readonly storedKey: string
  readonly serverKey: string
}

/**
 * The `credentials` document of a user (RFC 5802, section 3, with SHA-256 as in RFC 7677). Passwords of printable ASCII
 * only, which SASLprep (RFC 4013) leaves as they are: throws a TypeError for others.
 */
export function scramDocument(
  password: string,
  salt: Uint8Array = randomBytes(SALT_BYTES),
  iterationCount = ITERATIONS,
): { readonly 'SCRAM-SHA-256': ScramCredentials } {
  if (!/^[\x20-\x7e]+$/.test(password)) throw new TypeError('printable ASCII only')
  const salted = pbkdf2Sync(password, salt, iterationCount, 32, 'sha256')
  const clientKey = createHmac('sha256', salted).update('Client Key').digest()
  return {
    'SCRAM-SHA-256': {
      iterationCount,
      salt: Buffer.from(salt).toString('base64'),
      storedKey: createHash('sha256').update(clientKey).digest('base64'),
      serverKey: createHmac('sha256', salted).update('Server Key').digest('base64'),
    },
  }
}
