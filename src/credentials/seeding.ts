import type { Deps } from '../core/deps.ts'
import type { Failure } from '../core/failure.ts'
import { inTurns } from '../core/in-turns.ts'
import { textAt } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import type { CredentialRules } from '../definitions/rules.ts'
import type { CallOptions, Kube, WriteOptions } from '../k8s/kube.ts'
import type { HelmRelease, StoredSecret } from '../k8s/objects.ts'
import {
  adoptedSecret,
  type Holder,
  hasOwner,
  holderOf,
  isAdopted,
  newSecret,
  newSeed,
  reassignedSeed,
  releaseUidIn,
  storedValueIn,
  undeclaredSince,
  usernameIn,
} from './account-secret.ts'
import { type Application, KIND_LABEL } from './application.ts'
import { accountSecretOf, createdBy, type Done, seedValue } from './carry-out.ts'
import type { NamedAccount } from './declared.ts'
import { credentialNameOf } from './naming.ts'
import { addEntry, mayBeKnown } from './record.ts'

export interface SeedingServices {
  readonly kube: Pick<Kube, 'getSecret' | 'createSecret' | 'updateSecret'>
  readonly deps: Pick<Deps, 'now' | 'randomBytes' | 'log'>
}

/** For what account Secrets are made before a write of their release is stored. */
export interface Seeding {
  readonly release: HelmRelease
  readonly application: Application
  readonly rules: CredentialRules
  /**
   * Whether the release is stored. The garbage collector deletes what names an owner that is not
   * (`k8s.io/kubernetes/pkg/controller/garbagecollector`), so that a seed for one to come has no owner yet.
   */
  readonly isStored: boolean
}

/** What is to be done at the name of one account Secret. */
type Judgement =
  | { readonly do: 'nothing' }
  | { readonly do: 'create' }
  | { readonly do: 'update'; readonly secret: StoredSecret }
  /** Something holds the name: what it is, and how to go on. */
  | { readonly do: 'refuse'; readonly why: string }

/** Nothing is deleted and nothing replaced: whatever stands there that is not this release's own is in the way. */
export function judge(holder: Holder, { username }: NamedAccount, seeding: Seeding): Judgement {
  if (holder.is === 'absent') return { do: 'create' }
  const { secret } = holder
  const refuse = (why: string): Judgement => ({
    do: 'refuse',
    why: `Secret ${JSON.stringify(secret.metadata.name)} holds the name of the one for user ${JSON.stringify(username)}: ${why}`,
  })
  if (holder.is === 'foreign') {
    return refuse(`${holder.why}; it is left alone: delete it or rename the user, then try again`)
  }
  if (secret.metadata.deletionTimestamp !== undefined) {
    return refuse('it is being deleted: try again when it is gone')
  }
  if (holder.is === 'ours') return judgeOurs(secret, seeding)
  if (isAbandonedSeed(holder, username, seeding)) {
    return { do: 'update', secret: reassignedSeed(secret, seeding.release.metadata.uid) }
  }
  return refuse(whyLeftover(holder, username))
}

function judgeOurs(secret: StoredSecret, { release, isStored }: Seeding): Judgement {
  const isSettled = isAdopted(secret, release.metadata.uid) && undeclaredSince(secret) === undefined
  return isStored && !isSettled ? { do: 'update', secret: adoptedSecret(secret, release) } : { do: 'nothing' }
}

/** The seed of a create that failed after admission: of the same kind and user, nobody's, and never more than a seed. */
function isAbandonedSeed(
  { secret, record }: Extract<Holder, { is: 'leftover' }>,
  username: string,
  { application, rules, isStored }: Seeding,
): boolean {
  return (
    !isStored &&
    !hasOwner(secret) &&
    releaseUidIn(secret) !== undefined &&
    usernameIn(secret) === username &&
    textAt(secret.metadata, 'labels', KIND_LABEL) === application.kind &&
    record.origin === 'NotIssued' &&
    record.history.length > 0 &&
    record.history.every(({ operation }) => operation === 'Create') &&
    rules.format.canonical.test(storedValueIn(secret) ?? '')
  )
}

