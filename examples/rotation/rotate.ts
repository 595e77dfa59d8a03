/** One login, as the application reads it. */
export interface Login {
  /** The Credential, `<release>.<account>`. */
  readonly credential: string
  readonly username: string
  readonly password: string
}

/** What the application is given. */
export interface Given {
  readonly login: Login
  /** The Credential of the login before this one, as long as somebody may hold that. */
  readonly former?: string
}

/** What a call came to. `Unknown`: no answer, or one that does not say that nothing was stored. */
export type Outcome<T> =
  | { readonly kind: 'Stored'; readonly value: T }
  | { readonly kind: 'Refused'; readonly message: string }
  | { readonly kind: 'Unknown'; readonly message: string }

export interface Steps {
  readonly mint: (credential: string) => Promise<Outcome<Login>>
  readonly revoke: (credential: string) => Promise<Outcome<undefined>>
  /** Whether the engine lets this login in by now. */
  readonly letsIn: (login: Login) => Promise<boolean>
  /** From here on whoever starts anew reads this. */
  readonly give: (given: Given) => Promise<void>
  /** Ends when nobody holds another login than the one that is given, whatever that means for the application. */
  readonly drained: () => Promise<void>
  readonly pause: () => Promise<void>
  readonly say: (line: string) => void
}

/** Tries in which the engine must have applied what was stored, a pause between them. */
const LOGINS = 120
const CALLS = 3

/**
 * Gives the application the login of the account that it does not use, and revokes the one that it did use. `now` is what it
 * has; undefined before the first rotation. At no time is there a login in use that the engine refuses. Whatever ends it
 * early leaves the application with a login that works, and the next run repairs the rest. Throws with the reason.
 */
export async function rotate(
  accounts: readonly [string, string],
  now: Given | undefined,
  steps: Steps,
): Promise<void> {
  // The last run ended early. Who still holds that login would be cut off by a mint for it.
  if (now?.former !== undefined) await retire(now.login, now.former, steps)

  const former = now?.login.credential
  const next = accounts[former === accounts[0] ? 1 : 0]
  const login = await stored(() => steps.mint(next), steps)
  steps.say(`minted ${next}`)
  await applied(login, steps)
  steps.say(`the engine lets ${login.username} in`)
  await steps.give({ login, ...(former === undefined ? {} : { former }) })
  steps.say(`the application is given ${next}`)
  if (former !== undefined) await retire(login, former, steps)
}

/** `login` is what the application is given, `former` the Credential that nobody may log in with any more. */
async function retire(login: Login, former: string, steps: Steps): Promise<void> {
  await steps.drained()
  await stored(() => steps.revoke(former), steps)
  await steps.give({ login })
  steps.say(`revoked ${former}`)
}

/**
 * Repeats what nobody knows the outcome of. That is safe here, and here only: nobody uses this account, so that a password
 * which was stored without our knowledge is in nobody's way.
 */
async function stored<T>(call: () => Promise<Outcome<T>>, { pause }: Steps): Promise<T> {
  let message = ''
  for (let tries = 0; tries < CALLS; tries += 1) {
    const outcome = await call()
    if (outcome.kind === 'Stored') return outcome.value
    message = outcome.message
    if (outcome.kind === 'Refused') break
    await pause()
  }
  throw new Error(message)
}

/** `201` means stored: the engine has it a moment later. */
async function applied(login: Login, { letsIn, pause }: Steps): Promise<void> {
  for (let tries = 0; tries < LOGINS; tries += 1) {
    if (await letsIn(login)) return
    await pause()
  }
  throw new Error(`the engine still refuses ${login.username}: nothing was switched`)
}
