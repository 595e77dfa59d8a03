import type { Deps } from '../core/deps.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { toTimestamp } from '../core/text.ts'
import { deriveStored } from '../formats/derive.ts'
import type { Kube } from '../k8s/kube.ts'
import type { KubeEvent, StoredSecret } from '../k8s/objects.ts'
import {
  type AccountSecretOf,
  changedSecret,
  type Holder,
  holderOf,
  isKnown,
  newSecret,
} from './account-secret.ts'
import { isSuspended } from './application.ts'
import { describeChange } from './changes.ts'
import { foreignEvent, issuedEvent, leftoverEvent } from './events.ts'
import { credentialNameOf, secretNameOf } from './naming.ts'
import { generatePassword } from './password.ts'
import { type AccountRecord, addEntry } from './record.ts'
import type { State, Target } from './state.ts'
import { type Intent, store } from './store.ts'

/** What a caller may demand of the Secret that is about to be replaced. */
export interface CallerPreconditions {
  readonly uid?: string
  readonly resourceVersion?: string
}

export interface Order {
  /** A revoke stores the value of a password that nobody has seen. */
  readonly operation: 'Mint' | 'Revoke'
  readonly preconditions: CallerPreconditions
  readonly dryRun: boolean
  /** Who asked, as the record keeps it. */
  readonly by: string
  readonly impersonator?: string
  /** Fires when the caller has gone or the deadline is over: nothing is written then. */
  readonly signal: AbortSignal
  /** Fires when the deadline is over: ends a write that is under way. */
  readonly deadline: AbortSignal
}

export interface Issued {
  readonly username: string
  /** Only of a mint that was stored. */
  readonly password: string | undefined
  readonly issuedAt: string
  readonly warnings: readonly string[]
}

interface Services {
  readonly kube: Kube
  readonly deps: Pick<Deps, 'now' | 'randomBytes'>
  /** Events: best effort, after the answer. */
  readonly emit: (event: KubeEvent) => void
}

/**
 * Replaces an account's password by one conditional write, and answers the new one. Fails with a `secret_*` reason
 * (the name is held by something that we may not write), `credential_changed`, `write_refused`, `outcome_unknown`,
 * `value_not_canonical`, `webhook_failed`, or, before the write, `caller_gone`.
 */
export async function issue(
  { kube, deps, emit }: Services,
  { namespace, name }: Target,
  state: State,
  order: Order,
): Promise<Result<Issued>> {
  const { release, application, username } = state
  const secretName = secretNameOf(name)
  const holder = holderOf(state.secret, username, release.metadata.uid)
  const free = checkHolder(holder, credentialNameOf(name), order)
  if (!free.ok) {
    if (holder.is === 'foreign' && !order.dryRun) emit(foreignEvent(release, secretName, holder.why))
    return free
  }

  const password = generatePassword(deps)
  const { format, valuesPath, secretLabels, declaredBy } = state.rules
  const stored = await deriveStored(
    format,
    { username, password },
    { randomBytes: deps.randomBytes, signal: order.signal },
    { valuesPath },
  )
  if (order.signal.aborted) return fail({ reason: 'caller_gone' })
  if (!stored.ok) return stored

  const issuedAt = toTimestamp(deps.now())
  const intent = intentOf(
    { name: secretName, namespace, username, application, release, secretLabels, declaredBy },
    holder,
    stored.value,
    recordOf(order, holder, issuedAt),
    credentialNameOf(name),
  )
  const written = await store(kube, intent, { dryRun: order.dryRun, signal: order.deadline })
  if (!written.ok) return written

  if (!order.dryRun) {
    emit(issuedEvent(order.operation, application, release, { username, by: order.by }))
    if (isKnown(holder)) emit(leftoverEvent(release, secretName))
  }
  const shown = order.operation === 'Mint' && !order.dryRun
  return ok({ username, password: shown ? password : undefined, issuedAt, warnings: warningsOf(state) })
}

/** Whether the name is free for a write of ours, and is still what the caller saw. */
function checkHolder(holder: Holder, credential: string, { preconditions }: Order): Result<undefined> {
  if (holder.is === 'absent') return checkPreconditions(undefined, credential, preconditions)
  const { secret } = holder
  const { name, deletionTimestamp } = secret.metadata
  if (holder.is === 'foreign') {
    return fail({ reason: 'secret_foreign', name: credential, secret: name, why: holder.why })
  }
  if (deletionTimestamp !== undefined) {
    return fail({ reason: 'secret_terminating', name: credential, secret: name })
  }
  if (holder.is === 'ours' && secret.immutable === true) {
    return fail({ reason: 'secret_immutable', name: credential, secret: name })
  }
  return checkPreconditions(secret, credential, preconditions)
}

function checkPreconditions(
  secret: StoredSecret | undefined,
  name: string,
  { uid, resourceVersion }: CallerPreconditions,
): Result<undefined> {
  const fields = [
    ...(uid === undefined || uid === secret?.metadata.uid ? [] : ['uid']),
    ...(resourceVersion === undefined || resourceVersion === secret?.metadata.resourceVersion
      ? []
      : ['resourceVersion']),
  ]
  if (fields.length === 0) return ok(undefined)
  return fail({ reason: 'credential_changed', name, message: describeChange(name, secret), fields })
}

/** A leftover's history belongs to another account: the record starts anew. */
function recordOf(order: Order, holder: Holder, at: string): AccountRecord {
  const { operation, by, impersonator } = order
  const history = holder.is === 'ours' ? holder.record.history : []
  const entry = { operation, at, by, ...(impersonator === undefined ? {} : { impersonator }) }
  return { origin: operation === 'Mint' ? 'Minted' : 'Revoked', history: addEntry(history, entry) }
}

function intentOf(
  of: AccountSecretOf,
  holder: Holder,
  stored: string,
  record: AccountRecord,
  credential: string,
): Intent {
  const { namespace, name: secretName } = of
  const common = {
    credential,
    namespace,
    secretName,
    stored,
    before: holder.is === 'absent' ? undefined : holder.secret,
  }
  const secret = newSecret(of, stored, record)
  if (holder.is === 'ours') {
    const write = { kind: 'update', secret: changedSecret(of, holder.secret, stored, record) } as const
    return { ...common, write }
  }
  if (holder.is === 'leftover') {
    return { ...common, write: { kind: 'replace', leftover: holder.secret, secret } }
  }
  return { ...common, write: { kind: 'create', secret } }
}

const warningsOf = ({ release }: State): readonly string[] =>
  isSuspended(release)
    ? [
        `HelmRelease ${release.metadata.name} is suspended: an engine that is wired through Helm values applies the new password when it is resumed`,
      ]
    : []
