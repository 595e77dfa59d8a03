import type { Engine } from './engine.ts'

/** One account, as whoever mints for it sees it. */
export interface Minting {
  readonly username: string
  /** Answers the new password. */
  readonly mint: () => Promise<string>
  readonly revoke: () => Promise<void>
  /** What the account Secret holds now. */
  readonly storedValue: () => Promise<string>
}

/** Which logins the engine accepted. */
interface Logins {
  readonly minted: boolean
  readonly another: boolean
  readonly mintedUntilTheNextIsApplied: boolean
  readonly mintedAfterTheNext: boolean
  readonly next: boolean
  readonly nextUntilTheRevocationIsApplied: boolean
  readonly nextAfterRevoke: boolean
}

export const EXPECTED_LOGINS: Logins = {
  minted: true,
  another: false,
  mintedUntilTheNextIsApplied: true,
  mintedAfterTheNext: false,
  next: true,
  nextUntilTheRevocationIsApplied: true,
  nextAfterRevoke: false,
}

/** Mints twice and revokes; after each, gives the engine what the Secret holds. Says who could log in when. */
export async function chain(engine: Engine, minting: Minting): Promise<Logins> {
  const { username, mint, revoke, storedValue } = minting
  const applyStored = async () => engine.apply(username, await storedValue())
  const login = (password: string) => engine.login(username, password)

  const first = await mint()
  await applyStored()
  const minted = await login(first)
  const another = await login(withAnotherEnd(first))

  const second = await mint()
  const mintedUntilTheNextIsApplied = await login(first)
  await applyStored()
  const mintedAfterTheNext = await login(first)
  const next = await login(second)

  await revoke()
  const nextUntilTheRevocationIsApplied = await login(second)
  await applyStored()
  const nextAfterRevoke = await login(second)
  return {
    minted,
    another,
    mintedUntilTheNextIsApplied,
    mintedAfterTheNext,
    next,
    nextUntilTheRevocationIsApplied,
    nextAfterRevoke,
  }
}

/** As near as another password can be. */
const withAnotherEnd = (password: string): string =>
  password.slice(0, -1) + (password.endsWith('a') ? 'b' : 'a')
