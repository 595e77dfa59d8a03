import { isObject } from '../core/json.ts'
import { ok } from '../core/result.ts'
import { aggregateRoles, collectGarbage, emptyNamespaces } from './controllers.ts'
import { decodeBody, decodeObject, mediaTypeOf, parseBody } from './decode.ts'
import { jsonPatch } from './json-patch.ts'
import { type Lister, listOf } from './list.ts'
import { DEFINITIONS, QUOTAS, type ResourceType, type StoredObject } from './objects.ts'
import { readDeleteOptions, readDryRun } from './options.ts'
import { mergePatch } from './patch.ts'
import { withQuotaStatus } from './quotas.ts'
import { end, remove, removedDetails } from './remove.ts'
import {
  answer,
  methodNotAllowed,
  notFound,
  type Outcome,
  type Refused,
  unsupportedMediaType,
} from './status.ts'
import type { Store } from './store.ts'
import { create, update, type WriteTarget } from './write.ts'

/** The API of what is stored. */
export interface Cluster {
  readonly store: Store
  readonly lister: Lister
  /** Whether the CRD of ApplicationDefinition keeps `spec.credentials`. */
  isDefinitionPatched: boolean
  /** Whether the garbage collector looks after every write, not only after a delete. */
  readonly collectsOnWrite: boolean
}

/** A request about a type that is served, after authentication and authorisation. */
export interface ResourceRequest extends WriteTarget {
  readonly verb: string
  readonly query: URLSearchParams
  readonly text: string
  readonly contentType: string
}

type Handler = (cluster: Cluster, request: ResourceRequest) => Outcome<Response>

const HANDLERS: Readonly<Record<string, Handler>> = {
  get: onGet,
  list: onList,
  create: onCreate,
  update: onUpdate,
  patch: onPatch,
  delete: onDelete,
  deletecollection: onDeleteCollection,
}

/** Whether the path takes the method, before a body is looked at. */
function checkMethod({ verb, type, namespace, name, isStatus }: ResourceRequest): Refused | undefined {
  const isOne = name !== ''
  const fits =
    verb === 'create' ? !isOne && (!type.namespaced || namespace !== '') : Object.hasOwn(HANDLERS, verb)
  const isMisplaced =
    (['update', 'patch'].includes(verb) && !isOne) ||
    (verb === 'deletecollection' && (type.namespaced ? namespace === '' : type.kind === 'Namespace')) ||
    (isStatus && !['get', 'update', 'patch'].includes(verb))
  return fits && !isMisplaced ? undefined : methodNotAllowed()
}

/** One request, at once: nothing comes between its reads and its write. */
export function onResource(cluster: Cluster, request: ResourceRequest): Outcome<Response> {
  return checkMethod(request) ?? HANDLERS[request.verb]?.(cluster, request) ?? methodNotAllowed()
}

function onGet(cluster: Cluster, { type, namespace, name }: ResourceRequest): Outcome<Response> {
  const found = cluster.store.find(type, namespace, name)
  return found === undefined ? notFound(type, name) : ok(answer(shown(cluster, type, found)))
}

function onList(cluster: Cluster, { type, namespace, query }: ResourceRequest): Outcome<Response> {
  const isOfAll = type.namespaced && namespace === ''
  const page = cluster.lister.list(type, isOfAll ? undefined : namespace, query)
  return page.ok ? ok(answer(listOf(type, page.value, (object) => shown(cluster, type, object)))) : page
}

function onCreate(cluster: Cluster, request: ResourceRequest): Outcome<Response> {
  const { type, namespace, query, text, contentType } = request
  const dryRun = readDryRun('CreateOptions', query)
  if (!dryRun.ok) return dryRun
  const body = decodeBody(type.kind, text, contentType)
  if (!body.ok) return body
  const sent = decodeObject(type, namespace, pruned(cluster, type, body.value))
  if (!sent.ok) return sent
  const created = create(cluster.store, request, sent.value, dryRun.value)
  if (!created.ok) return created
  settle(cluster, type)
  return ok(answer(shown(cluster, type, created.value), 201))
}

