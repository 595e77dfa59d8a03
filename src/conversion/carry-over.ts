import { ok, type Result } from '../core/result.ts'
import type { NamedAccount } from '../credentials/declared.ts'
import type { StoredSecret } from '../k8s/objects.ts'
import { encodedIn, isInValues, otherPasswordIn, readBefore } from './before.ts'
import { type Skip, skip } from './causes.ts'
import type { ConvertedAccount, Convertible, ConvertOptions, ConvertServices } from './convertible.ts'
import { keepPassword } from './kept-password.ts'
import { type Free, type MigratedSecret, writeMigrated } from './migrated-secret.ts'
import type { Note } from './notes.ts'

/** An account, and what stands at the name of its Secret. */
export interface Found {
  readonly account: NamedAccount
  readonly free: Free
}

/** What became of one account, or of several that have the same in common. */
export interface Outcome {
  readonly converted?: ConvertedAccount
  readonly skips?: readonly Skip[]
  readonly note?: Note
  /** Username, and the password from before as it stood in the Secret's `data`. */
  readonly checked?: readonly [string, string]
}

/** What was carried over for an account, and from which value. */
interface Carried {
  readonly account: NamedAccount
  readonly encoded: string
  readonly written: MigratedSecret
}

/** Against a password that changes while it is carried over. */
const MAX_ROUNDS = 5

const OTHER_IN = {
  Secret: 'the Secret from before has another one',
  values: 'the Secret from before has none, and the values have another one, which cannot be carried over',
} as const

const aboutUser = ({ username }: NamedAccount): string => `user ${JSON.stringify(username)}`

const accountOf = (
  { username, secretName }: NamedAccount,
  result: ConvertedAccount['result'],
): ConvertedAccount => ({ username, secret: secretName, result })

/**
 * Of an account Secret that is left alone: whether its value is still that of the password from before. What was minted
 * since counts whatever the Secret from before says. Nothing for an account that is to be carried over, or is held.
 */
export async function settledOutcome(
  of: Convertible,
  before: StoredSecret | undefined,
  { account, free }: Found,
): Promise<Outcome> {
  if (free.is !== 'settled') return {}
  const converted = accountOf(account, 'unchanged')
  if (free.migrated === undefined) return { converted }
  const { username } = account
  const other = await otherPasswordIn(of, before, { username, stored: free.migrated })
  return other === undefined
    ? { converted, checked: [username, encodedIn(of, before, username)] }
    : { skips: [skip('PasswordChanged', aboutUser(account), OTHER_IN[other])] }
}

/** Writes the account Secrets of those that have none, and of seeds, from the passwords of the Secret from before. */
export async function carryOver(
  services: ConvertServices,
  of: Convertible,
  { todo, before }: { readonly todo: readonly Found[]; readonly before: StoredSecret | undefined },
  options: ConvertOptions,
): Promise<Result<readonly Outcome[]>> {
  if (before === undefined) return ok(withoutBefore(of, todo))
  const carried: Carried[] = []
  const outcomes: Outcome[] = []
  for (const each of todo) {
    const one = await carryOne(services, of, { ...each, before }, options)
    if (!one.ok) return one
    const { carried: written, ...outcome } = one.value
    outcomes.push(outcome)
    if (written !== undefined) carried.push(written)
  }
  const settled = options.dryRun ? ok({ carried, skips: [] }) : await settle(services, of, carried, options)
  if (!settled.ok) return settled
  const checked = settled.value.carried.map(
    ({ account, encoded }): Outcome => ({ checked: [account.username, encoded] }),
  )
  return ok([...outcomes, ...checked, { skips: settled.value.skips }])
}

/** A seed without a password from before is of an application that never had one. */
const isOfNoPassword = (of: Convertible, { account, free }: Found): boolean =>
  free.is === 'unissued' && !isInValues(of, account.username)

const leftSeed = (account: NamedAccount): Outcome => ({
  converted: accountOf(account, 'unchanged'),
  checked: [account.username, ''],
})

