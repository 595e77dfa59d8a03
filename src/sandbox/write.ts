import type { Cause } from '../core/failure.ts'
import { isSameJson } from '../core/json.ts'
import { ok } from '../core/result.ts'
import { configMapCauses } from './config-maps.ts'
import { eventCauses } from './events.ts'
import { metadataCauses, metadataChangeCauses } from './metadata.ts'
import { checkNamespace, newNamespace } from './namespaces.ts'
import type { Metadata, ResourceType, SentObject, StoredObject } from './objects.ts'
import { checkQuota } from './quotas.ts'
import { roleCauses } from './roles.ts'
import { secretCauses } from './secrets.ts'
import {
  alreadyExists,
  badRequest,
  conflict,
  internalError,
  invalid,
  invalidValue,
  notFound,
  type Outcome,
  type Refused,
} from './status.ts'
import type { Store } from './store.ts'

/** What a write is about. */
export interface WriteTarget {
  readonly type: ResourceType
  /** `''` for a type without namespaces. */
  readonly namespace: string
  readonly name: string
  readonly isStatus: boolean
}

export interface Written {
  readonly object: StoredObject
  /** By a PUT to a name that was not there. */
  readonly isNew: boolean
}

const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again'

/** Checks in the order of kube-apiserver: admission, strategy, quota, storage. A dry run stops before storage. */
export function create(
  store: Store,
  { type, namespace }: Pick<WriteTarget, 'type' | 'namespace'>,
  sent: SentObject,
  dryRun: boolean,
): Outcome<StoredObject> {
  const { name: sentName = '', generateName } = sent.metadata
  const refused = checkNamespace(store, type, namespace, sentName || (generateName ?? ''))
  if (refused !== undefined) return refused
  const name =
    sentName === '' && generateName !== undefined ? `${generateName}${store.newSuffix()}` : sentName
  const object = bornAs(store, type, sent, name)
  const wrong = validate(type, object, undefined) ?? checkQuota(store, type, namespace, name)
  if (wrong !== undefined) return wrong
  const { resourceVersion = '0' } = sent.metadata
  if (resourceVersion !== '0')
    return internalError('resourceVersion should not be set on objects to be created')
  const old = store.find(type, namespace, name)
  if (old !== undefined) {
    return alreadyExists(type, name, old.metadata.deletionTimestamp ? 'object is being deleted: ' : '')
  }
  return ok(dryRun ? unversioned(object) : store.put(type, object))
}

/** `rest.BeforeCreate`: what a client cannot choose. */
function bornAs(store: Store, type: ResourceType, sent: SentObject, name: string): StoredObject {
  const { status: _status, ...rest } = sent
  const {
    resourceVersion: _version,
    deletionTimestamp: _deletion,
    deletionGracePeriodSeconds: _grace,
    ...metadata
  } = sent.metadata
  const object = {
    ...(type.newStatus === undefined ? sent : rest),
    ...(type.newStatus ? { status: type.newStatus } : {}),
    metadata: {
      ...metadata,
      name,
      uid: store.newUid(),
      resourceVersion: '',
      creationTimestamp: store.timestamp(),
      ...(type.custom ? { generation: 1 } : {}),
    },
  }
  return type.kind === 'Namespace' ? newNamespace(object) : object
}

function unversioned(object: StoredObject): StoredObject {
  const { resourceVersion: _version, ...metadata } = object.metadata
  return { ...object, metadata: metadata as Metadata }
}

/** A PUT. Answers the object as it is afterwards, also when it was the last finalizer that went and the object with it. */
export function update(
  store: Store,
  target: WriteTarget,
  sent: SentObject,
  dryRun: boolean,
): Outcome<Written> {
  const { type, namespace, name } = target
  const misnamed = checkName(sent.metadata, name)
  if (misnamed !== undefined) return misnamed
  const old = store.find(type, namespace, name)
  if (old === undefined) return updateAbsent(store, target, sent, dryRun)
  const refused = checkVersion(target, sent.metadata, old, dryRun)
  if (refused !== undefined) return refused

  const changed = target.isStatus ? withStatus(old, sent) : withContent(type, old, sent)
  const wrong = validate(type, changed, old)
  if (wrong !== undefined) return wrong
  if (isSameJson(changed, old)) return ok({ object: old, isNew: false })
  const object = bumped(type, changed, old)
  if (dryRun) return ok({ object, isNew: false })
  const { deletionTimestamp, finalizers = [] } = object.metadata
  if (deletionTimestamp === undefined || finalizers.length > 0) {
    return ok({ object: store.put(type, object), isNew: false })
  }
  store.remove(type, object)
  return ok({ object, isNew: false })
}