function onUpdate(cluster: Cluster, request: ResourceRequest): Outcome<Response> {
  const dryRun = readDryRun('UpdateOptions', request.query)
  if (!dryRun.ok) return dryRun
  const body = decodeBody(request.type.kind, request.text, request.contentType)
  return body.ok ? write(cluster, request, body.value, dryRun.value) : body
}

type ApplyPatch = (target: unknown, patch: unknown) => Outcome<unknown>

const PATCHES: ReadonlyMap<string, ApplyPatch> = new Map<string, ApplyPatch>([
  ['application/merge-patch+json', (target, patch) => ok(mergePatch(target, patch))],
  ['application/json-patch+json', jsonPatch],
])

function onPatch(cluster: Cluster, request: ResourceRequest): Outcome<Response> {
  const { type, namespace, name, text, contentType } = request
  const apply = PATCHES.get(mediaTypeOf(contentType))
  if (apply === undefined) return unsupportedMediaType('415: Unsupported Media Type', {})
  const dryRun = readDryRun('PatchOptions', request.query)
  if (!dryRun.ok) return dryRun
  const patch = parseBody(type.kind, text)
  if (!patch.ok) return patch
  const old = cluster.store.find(type, namespace, name)
  if (old === undefined) return notFound(type, name)
  const patched = apply(old, patch.value)
  return patched.ok ? write(cluster, request, patched.value, dryRun.value) : patched
}

function write(
  cluster: Cluster,
  request: ResourceRequest,
  body: unknown,
  dryRun: boolean,
): Outcome<Response> {
  const { type, namespace } = request
  const sent = decodeObject(type, namespace, pruned(cluster, type, body))
  if (!sent.ok) return sent
  const written = update(cluster.store, request, sent.value, dryRun)
  if (!written.ok) return written
  const { object, isNew } = written.value
  settle(cluster, type, object.metadata.deletionTimestamp !== undefined)
  return ok(answer(shown(cluster, type, object), isNew ? 201 : 200))
}

function onDelete(cluster: Cluster, request: ResourceRequest): Outcome<Response> {
  const { type, text, query } = request
  const options = readDeleteOptions(text, query)
  if (!options.ok) return options
  const removed = remove(cluster.store, request, options.value.body, options.value.dryRun)
  if (!removed.ok) return removed
  settle(cluster, type, true)
  const { object, isHeld } = removed.value
  if (isHeld) return ok(answer(shown(cluster, type, object)))
  const details = removedDetails(type, object)
  return ok(answer({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }))
}

function onDeleteCollection(cluster: Cluster, request: ResourceRequest): Outcome<Response> {
  const { type, namespace, query, text } = request
  const options = readDeleteOptions(text, query)
  if (!options.ok) return options
  const page = cluster.lister.list(type, namespace, query)
  if (!page.ok) return page
  for (const object of page.value.items) end(cluster.store, type, object, options.value.dryRun)
  settle(cluster, type, true)
  return ok(answer(listOf(type, page.value, (object) => shown(cluster, type, object))))
}

/** What the controllers make of a write. */
function settle({ store, collectsOnWrite }: Cluster, type: ResourceType, isDeletion = false): void {
  if (type.kind === 'ClusterRole') aggregateRoles(store)
  if (isDeletion) emptyNamespaces(store)
  if (isDeletion || collectsOnWrite) collectGarbage(store)
}

/** The released CRD of ApplicationDefinition knows no `spec.credentials`: it is dropped when it is written and read. */
function pruned({ isDefinitionPatched }: Cluster, type: ResourceType, body: unknown): unknown {
  if (type !== DEFINITIONS || isDefinitionPatched || !isObject(body) || !isObject(body.spec)) return body
  const { credentials: _pruned, ...spec } = body.spec
  return { ...body, spec }
}

function shown(cluster: Cluster, type: ResourceType, object: StoredObject): StoredObject {
  if (type === QUOTAS) return withQuotaStatus(cluster.store, object)
  return pruned(cluster, type, object) as StoredObject
}
