import type { Deps } from '../core/deps.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const LENGTH = 32
/** Bytes from here up would make some letters likelier than others: they are drawn again. */
const LIMIT = 256 - (256 % ALPHABET.length)

/** 32 characters drawn uniformly from `[A-Za-z0-9]`: 190 bits, and nothing that a shell, SQL or a URL would quote. */
export function generatePassword({ randomBytes }: Pick<Deps, 'randomBytes'>): string {
  let password = ''
  while (password.length < LENGTH) {
    for (const byte of randomBytes(LENGTH)) {
      if (byte < LIMIT && password.length < LENGTH) password += ALPHABET.charAt(byte % ALPHABET.length)
    }
  }
  return password
}
