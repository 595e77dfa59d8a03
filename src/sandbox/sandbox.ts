import type { Deps, Fetch } from '../core/deps.ts'
import { isObject, own, parseJson, textAt } from '../core/json.ts'
import { collect, emptyNamespace } from './collect.ts'
import { list } from './list.ts'
import { apiVersionOf, RESOURCE_TYPES, type ResourceType, type StoredObject } from './objects.ts'
import { merged } from './patch.ts'
import { type Identity, isAllowed } from './rbac.ts'
import { reviewAccess, reviewSelf, reviewToken, type TokenOf } from './reviews.ts'
import { parseRoute, type Route } from './route.ts'
import {
  answer,
  badRequest,
  forbidden,
  isRefusal,
  methodNotAllowed,
  notFound,
  refuse,
  unauthorized,
} from './status.ts'
import { createStore, type Store } from './store.ts'
import { create, remove, update } from './write.ts'

/** The part of the Kubernetes API that this project uses, in memory, behind the seam that reaches a real one. */
export interface Sandbox {
  /** As somebody, with the rights that RBAC gives them. */
  readonly fetchAs: (identity: Identity) => Fetch
  /** As a cluster administrator (group `system:masters`). */
  readonly admin: Fetch
  /** As whoever the bearer token stands for. */
  readonly fetch: Fetch
  readonly addToken: (token: string, of: TokenOf) => void
  /** One round of the garbage collector; deleting an owner runs one too. */
  readonly collect: () => void
  /** Makes every `continue` token that was handed out answer 410. */
  readonly expireContinueTokens: () => void
  /** Whether the CRD of ApplicationDefinition keeps `spec.credentials`, as the shipped patch makes it. */
  readonly setDefinitionPatched: (patched: boolean) => void
}

interface SandboxOptions extends Pick<Deps, 'now' | 'randomBytes'> {
  /** Created in this order, as by an administrator. */
  readonly manifests: readonly object[]
}

interface State {
  readonly store: Store
  readonly tokens: Map<string, TokenOf>
  oldestVersion: number
  definitionPatched: boolean
}

const ADMIN: Identity = { username: 'admin', groups: ['system:masters', 'system:authenticated'] }

const BUILT_IN_NAMESPACES = ['default', 'kube-system'].map((name) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
}))

/** Throws when a manifest is refused. */
export function createSandbox({ manifests, ...deps }: SandboxOptions): Sandbox {
  const state: State = {
    store: createStore(deps),
    tokens: new Map(),
    oldestVersion: 0,
    definitionPatched: true,
  }
  const fetchAs =
    (identity: Identity): Fetch =>
    async (request) => {
      try {
        return await respond(state, identity, request)
      } catch (error) {
        if (isRefusal(error)) return refuse(error)
        throw error
      }
    }
  for (const manifest of [...BUILT_IN_NAMESPACES, ...manifests]) load(state.store, manifest)
  return {
    fetchAs,
    admin: fetchAs(ADMIN),
    fetch: async (request) => {
      const token = /^Bearer (\S+)$/.exec(request.headers.get('authorization') ?? '')?.[1]
      const known = state.tokens.get(token ?? '')
      return known === undefined ? refuse(unauthorized()) : fetchAs(known)(request)
    },
    addToken: (token, of) => {
      state.tokens.set(token, of)
    },
    collect: () => collect(state.store),
    expireContinueTokens: () => {
      state.oldestVersion = Number(state.store.version()) + 1
    },
    setDefinitionPatched: (patched) => {
      state.definitionPatched = patched
    },
  }
}

function load(store: Store, manifest: object): void {
  const type = RESOURCE_TYPES.find(
    (each) => each.kind === own(manifest, 'kind') && apiVersionOf(each) === own(manifest, 'apiVersion'),
  )
  if (type === undefined) throw new TypeError(`the sandbox stores no ${String(own(manifest, 'kind'))}`)
  try {
    create(store, type, textAt(manifest, 'metadata', 'namespace') ?? '', manifest, { dryRun: false })
  } catch (error) {
    throw isRefusal(error) ? new Error(error.message) : error
  }
}

async function respond(state: State, identity: Identity, request: Request): Promise<Response> {
  request.signal.throwIfAborted()
  const url = new URL(request.url)
  if (['/version', '/readyz', '/livez'].includes(url.pathname)) return health(url.pathname)
  const route = parseRoute(request.method, url)
  if (route === undefined) return new Response('404 page not found\n', { status: 404 })
  const body = await readBody(request)
  if (route.verb === 'watch') throw badRequest('watch is not supported by the sandbox')
  authorize(state.store, identity, route)
  if (route.is === 'review') return review(state, identity, route.kind, body)
  return onResource(state, route, url.searchParams, body, request.headers.get('content-type') ?? '')
}

