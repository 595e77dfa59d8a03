/** A database under test, started for it and thrown away with it. */
export interface Engine {
  readonly name: string
  readonly version: string
  /** Gives the engine exactly what the account Secret holds, the way its operator would. Applied when it resolves. */
  readonly apply: (username: string, stored: string) => Promise<void>
  /**
   * Over TCP with the engine's ordinary client: true when it lets this user in, false when it refuses the password.
   * Throws when it fails for any other reason.
   */
  readonly login: (username: string, password: string) => Promise<boolean>
  readonly stop: () => Promise<void>
}
