import { sha256 } from '#digests'
import { toBase64, utf8 } from '../core/text.ts'
import type { Format } from './format.ts'

const SALT_BYTES = 4

/**
 * RabbitMQ's `rabbit_password_hashing_sha256`, the default of a definition import: base64 of 4 bytes of salt and the
 * SHA-256 of salt and password (rabbitmq.com, "Credentials and Passwords"; `rabbit_password_hashing_sha256.erl`).
 */
export const rabbitmqSha256: Format = {
  name: 'rabbitmq-sha256',
  storesPlaintext: false,
  canonical: /^[A-Za-z0-9+/]{48}$/,
  async derive({ password }, { randomBytes }) {
    const salt = randomBytes(SALT_BYTES)
    const digest = sha256(Uint8Array.of(...salt, ...utf8(password)))
    return toBase64(Uint8Array.of(...salt, ...digest))
  },
}
