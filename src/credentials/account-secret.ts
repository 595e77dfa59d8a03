import { at, filledAt, isObject, textAt } from '../core/json.ts'
import { decodeData, encodeData } from '../core/text.ts'
import type { HelmRelease, ObjectMeta, OwnerReference, Secret, StoredSecret } from '../k8s/objects.ts'
import { type Application, GROUP_LABEL, KIND_LABEL, NAME_LABEL } from './application.ts'
import { type AccountRecord, mayBeKnown, readRecord, writeRecord } from './record.ts'

export const ACCOUNT_LABEL = 'credentials.cozystack.io/account'
const RELEASE_UID = 'credentials.cozystack.io/release-uid'
/** An operator's mark from around a backup and restore: the next release of this name may take the Secret over. */
const ADOPT = 'credentials.cozystack.io/adopt'

const SECRET_TYPE = 'kubernetes.io/basic-auth'
const FLUX_GROUP = 'helm.toolkit.fluxcd.io'

/** What stands at an account Secret's name. Only `ours` is updated and only a `leftover` is replaced. */
export type Holder =
  | { readonly is: 'absent' }
  | { readonly is: 'ours'; readonly secret: StoredSecret; readonly record: AccountRecord }
  | { readonly is: 'leftover'; readonly secret: StoredSecret; readonly record: AccountRecord }
  | { readonly is: 'foreign'; readonly secret: StoredSecret; readonly why: string }

/** What an account Secret is written for. */
export interface AccountSecretOf {
  readonly name: string
  readonly namespace: string
  readonly username: string
  readonly application: Application
  readonly release: HelmRelease
  readonly secretLabels: Readonly<Record<string, string>>
}

/** The username that an account Secret holds; undefined when it is missing or no UTF-8. */
export const usernameIn = (secret: Secret): string | undefined =>
  decodeData(textAt(secret, 'data', 'username'))

/** Whether the stored value is exactly this one. */
export const holdsValue = (secret: Secret, stored: string): boolean =>
  textAt(secret, 'data', 'password') === encodeData(stored)

/**
 * Ours: our origin, our type, this username, and every mark of a release there is names this very HelmRelease by UID.
 * A leftover is an account Secret of another release UID or username. Anything else is foreign.
 */
export function holderOf(secret: StoredSecret | undefined, username: string, releaseUid: string): Holder {
  if (secret === undefined) return { is: 'absent' }
  const record = readRecord(secret.metadata.annotations)
  if (record === undefined) return { is: 'foreign', secret, why: 'it was not written by mintonce' }
  if (secret.type !== SECRET_TYPE) {
    return { is: 'foreign', secret, why: `its type is not ${SECRET_TYPE}, and a type cannot change` }
  }
  const marks = marksOf(secret.metadata)
  const adoptable = textAt(secret.metadata, 'annotations', ADOPT) === 'true'
  const marked = marks.length > 0 ? marks.every((uid) => uid === releaseUid) : adoptable
  return { is: marked && usernameIn(secret) === username ? 'ours' : 'leftover', secret, record }
}

/** Whether a holder's password may be in somebody's hands: replacing it deserves a warning. */
export const isKnown = (holder: Holder): boolean =>
  holder.is === 'leftover' && mayBeKnown(holder.record.origin)

/** The object for a name that nothing holds. */
export function newSecret(of: AccountSecretOf, stored: string, record: AccountRecord): Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: SECRET_TYPE,
    metadata: metaOf(of, record, { name: of.name, namespace: of.namespace }),
    data: { username: encodeData(of.username), password: encodeData(stored) },
  }
}

/** The object that was read with a new value and record. Keys, labels, annotations and owners of others stay. */
export function changedSecret(
  of: AccountSecretOf,
  current: StoredSecret,
  stored: string,
  record: AccountRecord,
): StoredSecret {
  const { uid, resourceVersion } = current.metadata
  return {
    ...current,
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metaOf(of, record, current.metadata), uid, resourceVersion },
    data: { ...current.data, username: encodeData(of.username), password: encodeData(stored) },
  }
}

function metaOf(of: AccountSecretOf, record: AccountRecord, current: ObjectMeta): ObjectMeta {
  const { [ADOPT]: _adopted, ...annotations } = current.annotations ?? {}
  return {
    ...current,
    labels: {
      ...current.labels,
      ...of.secretLabels,
      [ACCOUNT_LABEL]: 'true',
      [GROUP_LABEL]: of.application.group,
      [KIND_LABEL]: of.application.kind,
      [NAME_LABEL]: of.application.name,
    },
    annotations: { ...annotations, ...writeRecord(record), [RELEASE_UID]: of.release.metadata.uid },
    ownerReferences: [
      ...(current.ownerReferences ?? []).filter((reference) => !isHelmRelease(reference)),
      ownerOf(of.release),
    ],
  }
}

const ownerOf = ({ metadata }: HelmRelease): OwnerReference => ({
  apiVersion: `${FLUX_GROUP}/v2`,
  kind: 'HelmRelease',
  name: metadata.name,
  uid: metadata.uid,
  controller: false,
  blockOwnerDeletion: false,
})

const isHelmRelease = (reference: unknown): boolean =>
  at(reference, 'kind') === 'HelmRelease' && filledAt(reference, 'apiVersion')?.split('/')[0] === FLUX_GROUP

/** Every UID that says which release the Secret belongs to. */
function marksOf(metadata: ObjectMeta): readonly unknown[] {
  const references = Array.isArray(metadata.ownerReferences) ? metadata.ownerReferences : []
  const owners = references.filter((reference) => isObject(reference) && isHelmRelease(reference))
  const annotated = textAt(metadata, 'annotations', RELEASE_UID)
  return [...owners.map((owner) => at(owner, 'uid')), ...(annotated === undefined ? [] : [annotated])]
}
