import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'

/** Whether a stored value accepts a password, computed with `node:crypto` alone: nothing of `src/formats` is in it. */
export function accepts(stored: string, password: string): boolean {
  if (stored.startsWith('SCRAM-SHA-256$')) return acceptsScram(stored, password)
  if (/^\*[0-9A-F]{40}$/.test(stored)) {
    const once = createHash('sha1').update(password).digest()
    return stored === `*${createHash('sha1').update(once).digest('hex').toUpperCase()}`
  }
  if (/^[0-9a-f]{64}$/.test(stored)) return stored === createHash('sha256').update(password).digest('hex')
  return stored === password
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
