import type { Deps, Fetch } from '../core/deps.ts'
import { own, textAt } from '../core/json.ts'
import { ok } from '../core/result.ts'
import { BOOTSTRAP_OBJECTS } from './bootstrap.ts'
import { aggregateRoles, collectGarbage, emptyNamespaces } from './controllers.ts'
import { checkBuiltInKind, decodeBody, decodeObject } from './decode.ts'
import { parseFieldSelector } from './field-selector.ts'
import { createLister } from './list.ts'
import { apiVersionOf, RESOURCE_TYPES, type ResourceType } from './objects.ts'
import { type Attributes, authorize, type Identity } from './rbac.ts'
import { type Cluster, onResource, type ResourceRequest } from './resources.ts'
import {
  ANONYMOUS,
  API_AUDIENCES,
  authenticate,
  reviewAccess,
  reviewSelf,
  reviewToken,
  type TokenOf,
} from './reviews.ts'
import { isBuiltIn, parseTarget, REVIEW_TYPES, type ResourceTarget, type Target, typeOf } from './route.ts'
import {
  answer,
  answerRefused,
  answerText,
  badRequest,
  forbidden,
  forbiddenPath,
  methodNotAllowed,
  type Outcome,
  type Refused,
  unauthorized,
  unknownResource,
} from './status.ts'
import { createStore } from './store.ts'
import { create, update } from './write.ts'

/**
 * The part of the Kubernetes API that this project uses, in memory, behind the seam that reaches a real one. Schemas of
 * custom resources are not checked, there is no watch, and JSON merge patch is the only patch.
 */
export interface Sandbox {
  /** As somebody, with the rights that RBAC gives them. */
  readonly fetchAs: (identity: Identity) => Fetch
  /** As a cluster administrator (group `system:masters`). */
  readonly admin: Fetch
  /** As whoever the bearer token stands for: 401 for one that is not known, anonymous without one. */
  readonly fetch: Fetch
  readonly addToken: (token: string, of: TokenOf) => void
  /** What the garbage collector does within a second; a delete does it at once. */
  readonly collect: () => void
  /** Makes every `continue` token that was handed out answer 410. */
  readonly expireContinueTokens: () => void
  /** Whether the CRD of ApplicationDefinition keeps `spec.credentials`, as the shipped patch makes it. */
  readonly setDefinitionPatched: (patched: boolean) => void
}

interface SandboxOptions extends Pick<Deps, 'now' | 'randomBytes'> {
  /** Created in this order, as by an administrator, their `status` included. */
  readonly manifests: readonly object[]
  /** Whether the CRD of ApplicationDefinition keeps `spec.credentials`. */
  readonly crdPatched?: boolean
  /** Whether the garbage collector looks after every write: a stale owner then takes its object with it at once. */
  readonly collectsOnWrite?: boolean
}

interface State extends Cluster {
  readonly tokens: Map<string, TokenOf>
}

const ADMIN: Identity = { username: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] }
const HEALTH_PATHS = ['/readyz', '/livez', '/healthz']

/** Throws when a manifest is refused. */
export function createSandbox(options: SandboxOptions): Sandbox {
  const { manifests, crdPatched = true, collectsOnWrite = false } = options
  const store = createStore(options)
  const lister = createLister(store)
  const state: State = { store, lister, tokens: new Map(), isDefinitionPatched: crdPatched, collectsOnWrite }
  for (const manifest of [...BOOTSTRAP_OBJECTS, ...manifests]) load(state, manifest)
  aggregateRoles(store)

  const fetchAs = (identity: Identity): Fetch => {
    const known = authenticated(identity)
    return (request) => respond(state, known, request)
  }
  return {
    fetchAs,
    admin: fetchAs(ADMIN),
    fetch: async (request) => {
      const identity = identityOf(state, request)
      return identity.ok ? fetchAs(identity.value)(request) : answerRefused(identity)
    },
    addToken: (token, of) => {
      state.tokens.set(token, of)
    },
    collect: () => {
      emptyNamespaces(store)
      collectGarbage(store)
    },
    expireContinueTokens: lister.expire,
    setDefinitionPatched: (patched) => {
      state.isDefinitionPatched = patched
    },
  }
}

/** Every authenticator adds the group of the authenticated. */
const authenticated = (identity: Identity): Identity =>
  identity === ANONYMOUS || identity.groups.includes('system:authenticated')
    ? identity
    : { ...identity, groups: [...identity.groups, 'system:authenticated'] }

function identityOf({ store, tokens }: State, { headers }: Request): Outcome<Identity> {
  const header = headers.get('authorization')
  if (header === null) return ok(ANONYMOUS)
  const token = /^Bearer (\S+)$/i.exec(header)?.[1] ?? ''
  const found = authenticate(tokens, token, API_AUDIENCES, store.now())
  return 'error' in found ? unauthorized() : ok(found.user)
}