function whyLeftover({ secret, record }: Extract<Holder, { is: 'leftover' }>, username: string): string {
  const other = usernameIn(secret)
  if (other !== undefined && other !== username) {
    return `it is of user ${JSON.stringify(other)}: delete it when that user is gone, or rename one of them`
  }
  return mayBeKnown(record.origin)
    ? 'it is of an earlier application of this name, and somebody may know its password: delete it, or hand it on with `mintonce adopt`, then try again'
    : 'it is of an earlier application of this name: wait until it has been collected, or delete it, then try again'
}

/** Reads at once, and writes: an API server is not to be flooded by one review. */
const AT_ONCE = 8

/** What stands at the names of these accounts; a failure for those that could not be read. */
export async function readHolders(
  { kube }: Pick<SeedingServices, 'kube'>,
  { release }: Pick<Seeding, 'release'>,
  accounts: readonly NamedAccount[],
  options: CallOptions,
): Promise<ReadonlyMap<NamedAccount, Result<Holder>>> {
  const found = new Map<NamedAccount, Result<Holder>>()
  await inTurns(accounts, AT_ONCE, async (account) => {
    found.set(account, await readHolder(kube, release, account, options))
  })
  return found
}

async function readHolder(
  kube: Pick<Kube, 'getSecret'>,
  { metadata }: HelmRelease,
  { secretName, username }: NamedAccount,
  options: CallOptions,
): Promise<Result<Holder>> {
  const secret = await kube.getSecret(metadata.namespace ?? '', secretName, options)
  return secret.ok ? ok(holderOf(secret.value, username, metadata.uid)) : secret
}

type Options = WriteOptions & { readonly by: string }

/**
 * Sees to it that each of these accounts has an account Secret of this release: seeds, takes over, adopts. The texts
 * say what is in the way; while there are any, nothing has been written, unless it came in between. Fails with the
 * first failure; what was written by then stays, and another try goes on from there.
 */
export async function seedAccounts(
  services: SeedingServices,
  seeding: Seeding,
  accounts: readonly NamedAccount[],
  options: Options,
): Promise<Result<readonly string[]>> {
  const held = await readHolders(services, seeding, accounts, options)
  const failures = [...held.values()].flatMap((each) => (each.ok ? [] : [each.failure]))
  const [unread] = failures
  if (unread !== undefined) return fail(unread)
  const inTheWay = accounts.flatMap((account) => {
    const holder = held.get(account)
    const judged = holder?.ok ? judge(holder.value, account, seeding) : undefined
    return judged?.do === 'refuse' ? [judged.why] : []
  })
  if (inTheWay.length > 0) return ok(inTheWay)

  const refusals: string[] = []
  const failed: Failure[] = []
  await inTurns(accounts, AT_ONCE, async (account) => {
    const done = await seedAccount(services, seeding, account, { ...options, before: held.get(account) })
    if (!done.ok) failed.push(done.failure)
    else if (done.value !== undefined) refusals.push(done.value)
  })
  const [first] = failed
  return first === undefined ? ok(refusals) : fail(first)
}

type AccountOptions = Options & { readonly before: Result<Holder> | undefined }

/** One guarded write; when somebody was faster, one more look and one more try. */
async function seedAccount(
  services: SeedingServices,
  seeding: Seeding,
  account: NamedAccount,
  { before, by, ...options }: AccountOptions,
): Promise<Result<string | undefined>> {
  const again = () => readHolder(services.kube, seeding.release, account, options)
  const first = await writeJudged(services, seeding, account, before ?? (await again()), { ...options, by })
  if (first.ok || !isRace(first.failure)) return first
  return writeJudged(services, seeding, account, await again(), { ...options, by })
}

const isRace = ({ reason }: Failure): boolean =>
  reason === 'kube_exists' || reason === 'kube_conflict' || reason === 'kube_absent'

async function writeJudged(
  services: SeedingServices,
  seeding: Seeding,
  account: NamedAccount,
  holder: Result<Holder>,
  options: Options,
): Promise<Result<string | undefined>> {
  if (!holder.ok) return holder
  const judged = judge(holder.value, account, seeding)
  if (judged.do === 'nothing') return ok(undefined)
  if (judged.do === 'refuse') return ok(judged.why)
  const written =
    judged.do === 'create'
      ? await createSeed(services, seeding, account, options)
      : await services.kube.updateSecret(judged.secret, options)
  if (!written.ok) return written
  if (!options.dryRun) {
    logDone(services, seeding.release, account, judged.do === 'create' ? 'created' : 'adopted', options.by)
  }
  return ok(undefined)
}

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