const health = (path: string): Response =>
  path === '/version'
    ? answer({ major: '1', minor: '36', gitVersion: 'v1.36.0-sandbox' })
    : new Response('ok')

async function readBody(request: Request): Promise<unknown> {
  const text = await request.text()
  if (text === '') return undefined
  const parsed = parseJson(text)
  if (parsed === undefined) throw badRequest('the body is no JSON')
  return parsed
}

function authorize(store: Store, identity: Identity, route: Route): void {
  const { verb, type, namespace, name } = route
  // The API server lets every authenticated user ask about themselves.
  if (route.is === 'review' && type.plural === 'selfsubjectreviews') return
  const attributes = { verb, group: type.group, resource: type.plural, subresource: '', namespace, name }
  if (isAllowed(store, identity, attributes)) return
  const where = namespace === '' ? ' at the cluster scope' : ` in the namespace "${namespace}"`
  const why = `User "${identity.username}" cannot ${verb} resource "${type.plural}" in API group "${type.group}"${where}`
  throw forbidden(type, name, why)
}

function review(state: State, identity: Identity, kind: string, body: unknown): Response {
  if (kind === 'TokenReview') return answer(reviewToken(state.tokens, body), 201)
  if (kind === 'SubjectAccessReview') return answer(reviewAccess(state.store, body), 201)
  return answer(reviewSelf(identity), 201)
}

function onResource(
  state: State,
  { verb, type, namespace, name }: Route,
  query: URLSearchParams,
  body: unknown,
  contentType: string,
): Response {
  const { store } = state
  const shown = (object: StoredObject) => shownOf(state, type, object)
  const options = { dryRun: isDryRun(query, body) }
  switch (verb) {
    case 'get': {
      const found = store.find(type, namespace, name)
      if (found === undefined) throw notFound(type, name)
      return answer(shown(found))
    }
    case 'list':
      return answer(
        list(
          { store, oldestVersion: state.oldestVersion, shown },
          type,
          type.namespaced ? namespace || undefined : '',
          query,
        ),
      )
    case 'create':
      return answer(shown(create(store, type, namespace, body, options)), 201)
    case 'update':
      return answer(shown(afterUpdate(store, update(store, type, namespace, name, body, options))))
    case 'patch':
      return answer(
        shown(
          update(
            store,
            type,
            namespace,
            name,
            merged(store, type, namespace, name, body, contentType),
            options,
          ),
        ),
      )
    case 'delete':
      return removed(state, type, remove(store, type, namespace, name, body, options), options.dryRun)
    default:
      throw methodNotAllowed()
  }
}

/** A removed finalizer may have been the last thing that held an owner. */
function afterUpdate(store: Store, object: StoredObject): StoredObject {
  if (object.metadata.deletionTimestamp !== undefined) collect(store)
  return object
}

function removed(
  { store }: State,
  type: ResourceType,
  { held, removed: object }: ReturnType<typeof remove>,
  dryRun: boolean,
): Response {
  if (!dryRun && type.plural === 'namespaces') emptyNamespace(store, object.metadata.name)
  if (!dryRun) collect(store)
  if (held !== undefined) return answer(held)
  const { name, uid } = object.metadata
  const details = { name, ...(type.group === '' ? {} : { group: type.group }), kind: type.plural, uid }
  return answer({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details })
}

/** The released CRD prunes the block, on reads of what is stored already as well. */
function shownOf({ definitionPatched }: State, type: ResourceType, object: StoredObject): StoredObject {
  if (type.plural !== 'applicationdefinitions' || definitionPatched || !isObject(object.spec)) return object
  const { credentials: _pruned, ...spec } = object.spec
  return { ...object, spec }
}

/** `dryRun=All`, as a query or in the options of a delete. */
function isDryRun(query: URLSearchParams, body: unknown): boolean {
  const options = own(body, 'kind') === 'DeleteOptions' ? own(body, 'dryRun') : undefined
  const given = [...query.getAll('dryRun'), ...(Array.isArray(options) ? options : [])].filter(
    (value) => value !== '',
  )
  if (given.some((value) => value !== 'All'))
    throw badRequest('dryRun: Unsupported value: supported values: "All"')
  return given.length > 0
}
