import type { Deps } from '../core/deps.ts'

export interface FormatInput {
  readonly username: string
  readonly password: string
}

/**
 * A named function from (username, password) to the value that the engine stores. It computes and never fetches.
 * `derive` may be slow (PBKDF2), so it is asynchronous.
 */
export interface Format {
  readonly name: string
  /** True when the stored value is the password itself. */
  readonly storesPlaintext: boolean
  /** What the engine takes as this format; anything else some engines take for a plaintext password. */
  readonly canonical: RegExp
  readonly derive: (input: FormatInput, deps: Pick<Deps, 'randomBytes'>) => Promise<string>
}
