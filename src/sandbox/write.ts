import { at, isObject, own, textAt } from '../core/json.ts'
import { isDnsSubdomain } from '../k8s/names.ts'
import {
  apiVersionOf,
  type Metadata,
  RESOURCE_TYPES,
  type ResourceType,
  type StoredObject,
} from './objects.ts'
import { alreadyExists, badRequest, conflict, forbidden, internalError, invalid, notFound } from './status.ts'
import type { Store } from './store.ts'
import { prune, validate } from './validate.ts'

export interface WriteOptions {
  readonly dryRun: boolean
}

const NAMESPACES = RESOURCE_TYPES.find(({ plural }) => plural === 'namespaces')
const QUOTAS = RESOURCE_TYPES.find(({ plural }) => plural === 'resourcequotas')
const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again'

export function create(
  store: Store,
  type: ResourceType,
  namespace: string,
  body: unknown,
  { dryRun }: WriteOptions,
): StoredObject {
  const sent = readObject(type, body)
  const uid = store.newUid()
  const generated = textAt(body, 'metadata', 'generateName')
  const name =
    textAt(body, 'metadata', 'name') ?? (generated === undefined ? '' : `${generated}${uid.slice(0, 5)}`)
  if (name === '')
    throw invalid(type, '', 'metadata.name', 'Required value: name or generateName is required')
  checkNamespace(store, type, namespace, name)
  checkGenerateName(type, name, generated)

  const { resourceVersion: _version, deletionTimestamp: _deletion, ...metadata } = sent.metadata
  const object = prune(type, {
    ...sent,
    metadata: {
      ...metadata,
      name,
      ...(namespace === '' ? {} : { namespace }),
      uid,
      resourceVersion: '',
      creationTimestamp: store.timestamp(),
      ...(type.group === '' ? {} : { generation: 1 }),
    },
  })
  validate(type, object, undefined)
  if (store.find(type, namespace, name) !== undefined) throw alreadyExists(type, name)
  checkQuota(store, type, namespace, name)
  return dryRun
    ? { ...object, metadata: { ...object.metadata, resourceVersion: '' } }
    : store.put(type, object)
}

export function update(
  store: Store,
  type: ResourceType,
  namespace: string,
  name: string,
  body: unknown,
  { dryRun }: WriteOptions,
): StoredObject {
  const sent = readObject(type, body)
  checkIdentity(sent.metadata, namespace, name)
  const old = store.find(type, namespace, name)
  if (old === undefined) throw notFound(type, name)
  checkVersion(type, sent.metadata, old)
  const object = prune(type, { ...sent, metadata: { ...sent.metadata, ...fixed(old.metadata) } })
  validate(type, object, old)
  if (isSame(object, old)) return old
  if (type.group !== '' && JSON.stringify(object.spec) !== JSON.stringify(old.spec)) {
    object.metadata.generation = (old.metadata.generation ?? 1) + 1
  }
  if (dryRun) return object
  const gone =
    object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).length === 0
  if (!gone) return store.put(type, object)
  store.remove(type, object)
  return object
}

