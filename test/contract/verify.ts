import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'
import { apr1, bcrypt, shaCrypt } from './crypt.ts'

/** Whether a stored value accepts a password, computed with `node:crypto` alone: nothing of `src/formats` is in it. */
export function accepts(stored: string, password: string): boolean {
  if (stored.startsWith('SCRAM-SHA-256$')) return acceptsScram(stored, password)
  if (/^\*[0-9A-F]{40}$/.test(stored)) {
    const once = createHash('sha1').update(password).digest()
    return stored === `*${createHash('sha1').update(once).digest('hex').toUpperCase()}`
  }
  if (/^[0-9a-f]{64}$/.test(stored)) return stored === createHash('sha256').update(password).digest('hex')
  if (/^#[0-9a-f]{64}$/.test(stored)) return accepts(stored.slice(1), password)
  if (/^[A-Za-z0-9+/]{48}$/.test(stored)) return acceptsRabbitmq(Buffer.from(stored, 'base64'), password)
  if (stored.startsWith('0x244124')) return acceptsMysql(Buffer.from(stored.slice(2), 'hex'), password)
  const [, scheme, salt = ''] = stored.split('$')
  if (scheme === 'apr1') return stored === apr1(password, salt)
  if (scheme === '2b') return stored === bcrypt(password, stored)
  if (scheme === '6') return stored === `$6$${salt}$${shaCrypt('sha512', password, Buffer.from(salt))}`
  return stored === password
}

/** rabbitmq.com, "Credentials and Passwords". */
const acceptsRabbitmq = (stored: Buffer, password: string): boolean =>
  createHash('sha256').update(stored.subarray(0, 4)).update(password).digest().equals(stored.subarray(4))

/** `$A$005$`, 20 bytes, 43 characters. */
function acceptsMysql(stored: Buffer, password: string): boolean {
  const salt = stored.subarray(7, 27)
  return stored.equals(
    Buffer.concat([Buffer.from('$A$005$'), salt, Buffer.from(shaCrypt('sha256', password, salt))]),
  )
}

/** RFC 5802, section 3, as a server checks it. */
function acceptsScram(stored: string, password: string): boolean {
  const [, iterations = '', salt = '', storedKey = '', serverKey = ''] =
    /^SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):(.+)$/.exec(stored) ?? []
  const salted = pbkdf2Sync(password, Buffer.from(salt, 'base64'), Number(iterations), 32, 'sha256')
  const clientKey = createHmac('sha256', salted).update('Client Key').digest()
  return (
    createHash('sha256').update(clientKey).digest('base64') === storedKey &&
    createHmac('sha256', salted).update('Server Key').digest('base64') === serverKey
  )
}