function load({ store }: State, manifest: object): void {
  const type = RESOURCE_TYPES.find(
    (each) => each.kind === own(manifest, 'kind') && apiVersionOf(each) === own(manifest, 'apiVersion'),
  )
  if (type === undefined) throw new TypeError(`the sandbox stores no ${String(own(manifest, 'kind'))}`)
  const namespace = type.namespaced ? (textAt(manifest, 'metadata', 'namespace') ?? '') : ''
  const sent = decodeObject(type, namespace, manifest)
  const created = sent.ok ? create(store, { type, namespace }, sent.value, false) : sent
  if (!created.ok) throw new TypeError(`${type.kind}: ${created.refusal.message}`)
  if (type.newStatus === undefined || !sent.ok || sent.value.status === undefined) return
  const { metadata } = created.value
  const target = { type, namespace, name: metadata.name, isStatus: true }
  update(store, target, { ...sent.value, metadata }, false)
}

async function respond(state: State, identity: Identity, request: Request): Promise<Response> {
  request.signal.throwIfAborted()
  const text = await request.text()
  request.signal.throwIfAborted()
  const url = new URL(request.url)
  const target = parseTarget(request.method, url)
  if (target === undefined) return answerText('400 Bad Request', 400)
  const refused = checkAccess(state, identity, target, url.searchParams)
  if (refused !== undefined) return answerRefused(refused)
  if (target.is === 'path') return onPath(target.path, request.method)
  const contentType = request.headers.get('content-type') ?? ''
  const answered = onTarget(state, identity, target, request.method, {
    query: url.searchParams,
    text,
    contentType,
  })
  return answered.ok ? answered.value : answerRefused(answered)
}

/** Before anybody learns whether there is such a path. */
function checkAccess(
  { store }: State,
  identity: Identity,
  target: Target,
  query: URLSearchParams,
): Refused | undefined {
  const attributes = attributesOf(target, query)
  const { allowed, reason } = authorize(store, identity, attributes)
  if (allowed) return undefined
  const { username } = identity
  if ('path' in attributes) return forbiddenPath(username, attributes.verb, attributes.path)
  const { verb, group, resource, subresource, namespace } = attributes
  const what = subresource === '' ? resource : `${resource}/${subresource}`
  const where = namespace === '' ? ' at the cluster scope' : ` in the namespace "${namespace}"`
  const why = `User "${username}" cannot ${verb} resource "${what}" in API group "${group}"${where}`
  const name = target.is === 'resource' ? target.name : ''
  return forbidden({ group, plural: resource }, name, reason === '' ? why : `${why}: ${reason}`)
}

/** A list by name is about that name. */
function attributesOf(target: Target, query: URLSearchParams): Attributes {
  if (target.is === 'path') return target
  const { verb, group, resource, subresource, namespace } = target
  const selected = ['list', 'watch', 'deletecollection'].includes(verb)
    ? parseFieldSelector(typeOf(target), query.get('fieldSelector') ?? '')
    : undefined
  const name = selected?.ok ? (selected.value.name ?? '') : target.name
  return { verb, group, resource, subresource, namespace, name }
}

function onPath(path: string, method: string): Response {
  const isVersion = path === '/version'
  if (!isVersion && !HEALTH_PATHS.includes(path)) return pageNotFound()
  if (method !== 'GET') return answerRefused(methodNotAllowed())
  return isVersion
    ? answer({ major: '1', minor: '36', gitVersion: 'v1.36.0+sandbox', platform: 'sandbox' })
    : answerText('ok')
}

const pageNotFound = (): Response => answerText('404 page not found\n', 404)

type Content = Pick<ResourceRequest, 'query' | 'text' | 'contentType'>

function onTarget(
  state: State,
  identity: Identity,
  target: ResourceTarget,
  method: string,
  content: Content,
): Outcome<Response> {
  const type = typeOf(target)
  const isStatus = target.subresource === 'status' && type?.newStatus !== undefined
  const isServed = type !== undefined && (target.subresource === '' || isStatus) && target.rest.length === 0
  if (!isServed) return isBuiltIn(target) ? unknownResource() : ok(pageNotFound())
  if (method === 'HEAD') return ok(new Response(null, { status: 405 }))
  if (target.verb === 'watch') return badRequest('the sandbox serves no watch')
  if (REVIEW_TYPES.includes(type)) return onReview(state, identity, type, target.verb, content)
  const namespace = type.namespaced ? target.namespace : ''
  return onResource(state, { ...content, type, namespace, name: target.name, isStatus, verb: target.verb })
}

function onReview(
  state: State,
  identity: Identity,
  type: ResourceType,
  verb: string,
  { text, contentType }: Content,
): Outcome<Response> {
  if (verb !== 'create') return methodNotAllowed()
  const body = decodeBody(type.kind, text, contentType)
  if (!body.ok) return body
  const kinded = checkBuiltInKind(type, Object(body.value))
  if (!kinded.ok) return kinded
  const reviewed = REVIEWERS[type.kind]?.(state, identity, body.value) ?? unknownResource()
  return reviewed.ok ? ok(answer(reviewed.value, 201)) : reviewed
}

const REVIEWERS: Readonly<
  Record<string, (state: State, identity: Identity, body: unknown) => Outcome<unknown>>
> = {
  TokenReview: ({ store, tokens }, _identity, body) => reviewToken(store, tokens, body),
  SubjectAccessReview: ({ store }, _identity, body) => reviewAccess(store, body),
  SelfSubjectReview: ({ store }, identity) => ok(reviewSelf(store, identity)),
}
