import { ok } from '../core/result.ts'
import { checkBuiltInKind, decodeBody } from './decode.ts'
import { parseFieldSelector } from './field-selector.ts'
import type { ResourceType } from './objects.ts'
import { type Attributes, authorize, type Identity } from './rbac.ts'
import { type Cluster, onResource, type ResourceRequest } from './resources.ts'
import { reviewAccess, reviewSelf, reviewToken, type TokenOf } from './reviews.ts'
import { isBuiltIn, parseTarget, REVIEW_TYPES, type ResourceTarget, type Target, typeOf } from './route.ts'
import {
  answer,
  answerRefused,
  answerText,
  badRequest,
  forbidden,
  forbiddenPath,
  methodNotAllowed,
  notFound,
  type Outcome,
  type Refused,
  unknownResource,
} from './status.ts'

/** The API server: what it serves, and whom it knows. */
export interface Server extends Cluster {
  readonly tokens: Map<string, TokenOf>
}

const HEALTH_PATHS = ['/readyz', '/livez', '/healthz']

/** Answers a request of somebody who is known. Rejects, as a fetch does, when the request was aborted. */
export async function respond(server: Server, identity: Identity, request: Request): Promise<Response> {
  request.signal.throwIfAborted()
  const text = await request.text()
  request.signal.throwIfAborted()
  const url = new URL(request.url)
  const target = parseTarget(request.method, url)
  if (target === undefined) return answerText('400 Bad Request', 400)
  const refused = checkAccess(server, identity, target, url.searchParams)
  if (refused !== undefined) return answerRefused(refused)
  if (target.is === 'path') return onPath(target.path, request.method)
  const contentType = request.headers.get('content-type') ?? ''
  const answered = onTarget(server, identity, target, request.method, {
    query: url.searchParams,
    text,
    contentType,
  })
  return answered.ok ? answered.value : answerRefused(answered)
}

/** Before anybody learns whether there is such a path. */
function checkAccess(
  { store }: Server,
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

function notServed(
  { name, rest, ...target }: ResourceTarget,
  type: ResourceType | undefined,
): Outcome<Response> {
  if (isBuiltIn(target)) return unknownResource()
  return type === undefined || rest.length > 0 ? ok(pageNotFound()) : notFound(type, name)
}

type Content = Pick<ResourceRequest, 'query' | 'text' | 'contentType'>

function onTarget(
  server: Server,
  identity: Identity,
  target: ResourceTarget,
  method: string,
  content: Content,
): Outcome<Response> {
  const type = typeOf(target)
  const isStatus = target.subresource === 'status' && type?.newStatus !== undefined
  const isWhole = target.rest.length === 0 && (target.subresource === '' || isStatus)
  if (type === undefined || !isWhole) return notServed(target, type)
  if (method === 'HEAD') return ok(new Response(null, { status: 405 }))
  if (target.verb === 'watch') return badRequest('the sandbox serves no watch')
  if (REVIEW_TYPES.includes(type)) return onReview(server, identity, type, target.verb, content)
  const namespace = type.namespaced ? target.namespace : ''
  return onResource(server, { ...content, type, namespace, name: target.name, isStatus, verb: target.verb })
}

function onReview(
  server: Server,
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
  const reviewed = REVIEWERS[type.kind]?.(server, identity, body.value) ?? unknownResource()
  return reviewed.ok ? ok(answer(reviewed.value, 201)) : reviewed
}

const REVIEWERS: Readonly<
  Record<string, (server: Server, identity: Identity, body: unknown) => Outcome<unknown>>
> = {
  TokenReview: ({ store, tokens }, _identity, body) => reviewToken(store, tokens, body),
  SubjectAccessReview: ({ store }, _identity, body) => reviewAccess(store, body),
  SelfSubjectReview: ({ store }, identity) => ok(reviewSelf(store, identity)),
}
