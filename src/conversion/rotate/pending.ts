import { isObject, own, parseJson, textAt } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { decodeData, encodeData } from '../../core/text.ts'
import type { Secret, StoredSecret } from '../../k8s/objects.ts'
import type { ReleaseTarget, RotationServices } from './rotator.ts'

/** A new password on its way: kept until the engine and the Secret that its readers read both have it. */
export interface PendingAccount {
  readonly username: string
  /** Of the Secret that its readers read. */
  readonly key: string
  readonly password: string
  /** What that Secret held before, as it stood in its `data`. */
  readonly previous: string
}

export interface Pending {
  readonly secret: StoredSecret
  readonly accounts: readonly PendingAccount[]
}

/** In the platform's namespace. A UID is one of a DNS name's forms. */
export const pendingNameOf = (releaseUid: string): string => `credential-rotation-${releaseUid}`

/** All of it under one key, as JSON. */
const KEY = 'rotation'
/** For whoever finds it: of which release it is. */
const OF = 'credentials.cozystack.io/rotation-of'

type Services = Pick<RotationServices, 'kube' | 'platformNamespace'>

/** Undefined when no rotation of the release is under way. `unreadable` when somebody has edited what is kept. */
export async function readPending(
  { kube, platformNamespace }: Services,
  releaseUid: string,
): Promise<Result<Pending | 'unreadable' | undefined>> {
  const read = await kube.getSecret(platformNamespace, pendingNameOf(releaseUid))
  if (!read.ok || read.value === undefined) return read.ok ? ok(undefined) : read
  const accounts = accountsIn(read.value)
  return ok(accounts === undefined ? 'unreadable' : { secret: read.value, accounts })
}

/** Kept before anything is changed by it. What somebody else has begun meanwhile counts, and is answered instead. */
export async function keepPending(
  { kube, platformNamespace }: Services,
  of: ReleaseTarget & { readonly uid: string; readonly accounts: readonly PendingAccount[] },
): Promise<Result<Pending | 'unreadable'>> {
  const secret: Secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      name: pendingNameOf(of.uid),
      namespace: platformNamespace,
      annotations: { [OF]: `${of.namespace}/${of.release}` },
    },
    data: { [KEY]: encodeData(JSON.stringify({ accounts: of.accounts })) },
  }
  const created = await kube.createSecret(secret)
  if (!created.ok && created.failure.reason !== 'kube_exists') return created
  const read = await readPending({ kube, platformNamespace }, of.uid)
  if (!read.ok) return read
  return read.value === undefined ? fail({ reason: 'kube_absent' }) : ok(read.value)
}

/** Others label what they find, or back it up: it is another version then, and as done with as before. */
const MAX_TRIES = 10

/**
 * Deletes what has come to its end, by the very version that was read. Gone already is as good. What is pending under
 * that name by now, and says something else, is left alone: `kube_conflict` when it is another value of this rotation.
 */
export async function dropPending(
  { kube, platformNamespace }: Services,
  pending: Pending,
): Promise<Result<undefined>> {
  const { name, uid } = pending.secret.metadata
  let { resourceVersion } = pending.secret.metadata
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const deleted = await kube.deleteSecret(platformNamespace, name, { uid, resourceVersion })
    if (deleted.ok || deleted.failure.reason === 'kube_absent') return ok(undefined)
    if (deleted.failure.reason !== 'kube_conflict') return deleted
    const read = await kube.getSecret(platformNamespace, name)
    if (!read.ok) return read
    if (read.value?.metadata.uid !== uid) return ok(undefined)
    if (textAt(read.value, 'data', KEY) !== textAt(pending.secret, 'data', KEY)) return deleted
    resourceVersion = read.value.metadata.resourceVersion
  }
  return fail({ reason: 'kube_conflict' })
}

function accountsIn(secret: StoredSecret): readonly PendingAccount[] | undefined {
  const kept = own(parseJson(decodeData(textAt(secret, 'data', KEY)) ?? ''), 'accounts')
  return Array.isArray(kept) && kept.length > 0 && kept.every(isAccount) ? kept : undefined
}

const isAccount = (value: unknown): value is PendingAccount =>
  isObject(value) &&
  ['username', 'key', 'password'].every((field) => Boolean(textAt(value, field))) &&
  textAt(value, 'previous') !== undefined
