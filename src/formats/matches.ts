import { fromBase64 } from '../core/text.ts'
import { ALPHABET } from './crypt64.ts'
import type { FormatInput, NamedFormat } from './format.ts'

/** The random bytes that a value was made with, out of the value: for a format without a salt there are none. */
type SaltIn = (stored: string) => Uint8Array<ArrayBuffer> | undefined | Promise<Uint8Array<ArrayBuffer>>

const NONE = new Uint8Array(0)
const noSalt: SaltIn = () => NONE

/** Any byte with these six low bits makes the same character (`saltText`). */
const ofText = (salt: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(salt, (character) => ALPHABET.indexOf(character))

/** `$id$salt$digest`. */
const ofCrypt: SaltIn = (stored) => ofText(stored.split('$')[2] ?? '')

/** Behind `0x` and the seven bytes of `$A$005$`, in hexadecimal. */
const HEX_SALT = { from: 16, to: 56 } as const

function ofHexLiteral(stored: string): Uint8Array<ArrayBuffer> {
  const bytes = stored.slice(HEX_SALT.from, HEX_SALT.to).match(/../g) ?? []
  return ofText(bytes.map((byte) => String.fromCharCode(Number.parseInt(byte, 16))).join(''))
}

async function ofBcrypt(stored: string): Promise<Uint8Array<ArrayBuffer>> {
  const { decodeBase64 } = await import('bcryptjs')
  return Uint8Array.from(decodeBase64(stored.slice('$2b$10$'.length), 16))
}

/** By the format's name; a built-in format without a line here fails its test. */
const SALTS: Readonly<Record<string, SaltIn>> = {
  'scram-sha-256': (stored) => fromBase64(stored.split(/[:$]/)[2] ?? ''),
  'mysql-native': noSalt,
  caching_sha2_password: ofHexLiteral,
  sha256: noSalt,
  'rabbitmq-sha256': (stored) => fromBase64(stored)?.slice(0, 4),
  'redis-acl': noSalt,
  bcrypt: ofBcrypt,
  'sha512-crypt': ofCrypt,
  apr1: ofCrypt,
  plaintext: noSalt,
}

/**
 * Whether a stored value is that of this password: derived once more, with the salt that the value has. False for a value
 * that is none of the format, for a password that the format cannot encode, and for a format that is not built in. Of no
 * use to a login: it takes no care of how long it takes. Whoever needs it loads this file.
 */
export async function matches(format: NamedFormat, stored: string, input: FormatInput): Promise<boolean> {
  const saltIn = SALTS[format.name]
  if (saltIn === undefined || !format.canonical.test(stored)) return false
  const salt = await saltIn(stored)
  if (salt === undefined) return false
  try {
    return (await format.derive(input, { randomBytes: () => salt })) === stored
  } catch (error) {
    // What a format throws for a password that it cannot encode.
    if (error instanceof TypeError) return false
    throw error
  }
}
