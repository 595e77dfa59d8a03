import type { Format } from './format.ts'
import { sha256 } from './sha256.ts'

/**
 * A password's hash as Redis' ACL rules take it (`ACL SETUSER`): `#` and the lower-case SHA-256 in hex. Unsalted, which
 * only a password of high entropy can afford. A rule adds a password to those that there are: `resetpass` goes before it.
 */
export const redisAcl: Format = {
  name: 'redis-acl',
  storesPlaintext: false,
  neverInValues: true,
  canonical: /^#[0-9a-f]{64}$/,
  derive: async (input, deps) => `#${await sha256.derive(input, deps)}`,
}
