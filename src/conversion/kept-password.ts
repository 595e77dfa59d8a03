import type { Deps } from '../core/deps.ts'
import { fromBase64, fromUtf8 } from '../core/text.ts'
import type { CredentialRules } from '../definitions/rules.ts'
import { deriveStored } from '../formats/derive.ts'
import type { CauseName } from './causes.ts'

/** What becomes of a password from before. */
export type Kept =
  | {
      readonly is: 'stored'
      /** For the very bytes of the password. */
      readonly stored: string
      /** Whoever made the Secret may not have meant the line break that it ends in. */
      readonly endsInNewline: boolean
    }
  | { readonly is: 'left'; readonly cause: CauseName; readonly why?: string }

/**
 * The value to store for a password that stands in a Secret, byte for byte: nothing is trimmed, decoded, or normalised
 * but by the standard of the format. Every password that an engine would take for another one is left: no text, a NUL,
 * which ends a text in C, what the format cannot take whole, and what the engine itself takes for a stored value.
 * `encoded` is a value of the Secret's `data`.
 */
export async function keepPassword(
  { format, valuesPath }: Pick<CredentialRules, 'format' | 'valuesPath'>,
  username: string,
  encoded: string,
  deps: Pick<Deps, 'randomBytes'>,
): Promise<Kept> {
  const bytes = fromBase64(encoded)
  if (bytes?.length === 0) return { is: 'left', cause: 'PasswordMissing' }
  const password = bytes === undefined ? undefined : fromUtf8(bytes)
  if (password === undefined) return { is: 'left', cause: 'PasswordUnreadable' }
  if (password.includes('\0')) return unconvertible('it holds a NUL byte')
  if (format.takenForStored?.test(password)) return { is: 'left', cause: 'PasswordLooksStored' }
  try {
    const stored = await deriveStored(format, { username, password }, deps, { valuesPath, isChosen: true })
    if (stored.ok) return { is: 'stored', stored: stored.value, endsInNewline: /[\r\n]$/.test(password) }
    return unconvertible(`${format.name} takes no such characters, or not as many`)
  } catch (error) {
    // What a format throws for a password that it cannot encode, in words of its own.
    if (error instanceof TypeError) return unconvertible(error.message)
    throw error
  }
}

const unconvertible = (why: string): Kept => ({ is: 'left', cause: 'PasswordUnconvertible', why })
