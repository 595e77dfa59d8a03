import { own, textAt } from '../core/json.ts'
import { decodeData, encodeData } from '../core/text.ts'
import type { HelmRelease, ObjectMeta, OwnerReference, Secret, StoredSecret } from '../k8s/objects.ts'
import { type Application, GROUP_LABEL, KIND_LABEL, NAME_LABEL } from './application.ts'
import { type AccountRecord, mayBeKnown, readRecord, writeRecord } from './record.ts'

export const ACCOUNT_LABEL = 'credentials.cozystack.io/account'
const RELEASE_UID = 'credentials.cozystack.io/release-uid'
/** An operator's mark from around a backup and restore: the next release of this name may take the Secret over. */
const ADOPT = 'credentials.cozystack.io/adopt'
/** By which rules the account was declared when that was looked at last. */
const DECLARED_BY = 'credentials.cozystack.io/declared-by'
/** When the account was first seen undeclared. */
const UNDECLARED_SINCE = 'credentials.cozystack.io/undeclared-since'

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
  /** `CredentialRules.declaredBy`. */
  readonly declaredBy?: string | undefined
}

/** The username that an account Secret holds; undefined when it is missing or no UTF-8. */
export const usernameIn = (secret: Secret): string | undefined =>
  decodeData(textAt(secret, 'data', 'username'))

/** What the engine is given; undefined when it is missing or no UTF-8. */
export const storedValueIn = (secret: Secret): string | undefined =>
  decodeData(textAt(secret, 'data', 'password'))

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
  if (!hasOurType(secret)) {
    return { is: 'foreign', secret, why: `its type is not ${SECRET_TYPE}, and a type cannot change` }
  }
  const marks = marksOf(secret.metadata)
  const marked = marks.length > 0 ? marks.every((uid) => uid === releaseUid) : isAdoptable(secret)
  return { is: marked && usernameIn(secret) === username ? 'ours' : 'leftover', secret, record }
}

/** Whether a holder's password may be in somebody's hands: replacing it deserves a warning. */
export const isKnown = (holder: Holder): boolean =>
  holder.is === 'leftover' && mayBeKnown(holder.record.origin)

/** Whether both marks are there and name this release, and an operator's mark is used up. */
export function isAdopted({ metadata }: StoredSecret, releaseUid: string): boolean {
  const { annotations, ownerReferences } = metadata
  const isOwner = (reference: unknown) => isHelmRelease(reference) && own(reference, 'uid') === releaseUid
  return (
    Array.isArray(ownerReferences) &&
    ownerReferences.some(isOwner) &&
    textAt(annotations, RELEASE_UID) === releaseUid &&
    textAt(annotations, ADOPT) === undefined
  )
}

/** The UID of the release that a Secret says it is of; undefined when it says nothing, or two things. */
export function releaseUidIn({ metadata }: StoredSecret): string | undefined {
  const uids = new Set(marksOf(metadata))
  const [uid] = uids
  return uids.size === 1 && typeof uid === 'string' ? uid : undefined
}

/** Whether a HelmRelease owns it: then the garbage collector removes it with its owner. */
export const hasOwner = ({ metadata }: StoredSecret): boolean =>
  Array.isArray(metadata.ownerReferences) && metadata.ownerReferences.some(isHelmRelease)

/** Whether it is of the one type that account Secrets have. */
export const hasOurType = ({ type }: Secret): boolean => type === SECRET_TYPE

/** Whether an operator has marked it for the next release of its name. */
export const isAdoptable = ({ metadata }: StoredSecret): boolean =>
  textAt(metadata.annotations, ADOPT) === 'true'

/** Since when the account is undeclared, RFC 3339; undefined when it is declared, as far as anybody has seen. */
export const undeclaredSince = ({ metadata }: StoredSecret): string | undefined =>
  textAt(metadata.annotations, UNDECLARED_SINCE)

/** By which rules the account was declared when it was looked at last; undefined when it does not say. */
export const declaredByIn = ({ metadata }: StoredSecret): string | undefined =>
  textAt(metadata.annotations, DECLARED_BY)

const declaredMark = (declaredBy: string | undefined): Readonly<Record<string, string>> =>
  declaredBy === undefined ? {} : { [DECLARED_BY]: declaredBy }

