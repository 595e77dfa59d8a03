import type { Deps } from '../core/deps.ts'
import type { Failed } from '../core/result.ts'

export interface FormatInput {
  readonly username: string
  readonly password: string
}

/**
 * A named function from (username, password) to the value that the engine stores. It computes and never fetches.
 * `derive` is asynchronous: in a worker PBKDF2 is, and what is rare is loaded when it is needed.
 */
export interface Format {
  readonly name: string
  /** True when the stored value is the password itself. */
  readonly storesPlaintext: boolean
  /** What the engine takes as this format; anything else some engines take for a plaintext password. */
  readonly canonical: RegExp
  /** Set when its values hold a character that Helm does not take as it is: such a format goes with no `valuesPath`. */
  readonly neverInValues?: true
  /**
   * Passwords that the engine takes for a value that it stores, and stores as they are: what logs in then is another
   * password than this text.
   */
  readonly takenForStored?: RegExp
  readonly derive: (input: FormatInput, deps: Pick<Deps, 'randomBytes'>) => Promise<string>
}

/** What a format may use. `signal` fires when nobody waits for the value any more. */
export type DeriveDeps = Pick<Deps, 'randomBytes'> & { readonly signal?: AbortSignal }

/** The format that a definition names: a built-in one, or one that somebody else computes and that may fail. */
export interface NamedFormat extends Omit<Format, 'derive'> {
  readonly derive: (input: FormatInput, deps: DeriveDeps) => Promise<string | Failed>
  /** The failure of a value that may not be stored, where it is somebody else's. `why` is never the value. */
  readonly refuse?: (why: string) => Failed
}