/** An absent, empty or "0" version asks for no check. */
function checkVersion(type: ResourceType, sent: Partial<Metadata>, { metadata }: StoredObject): void {
  const { uid, resourceVersion = '' } = sent
  if (uid !== undefined && uid !== '' && uid !== metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`
    throw conflict(type, metadata.name, `StorageError: invalid object, Code: 4, ${why}`)
  }
  if (!/^\d*$/.test(resourceVersion)) throw internalError('Invalid value: "resourceVersion" must be a number')
  const unconditional = resourceVersion === '' || resourceVersion === '0'
  if (!unconditional && resourceVersion !== metadata.resourceVersion)
    throw conflict(type, metadata.name, MODIFIED)
}

/** Answers the object while finalizers hold it, and undefined when it is gone. */
export function remove(
  store: Store,
  type: ResourceType,
  namespace: string,
  name: string,
  body: unknown,
  { dryRun }: WriteOptions,
): { readonly held: StoredObject | undefined; readonly removed: StoredObject } {
  const old = store.find(type, namespace, name)
  if (old === undefined) throw notFound(type, name)
  for (const field of ['uid', 'resourceVersion'] as const) {
    const wanted = at(body, 'preconditions', field)
    if (typeof wanted === 'string' && wanted !== old.metadata[field]) {
      throw conflict(
        type,
        name,
        `Precondition failed: ${field} in precondition: ${wanted}, ${field} in object meta: ${old.metadata[field]}`,
      )
    }
  }
  if (dryRun) return { held: undefined, removed: old }
  if ((old.metadata.finalizers ?? []).length === 0) {
    store.remove(type, old)
    return { held: undefined, removed: old }
  }
  const deletionTimestamp = old.metadata.deletionTimestamp ?? store.timestamp()
  return { held: store.put(type, { ...old, metadata: { ...old.metadata, deletionTimestamp } }), removed: old }
}

function readObject(type: ResourceType, body: unknown): StoredObject & { metadata: Partial<Metadata> } {
  if (!isObject(body)) throw badRequest('the object provided is unrecognized')
  const kind = textAt(body, 'kind') ?? type.kind
  const apiVersion = textAt(body, 'apiVersion') ?? apiVersionOf(type)
  if (kind !== type.kind || apiVersion !== apiVersionOf(type)) {
    throw badRequest(`${kind} in version ${JSON.stringify(apiVersion)} cannot be handled as a ${type.kind}`)
  }
  const metadata = own(body, 'metadata') ?? {}
  if (!isObject(metadata)) throw badRequest('json: cannot unmarshal into Go struct field metadata')
  return { ...body, apiVersion, kind, metadata } as unknown as StoredObject
}

function checkIdentity(metadata: Partial<Metadata>, namespace: string, name: string): void {
  if (metadata.name !== undefined && metadata.name !== name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`)
  }
  if (metadata.namespace !== undefined && metadata.namespace !== namespace) {
    throw badRequest(
      `the namespace of the object (${metadata.namespace}) does not match the namespace on the request (${namespace})`,
    )
  }
}

/** A dash is the only end of a prefix that is no end of a name (`api/validation/generic.go`, maskTrailingDash). */
function checkGenerateName(type: ResourceType, name: string, prefix: string | undefined): void {
  if (prefix === undefined || isDnsSubdomain(prefix.replace(/-$/, 'a'))) return
  throw invalid(
    type,
    name,
    'metadata.generateName',
    `Invalid value: ${JSON.stringify(prefix)}: no prefix of a name`,
  )
}

/** `plugin/pkg/admission/namespace/lifecycle`. */
function checkNamespace(store: Store, type: ResourceType, namespace: string, name: string): void {
  if (!type.namespaced || NAMESPACES === undefined) return
  const found = store.find(NAMESPACES, '', namespace)
  if (found === undefined) throw notFound(NAMESPACES, namespace)
  if (found.metadata.deletionTimestamp === undefined) return
  const message = `namespace ${namespace} is being terminated`
  const causes = [{ reason: 'NamespaceTerminating', message, field: 'metadata.namespace' }]
  throw forbidden(
    type,
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    causes,
  )
}

/** `plugin/pkg/admission/resourcequota`, for numbers of objects. */
function checkQuota(store: Store, type: ResourceType, namespace: string, name: string): void {
  if (QUOTAS === undefined || !type.namespaced) return
  for (const quota of store.list(QUOTAS, namespace)) {
    for (const resource of [type.plural, `count/${type.plural}`]) {
      const limit = at(quota, 'spec', 'hard', resource)
      if (limit === undefined) continue
      const used = store.list(type, namespace).length
      if (used < Number(limit)) continue
      throw forbidden(
        type,
        name,
        `exceeded quota: ${quota.metadata.name}, requested: ${resource}=1, used: ${resource}=${used}, limited: ${resource}=${limit}`,
      )
    }
  }
}

const fixed = ({
  name,
  namespace,
  uid,
  resourceVersion,
  creationTimestamp,
  deletionTimestamp,
  generation,
}: Metadata) => ({
  name,
  uid,
  resourceVersion,
  creationTimestamp,
  ...(namespace === undefined ? {} : { namespace }),
  ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
  ...(generation === undefined ? {} : { generation }),
})

/** JSON with sorted keys: equal for equal objects. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  )
const isSame = (a: StoredObject, b: StoredObject): boolean => canonical(a) === canonical(b)
