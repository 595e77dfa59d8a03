import { textAt } from '../core/json.ts'
import { ok, type Result } from '../core/result.ts'
import { parseTimestamp } from '../core/text.ts'
import type { CallOptions, Kube, ListOptions } from '../k8s/kube.ts'
import { listAll } from '../k8s/list-all.ts'
import type { StoredSecret } from '../k8s/objects.ts'
import { credentialOfSecret } from './naming.ts'
import { ACCOUNT_SELECTOR } from './view.ts'

/** An account Secret as a sweep keeps it while it looks at all the others. */
export interface ListedSecret {
  /** Without its managed fields, which are as long as all the rest. */
  readonly secret: StoredSecret
  /** The release that its name begins with. */
  readonly release: string
  /**
   * When it was written last, in milliseconds since the epoch; undefined when it does not say, or has an owner: nobody
   * asks then.
   */
  readonly touchedAt: number | undefined
}

/** By `releaseKey`. */
export type ListedSecrets = ReadonlyMap<string, readonly ListedSecret[]>

export const releaseKey = (namespace: string | undefined, release: string): string =>
  `${namespace ?? ''}/${release}`

/** The Secrets of all namespaces that have our label and the name of an account Secret, by their releases. */
export async function listAccountSecrets(
  { listSecrets }: Pick<Kube, 'listSecrets'>,
  options: CallOptions,
): Promise<Result<ListedSecrets>> {
  const list = (page: ListOptions) => listSecrets(undefined, page)
  const listed = await listAll(list, { ...options, labelSelector: ACCOUNT_SELECTOR }, listedOf)
  if (!listed.ok) return listed
  return ok(
    Map.groupBy(listed.value, ({ secret, release }) => releaseKey(secret.metadata.namespace, release)),
  )
}

type Managed = StoredSecret['metadata'] & { readonly managedFields?: unknown }

function listedOf(secret: StoredSecret): ListedSecret | undefined {
  const name = credentialOfSecret(secret.metadata.name)
  if (name === undefined) return undefined
  const { managedFields, ...metadata }: Managed = secret.metadata
  const isOwned = (metadata.ownerReferences ?? []).length > 0
  const touchedAt = isOwned ? undefined : latestOf([metadata.creationTimestamp, ...timesIn(managedFields)])
  return { secret: { ...secret, metadata }, release: name.release, touchedAt }
}

/** When each writer wrote last (`metav1.ManagedFieldsEntry`): a seed that is taken over keeps its date of creation. */
const timesIn = (managedFields: unknown): readonly (string | undefined)[] =>
  Array.isArray(managedFields) ? managedFields.map((entry) => textAt(entry, 'time')) : []

/** Without the first of them, which each object has, nothing is known. */
function latestOf([created, ...written]: readonly (string | undefined)[]): number | undefined {
  const first = parseTimestamp(created ?? '')
  if (first === undefined) return undefined
  return written.reduce((latest, time) => Math.max(latest, parseTimestamp(time ?? '') ?? 0), first)
}
