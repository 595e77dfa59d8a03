import { execFileSync } from 'node:child_process'
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'

/** Verifiers by OpenSSL, through `node:crypto` or its command, and by the system's crypt(3). They share nothing with `src/formats`, so as to check it. */

/** RFC 5802, section 3, as PostgreSQL stores it. */
export function scramSha256(password: string, salt: Uint8Array = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, 4096, 32, 'sha256')
  const storedKey = createHash('sha256').update(hmac(salted, 'Client Key')).digest('base64')
  const serverKey = hmac(salted, 'Server Key').toString('base64')
  return `SCRAM-SHA-256$4096:${Buffer.from(salt).toString('base64')}$${storedKey}:${serverKey}`
}

const hmac = (key: Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** What MariaDB's `PASSWORD()` answers. */
export function mysqlNative(password: string): string {
  const once = createHash('sha1').update(password).digest()
  return `*${createHash('sha1').update(once).digest('hex').toUpperCase()}`
}

/** What ClickHouse takes as `password_sha256_hex`. */
export const sha256 = (password: string): string => createHash('sha256').update(password).digest('hex')

/** What RabbitMQ takes as `password_hash`. */
export function rabbitmqSha256(password: string, salt: Uint8Array = randomBytes(4)): string {
  const digest = createHash('sha256').update(salt).update(password).digest()
  return Buffer.concat([salt, digest]).toString('base64')
}

/** A rule of Redis' ACL. */
export const redisAcl = (password: string): string => `#${sha256(password)}`

/** The output of a program of the system. */
const outputOf = (program: string, args: readonly string[], input = ''): string =>
  execFileSync(program, args, { input, encoding: 'utf8' }).trim()

/** OpenSSL's own. Of its standard input it would take a line only. */
export const apr1 = (password: string): string => outputOf('openssl', ['passwd', '-apr1', password])
export const sha512Crypt = (password: string): string => outputOf('openssl', ['passwd', '-6', password])

/** By crypt(3), which is libxcrypt on Debian. Perl is part of every Debian. */
export function bcrypt(password: string): string {
  const salt = randomBytes(16).toString('hex').slice(0, 21)
  const program = 'undef $/; print crypt(<STDIN>, $ARGV[0])'
  return outputOf('perl', ['-e', program, `$2b$10$${salt}u`], password)
}
