import { sha1 } from '#digests'
import { utf8 } from '../core/text.ts'
import type { Format } from './format.ts'
import { toHex } from './hex.ts'

/**
 * MariaDB's `mysql_native_password` (`PASSWORD()` in its documentation): `*` and SHA1(SHA1(password)) in upper-case
 * hex. MariaDB takes an empty string for "no password", which is why the pattern is checked before every write.
 */
export const mysqlNative: Format = {
  name: 'mysql-native',
  storesPlaintext: false,
  canonical: /^\*[0-9A-F]{40}$/,
  derive: async ({ password }) => `*${toHex(sha1(sha1(utf8(password)))).toUpperCase()}`,
}
