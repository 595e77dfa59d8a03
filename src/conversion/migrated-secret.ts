import type { Failure } from '../core/failure.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { toTimestamp } from '../core/text.ts'
import {
  changedSecret,
  type Holder,
  holdsValue,
  newSecret,
  storedValueIn,
} from '../credentials/account-secret.ts'
import { accountSecretOf } from '../credentials/carry-out.ts'
import type { NamedAccount } from '../credentials/declared.ts'
import { readHolder } from '../credentials/holders.ts'
import { credentialNameOf } from '../credentials/naming.ts'
import { type AccountRecord, addEntry, type HistoryEntry } from '../credentials/record.ts'
import type { StoredSecret } from '../k8s/objects.ts'
import { type Skip, skip } from './causes.ts'
import type { Convertible, ConvertOptions, ConvertServices } from './convertible.ts'

/** What stands at the name of an account's Secret, as far as a conversion is concerned. */
export type Free =
  | { readonly is: 'absent' }
  /** A seed that was never minted: nobody knows its password. */
  | { readonly is: 'unissued'; readonly secret: StoredSecret; readonly history: readonly HistoryEntry[] }
  /** What this conversion has written a moment ago. */
  | MigratedSecret
  /** It is ours: left alone. `migrated`: the stored value, where it is still that of a password from before. */
  | { readonly is: 'settled'; readonly migrated: string | undefined }
  | { readonly is: 'held'; readonly skip: Skip }

export interface MigratedSecret {
  readonly is: 'written'
  readonly secret: StoredSecret
  readonly stored: string
  /** What its record held before. */
  readonly history: readonly HistoryEntry[]
}

type Written = MigratedSecret | Extract<Free, { is: 'settled' | 'held' }>

/** Against others who write at the same time, such as a mint. */
const MAX_TRIES = 5

export async function findFree(
  services: ConvertServices,
  of: Convertible,
  account: NamedAccount,
  { signal }: Pick<ConvertOptions, 'signal'>,
): Promise<Result<Free>> {
  const holder = await readHolder(services, of, account, signal === undefined ? {} : { signal })
  return holder.ok ? ok(freeOf(holder.value, account)) : holder
}

function freeOf(holder: Holder, { username }: NamedAccount): Free {
  if (holder.is === 'absent') return { is: 'absent' }
  const { secret } = holder
  const held = (cause: Skip['cause'], why?: string): Free => ({
    is: 'held',
    skip: skip(
      cause,
      `Secret ${JSON.stringify(secret.metadata.name)} for user ${JSON.stringify(username)}`,
      why,
    ),
  })
  if (holder.is === 'foreign') return held('SecretForeign', holder.why)
  if (secret.metadata.deletionTimestamp !== undefined) return held('SecretTerminating')
  if (holder.is === 'leftover') return held('SecretLeftover')
  const { origin, history } = holder.record
  const isIssued = origin !== 'NotIssued' || history.some(({ operation }) => operation !== 'Create')
  if (isIssued) return { is: 'settled', migrated: migratedIn(secret, holder.record) }
  return secret.immutable === true ? held('SecretImmutable') : { is: 'unissued', secret, history }
}

/** Whatever cannot be read is no value of any password. */
const migratedIn = (secret: StoredSecret, { origin, history }: AccountRecord): string | undefined =>
  origin === 'Migrated' && history[0]?.operation === 'Migrate' ? (storedValueIn(secret) ?? '') : undefined

interface Order {
  readonly account: NamedAccount
  readonly free: Free
  readonly stored: string
}

/**
 * One guarded write. When somebody was faster it is looked at again: what they made of it counts, such as a mint. Fails
 * with what another try may mend, or what concerns more than this account; what the API server refuses for this one is
 * `held`.
 */
export async function writeMigrated(
  services: ConvertServices,
  of: Convertible,
  order: Order,
  options: ConvertOptions,
  triesLeft = MAX_TRIES,
): Promise<Result<Written>> {
  const { account, free } = order
  if (free.is === 'settled' || free.is === 'held') return ok(free)
  const history = free.is === 'absent' ? [] : free.history
  const written = await writeOnce(services, of, { ...order, free, history }, options)
  if (written.ok) {
    // Whatever changes one value on its way changes them all: an admission plug-in of the platform.
    return holdsValue(written.value, order.stored)
      ? ok({ is: 'written', secret: written.value, stored: order.stored, history })
      : altered(account, options)
  }
  const { failure } = written
  if (isRace(failure) && triesLeft > 1) {
    const again = await findAgain(services, of, order, options)
    if (!again.ok) return again
    return writeMigrated(services, of, { ...order, free: again.value }, options, triesLeft - 1)
  }
  const about = `Secret ${JSON.stringify(account.secretName)} for user ${JSON.stringify(account.username)}`
  return isOfOneAccount(failure)
    ? ok({ is: 'held', skip: skip('WriteRefused', about, whyRefused(failure)) })
    : written
}

const altered = ({ name, secretName: secret }: NamedAccount, { dryRun = false }: ConvertOptions) =>
  fail({ reason: 'value_altered', name: credentialNameOf(name), secret, dryRun })

interface Writing extends Order {
  readonly free: Exclude<Free, { is: 'settled' | 'held' }>
  readonly history: readonly HistoryEntry[]
}

/** What we have written ourselves stays ours to write, as long as it has the value that we gave it. */
async function findAgain(
  services: ConvertServices,
  of: Convertible,
  { account, free }: Order,
  { signal }: ConvertOptions,
): Promise<Result<Free>> {
  const holder = await readHolder(services, of, account, signal === undefined ? {} : { signal })
  if (!holder.ok) return holder
  const { value } = holder
  const isAsWritten = free.is === 'written' && value.is === 'ours' && holdsValue(value.secret, free.stored)
  return ok(isAsWritten ? { ...free, secret: value.secret } : freeOf(value, account))
}

async function writeOnce(
  { kube, deps }: ConvertServices,
  of: Convertible,
  { account, free, stored, history }: Writing,
  { by, ...options }: ConvertOptions,
): Promise<Result<StoredSecret>> {
  const target = accountSecretOf(of, account)
  const entry: HistoryEntry = { operation: 'Migrate', at: toTimestamp(deps.now()), by }
  const record: AccountRecord = { origin: 'Migrated', history: addEntry(history, entry) }
  return free.is === 'absent'
    ? kube.createSecret(newSecret(target, stored, record), options)
    : kube.updateSecret(changedSecret(target, free.secret, stored, record), options)
}

const isRace = ({ reason }: Failure): boolean =>
  reason === 'kube_exists' || reason === 'kube_conflict' || reason === 'kube_absent'

const OF_ONE_ACCOUNT: ReadonlySet<Failure['reason']> = new Set([
  'kube_exists',
  'kube_conflict',
  'kube_absent',
  'kube_forbidden',
  'kube_quota_exceeded',
  'kube_namespace_terminating',
  'kube_immutable',
  'kube_invalid',
])

const isOfOneAccount = ({ reason }: Failure): boolean => OF_ONE_ACCOUNT.has(reason)

function whyRefused(failure: Failure): string {
  switch (failure.reason) {
    case 'kube_quota_exceeded':
      return `resource quota ${JSON.stringify(failure.quota)} has no room`
    case 'kube_namespace_terminating':
      return `namespace ${JSON.stringify(failure.namespace)} is being terminated`
    case 'kube_forbidden':
      return 'forbidden, by our rights or by an admission policy'
    case 'kube_invalid':
      return 'a policy or the API server finds it wrong'
    default:
      return 'somebody else writes it again and again'
  }
}