function withoutBefore(of: Convertible, todo: readonly Found[]): readonly Outcome[] {
  const seeds = todo.filter((each) => isOfNoPassword(of, each)).map(({ account }) => leftSeed(account))
  const missing = todo.filter((each) => !isOfNoPassword(of, each))
  if (missing.length === 0) return seeds
  const usernames = missing.map(({ account }) => JSON.stringify(account.username)).join(', ')
  const about = `Secret ${JSON.stringify(of.rules.legacy.secretName(of.release.metadata.name))}`
  return [...seeds, { skips: [skip('CredentialsMissing', about, `users ${usernames}`)] }]
}

async function carryOne(
  services: ConvertServices,
  of: Convertible,
  { account, free, before }: Found & { readonly before: StoredSecret },
  options: ConvertOptions,
): Promise<Result<Outcome & { readonly carried?: Carried }>> {
  const { username } = account
  const encoded = encodedIn(of, before, username)
  if (encoded === '' && isOfNoPassword(of, { account, free })) return ok(leftSeed(account))
  const kept = await keepPassword(of.rules, username, encoded, services.deps)
  if (kept.is === 'left') return ok({ skips: [skip(kept.cause, aboutUser(account), kept.why)] })
  const written = await writeMigrated(services, of, { account, free, stored: kept.stored }, options)
  if (!written.ok) return written
  if (written.value.is === 'held') return ok({ skips: [written.value.skip] })
  if (written.value.is === 'settled') {
    return ok(await settledOutcome(of, before, { account, free: written.value }))
  }
  return ok({
    carried: { account, encoded, written: written.value },
    converted: accountOf(account, free.is === 'unissued' ? 'replaced' : 'converted'),
    ...(kept.endsInNewline ? { note: { is: 'EndsInNewline', username } } : {}),
  })
}

interface Settled {
  /** As it was carried over last. */
  readonly carried: readonly Carried[]
  readonly skips: readonly Skip[]
}

/**
 * Reads the passwords once more: one that has changed since it was read is carried over again, so that what is stored is
 * the value of the password that works. One that is gone by now was it at that moment.
 */
async function settle(
  services: ConvertServices,
  of: Convertible,
  carried: readonly Carried[],
  options: ConvertOptions,
  roundsLeft = MAX_ROUNDS,
): Promise<Result<Settled>> {
  if (carried.length === 0) return ok({ carried, skips: [] })
  const now = await readBefore(services, of, options)
  if (!now.ok) return now
  const newOf = ({ account }: Carried) => encodedIn(of, now.value, account.username)
  const isChanged = (each: Carried) => newOf(each) !== '' && newOf(each) !== each.encoded
  const changed = carried.filter(isChanged)
  if (changed.length === 0) return ok({ carried, skips: [] })
  if (roundsLeft <= 1) {
    return ok({ carried, skips: changed.map(({ account }) => skip('PasswordChanging', aboutUser(account))) })
  }
  const again: Carried[] = []
  const left: Carried[] = carried.filter((each) => !isChanged(each))
  const skips: Skip[] = []
  for (const each of changed) {
    const rewritten = await carryAgain(services, of, { ...each, encoded: newOf(each) }, options)
    if (!rewritten.ok) return rewritten
    if ('written' in rewritten.value) again.push(rewritten.value)
    else {
      left.push(each)
      skips.push(...rewritten.value.skips)
    }
  }
  const rest = await settle(services, of, again, options, roundsLeft - 1)
  return rest.ok
    ? ok({ carried: [...left, ...rest.value.carried], skips: [...skips, ...rest.value.skips] })
    : rest
}

/** Nothing is skipped when somebody else has made something of the account Secret meanwhile, such as a mint. */
async function carryAgain(
  services: ConvertServices,
  of: Convertible,
  each: Carried,
  options: ConvertOptions,
): Promise<Result<Carried | { readonly skips: readonly Skip[] }>> {
  const { account, encoded, written: free } = each
  const kept = await keepPassword(of.rules, account.username, encoded, services.deps)
  if (kept.is === 'left') return ok({ skips: [skip(kept.cause, aboutUser(account), kept.why)] })
  const written = await writeMigrated(services, of, { account, free, stored: kept.stored }, options)
  if (!written.ok) return written
  return ok(written.value.is === 'written' ? { ...each, written: written.value } : { skips: [] })
}
