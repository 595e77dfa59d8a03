import type { Deps } from '../core/deps.ts'
import type { Failure } from '../core/failure.ts'
import { inTurns } from '../core/in-turns.ts'
import { fail, ok, type Result } from '../core/result.ts'
import type { Kube, WriteOptions } from '../k8s/kube.ts'
import type { HelmRelease, StoredSecret } from '../k8s/objects.ts'
import { type Holder, newSecret, newSeed } from './account-secret.ts'
import { accountSecretOf, createdBy, type Done, seedValue } from './carry-out.ts'
import type { NamedAccount } from './declared.ts'
import { readHolder, readHolders } from './holders.ts'
import { judge, type Seeding } from './judge.ts'
import { type LegacyPasswords, legacyPasswords } from './legacy.ts'
import { credentialNameOf } from './naming.ts'
import { addEntry } from './record.ts'
import { type Refusal, refused, type Verdict } from './verdict.ts'

export interface SeedingServices {
  readonly kube: Pick<Kube, 'getSecret' | 'listSecrets' | 'createSecret' | 'updateSecret'>
  readonly deps: Pick<Deps, 'now' | 'randomBytes' | 'log'>
}

/** Writes at once: an API server is not to be flooded by one review. */
const AT_ONCE = 8

type Options = WriteOptions & { readonly by: string }

/** What is to be said about accounts that did not simply get their Secret. */
export interface Seeded {
  /** What is in the way. While there is any, nothing has been written, unless it came in between. */
  readonly refusals: readonly string[]
  /** Accounts that keep the password that they have from before. */
  readonly warnings: readonly string[]
}

/**
 * Sees to it that each of these accounts has an account Secret of this release: seeds, takes over, adopts. One that has
 * a password in the clear from before is left to whoever converts it. Fails with the first failure; what was written by
 * then stays, and another try goes on from there.
 */
export async function seedAccounts(
  services: SeedingServices,
  seeding: Seeding,
  accounts: readonly NamedAccount[],
  options: Options,
): Promise<Result<Seeded>> {
  const held = await readHolders(services, seeding, accounts, { ...options, isNew: true })
  const failures = [...held.values()].flatMap((each) => (each.ok ? [] : [each.failure]))
  const [unread] = failures
  if (unread !== undefined) return fail(unread)
  const inTheWay = accounts.flatMap((account) => {
    const holder = held.get(account)
    const judged = holder?.ok ? judge(holder.value, account, seeding) : undefined
    return judged?.do === 'refuse' ? [judged.why] : []
  })
  if (inTheWay.length > 0) return ok({ refusals: inTheWay, warnings: [] })

  const legacy = legacyPasswords(services.kube, seeding, options)
  const all: Said[] = []
  const failed: Failure[] = []
  await inTurns(accounts, AT_ONCE, async (account) => {
    const before = held.get(account)
    const done = await seedAccount(services, seeding, account, { ...options, before, legacy })
    if (done.ok) all.push(done.value)
    else failed.push(done.failure)
  })
  const [first] = failed
  if (first !== undefined) return fail(first)
  return ok({
    refusals: all.flatMap(({ refusal }) => refusal ?? []),
    warnings: all.flatMap(({ warning }) => warning ?? []),
  })
}

interface Said {
  readonly refusal?: string
  readonly warning?: string
}

type WriterOptions = Options & { readonly legacy: LegacyPasswords }
type AccountOptions = WriterOptions & { readonly before: Result<Holder> | undefined }

/** One guarded write; when somebody was faster, one more look and one more try. */
async function seedAccount(
  services: SeedingServices,
  seeding: Seeding,
  account: NamedAccount,
  { before, ...options }: AccountOptions,
): Promise<Result<Said>> {
  const again = () => readHolder(services, seeding, account, options)
  const first = await writeJudged(services, seeding, account, before ?? (await again()), options)
  if (first.ok || !isRace(first.failure)) return first
  return writeJudged(services, seeding, account, await again(), options)
}

const isRace = ({ reason }: Failure): boolean =>
  reason === 'kube_exists' || reason === 'kube_conflict' || reason === 'kube_absent'

async function writeJudged(
  services: SeedingServices,
  seeding: Seeding,
  account: NamedAccount,
  holder: Result<Holder>,
  { legacy, ...options }: WriterOptions,
): Promise<Result<Said>> {
  if (!holder.ok) return holder
  const judged = judge(holder.value, account, seeding)
  if (judged.do === 'nothing') return ok({})
  if (judged.do === 'refuse') return ok({ refusal: judged.why })
  if (judged.do !== 'adopt') {
    const has = await legacy.has(account.username)
    if (!has.ok) return has
    if (has.value) return ok({ warning: fromBefore(account, legacy) })
  }
  const written =
    judged.do === 'create'
      ? await createSeed(services, seeding, account, options)
      : await services.kube.updateSecret(judged.secret, options)
  if (!written.ok) return written
  if (!options.dryRun) {
    logDone(services, seeding.release, account, judged.do === 'create' ? 'created' : 'adopted', options.by)
  }
  return ok({})
}

const fromBefore = ({ username }: NamedAccount, { secretName }: LegacyPasswords): string =>
  `user ${JSON.stringify(username)} has a password from before in Secret ${JSON.stringify(secretName)}: convert it`

async function createSeed(
  { kube, deps }: SeedingServices,
  seeding: Seeding,
  account: NamedAccount,
  { by, ...options }: Options,
): Promise<Result<StoredSecret>> {
  const stored = await seedValue(seeding.rules, account.username, deps)
  if (!stored.ok) return stored
  const record = { origin: 'NotIssued', history: addEntry([], createdBy(by, deps.now())) } as const
  const create = seeding.isStored ? newSecret : newSeed
  return kube.createSecret(create(accountSecretOf(seeding, account), stored.value, record), options)
}

const SEEDING = 'the account Secrets could not be created'

/** Of a failure of `seedAccounts`. A client repeats a conflict by itself: it is one only where that helps. */
export const refusedSeeding = (failure: Failure, warnings: readonly string[] = []): Verdict =>
  refused(refusalFor(failure), warnings)

function refusalFor(failure: Failure): Refusal {
  if (isRace(failure)) return { is: 'raced', message: `${SEEDING}: ${RACED}` }
  switch (failure.reason) {
    case 'kube_quota_exceeded':
      return {
        is: 'forbidden',
        messages: [
          `${SEEDING}: resource quota ${JSON.stringify(failure.quota)} has no room for another Secret`,
        ],
      }
    case 'kube_namespace_terminating':
      return {
        is: 'forbidden',
        messages: [`${SEEDING}: namespace ${JSON.stringify(failure.namespace)} is being terminated`],
      }
    default:
      return { is: 'failed', what: SEEDING, failure }
  }
}

const RACED = 'somebody else is creating them at this moment: try again'

/** As a sync does. */
export function logDone(
  { deps }: Pick<SeedingServices, 'deps'>,
  { metadata }: HelmRelease,
  { name }: NamedAccount,
  what: Done['what'],
  by: string,
): void {
  const credential = credentialNameOf(name)
  deps.log('info', 'account_secret', { what, credential, namespace: metadata.namespace ?? '', by })
}
