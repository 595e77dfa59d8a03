import { sha256 as digest } from '#digests'
import { utf8 } from '../core/text.ts'
import type { Format } from './format.ts'
import { toHex } from './hex.ts'

/** ClickHouse's `password_sha256_hex`: unsalted, which only a password of high entropy can afford. */
export const sha256: Format = {
  name: 'sha256',
  storesPlaintext: false,
  canonical: /^[0-9a-f]{64}$/,
  derive: async ({ password }) => toHex(digest(utf8(password))),
}