/**
 * The object that was read, adopted by its release and declared again, by these rules (`CredentialRules.declaredBy`).
 * Its value stays, and its record as it reads.
 */
export function adoptedSecret(
  current: StoredSecret,
  release: HelmRelease,
  declaredBy?: string,
): StoredSecret {
  const { [ADOPT]: _adopted, [UNDECLARED_SINCE]: _undeclared, ...annotations } = repaired(current)
  return withMeta(current, {
    annotations: { ...annotations, ...declaredMark(declaredBy), [RELEASE_UID]: release.metadata.uid },
    ownerReferences: ownersWith(current.metadata, release),
  })
}

/** The object that was read, as a seed for the release that is about to be stored: by its UID, and nobody's yet. */
export function reassignedSeed(current: StoredSecret, releaseUid: string): StoredSecret {
  return withMeta(current, { annotations: { ...repaired(current), [RELEASE_UID]: releaseUid } })
}

/** The object that was read, marked as undeclared at this time. */
export const undeclaredSecret = (current: StoredSecret, at: string): StoredSecret =>
  withMeta(current, { annotations: { ...repaired(current), [UNDECLARED_SINCE]: at } })

/** The object that was read, given up by its release: the next release of its name may take it over. */
export function adoptableSecret(current: StoredSecret): StoredSecret {
  const { [RELEASE_UID]: _release, [UNDECLARED_SINCE]: _undeclared, ...annotations } = repaired(current)
  return withMeta(current, {
    annotations: { ...annotations, [ADOPT]: 'true' },
    ownerReferences: (current.metadata.ownerReferences ?? []).filter((each) => !isHelmRelease(each)),
  })
}

/**
 * Its annotations, with the record as it reads: a history that somebody has made as long as annotations may be
 * (`k8s.io/apimachinery/pkg/api/validation`, TotalAnnotationSizeLimitB) would leave no room for one more.
 */
function repaired({ metadata: { annotations } }: StoredSecret): Readonly<Record<string, string>> {
  const record = readRecord(annotations)
  return { ...annotations, ...(record && writeRecord(record)) }
}

const withMeta = (current: StoredSecret, more: Partial<ObjectMeta>): StoredSecret => ({
  ...current,
  metadata: { ...current.metadata, ...more },
})

/** The object for a name that nothing holds, without an owner: for a release that is about to be stored. */
export function newSeed(of: AccountSecretOf, stored: string, record: AccountRecord): Secret {
  const { metadata, ...secret } = newSecret(of, stored, record)
  const { ownerReferences: _notYet, ...rest } = metadata
  return { ...secret, metadata: rest }
}

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
  const { [ADOPT]: _adopted, [UNDECLARED_SINCE]: _undeclared, ...annotations } = current.annotations ?? {}
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
    annotations: {
      ...annotations,
      ...writeRecord(record),
      ...declaredMark(of.declaredBy),
      [RELEASE_UID]: of.release.metadata.uid,
    },
    ownerReferences: ownersWith(current, of.release),
  }
}

const ownersWith = (current: ObjectMeta, release: HelmRelease): readonly OwnerReference[] => [
  ...(current.ownerReferences ?? []).filter((reference) => !isHelmRelease(reference)),
  ownerOf(release),
]

const ownerOf = ({ metadata }: HelmRelease): OwnerReference => ({
  apiVersion: `${FLUX_GROUP}/v2`,
  kind: 'HelmRelease',
  name: metadata.name,
  uid: metadata.uid,
  controller: false,
  blockOwnerDeletion: false,
})

function isHelmRelease(reference: unknown): boolean {
  const version = textAt(reference, 'apiVersion')
  return (
    own(reference, 'kind') === 'HelmRelease' &&
    (version === FLUX_GROUP || version?.startsWith(`${FLUX_GROUP}/`) === true)
  )
}

/** Every UID that says which release the Secret belongs to. */
function marksOf(metadata: ObjectMeta): readonly unknown[] {
  const { ownerReferences, annotations } = metadata
  const marks: unknown[] = []
  for (const reference of Array.isArray(ownerReferences) ? ownerReferences : []) {
    if (isHelmRelease(reference)) marks.push(own(reference, 'uid'))
  }
  const annotated = textAt(annotations, RELEASE_UID)
  if (annotated !== undefined) marks.push(annotated)
  return marks
}