function updateAbsent(
  store: Store,
  target: WriteTarget,
  sent: SentObject,
  dryRun: boolean,
): Outcome<Written> {
  if (!target.type.createdByUpdate) return notFound(target.type, target.name)
  const created = create(store, target, sent, dryRun)
  return created.ok ? ok({ object: created.value, isNew: true }) : created
}

function checkName({ name = '' }: Partial<Metadata>, urlName: string): Refused | undefined {
  if (name === urlName) return undefined
  if (name !== '')
    return badRequest(`the name of the object (${name}) does not match the name on the URL (${urlName})`)
  return badRequest(
    `the name of the object (${urlName} based on URL) was undeterminable: name must be provided`,
  )
}

/** An absent or empty version, or "0", asks for no check; custom resources insist on one. */
function checkVersion(
  target: WriteTarget,
  { uid = '', resourceVersion = '0' }: Partial<Metadata>,
  { metadata }: StoredObject,
  dryRun: boolean,
): Refused | undefined {
  const { type, name } = target
  if (!/^\d+$/.test(resourceVersion)) {
    return internalError(`strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`)
  }
  if (uid !== '' && uid !== metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`
    const key = storageKey(target, dryRun)
    return conflict(
      type,
      name,
      `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`,
    )
  }
  if (resourceVersion !== '0') {
    return resourceVersion === metadata.resourceVersion ? undefined : conflict(type, name, MODIFIED)
  }
  if (!type.custom) return undefined
  const kind = type.plural
  return invalid({ group: type.group, kind }, name, [
    invalidValue('metadata.resourceVersion', 0, 'must be specified for an update'),
  ])
}

const storageKey = ({ type, namespace, name }: WriteTarget, dryRun: boolean): string =>
  [dryRun ? '' : '/registry', type.custom ? type.group : undefined, type.plural, namespace || undefined, name]
    .filter((part) => part !== undefined)
    .join('/')

function withContent(type: ResourceType, old: StoredObject, sent: SentObject): StoredObject {
  const { status, spec } = old
  const metadata = { ...sent.metadata, ...fixed(old.metadata) }
  if (type.kind === 'Namespace') return newNamespace({ ...sent, metadata, spec, status })
  if (type.newStatus === undefined) return { ...sent, metadata }
  const { status: _sent, ...rest } = sent
  return { ...rest, metadata, ...(status === undefined ? {} : { status }) } as StoredObject
}

function withStatus(old: StoredObject, { status }: SentObject): StoredObject {
  const { status: _old, ...rest } = old
  return status === undefined ? (rest as StoredObject) : ({ ...rest, status } as StoredObject)
}

/** What no update changes. */
const fixed = (metadata: Metadata): Metadata => {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata
  const { deletionTimestamp, deletionGracePeriodSeconds, generation } = metadata
  return {
    name,
    uid,
    resourceVersion,
    creationTimestamp,
    ...(namespace === undefined ? {} : { namespace }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(deletionGracePeriodSeconds === undefined ? {} : { deletionGracePeriodSeconds }),
    ...(generation === undefined ? {} : { generation }),
  }
}

/** The generation of a custom resource counts changes of what it asks for. */
function bumped(type: ResourceType, object: StoredObject, old: StoredObject): StoredObject {
  if (!type.custom || isSameJson(object.spec, old.spec)) return object
  return { ...object, metadata: { ...object.metadata, generation: (old.metadata.generation ?? 0) + 1 } }
}

function validate(
  type: ResourceType,
  object: StoredObject,
  old: StoredObject | undefined,
): Refused | undefined {
  const metadata = [
    ...(old === undefined ? [] : metadataChangeCauses(object.metadata, old.metadata)),
    ...metadataCauses(type, object.metadata),
  ]
  const causes = contentCauses(type, object, old, metadata)
  if (causes.length === 0) return undefined
  // The strategy of Events is that of the core group.
  return invalid(type.kind === 'Event' ? { group: '', kind: 'Event' } : type, object.metadata.name, causes)
}

function contentCauses(
  { kind, group }: ResourceType,
  object: StoredObject,
  old: StoredObject | undefined,
  metadata: readonly Cause[],
): readonly Cause[] {
  if (kind === 'Event') return eventCauses(object, metadata)
  if (kind === 'Secret') return [...metadata, ...secretCauses(object, old)]
  if (kind === 'ConfigMap') return [...metadata, ...configMapCauses(object, old)]
  return group === 'rbac.authorization.k8s.io' ? [...metadata, ...roleCauses(object, old)] : metadata
}
