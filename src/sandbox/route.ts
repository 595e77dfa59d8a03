import { RESOURCE_TYPES, type ResourceType } from './objects.ts'

/** What a request is about, as the API server's authoriser and its handlers see it. */
export interface Route {
  readonly is: 'resource' | 'review'
  readonly kind: string
  readonly verb: 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'
  readonly type: Pick<ResourceType, 'group' | 'plural'> & ResourceType
  readonly namespace: string
  readonly name: string
}

const review = (group: string, plural: string, kind: string): ResourceType => ({
  group,
  version: 'v1',
  plural,
  kind,
  namespaced: false,
})

/** Questions, which are POSTed and never stored. */
const REVIEW_TYPES: readonly ResourceType[] = [
  review('authentication.k8s.io', 'tokenreviews', 'TokenReview'),
  review('authentication.k8s.io', 'selfsubjectreviews', 'SelfSubjectReview'),
  review('authorization.k8s.io', 'subjectaccessreviews', 'SubjectAccessReview'),
]

/** Undefined for a path that no API serves. */
export function parseRoute(method: string, url: URL): Route | undefined {
  const segments = url.pathname.split('/').slice(1).map(decodeURIComponent)
  const isCore = segments[0] === 'api'
  if (!isCore && segments[0] !== 'apis') return undefined
  const [group, version, ...rest] = isCore ? ['', ...segments.slice(1)] : segments.slice(1)
  const scoped = rest[0] === 'namespaces' && rest.length > 2
  const [namespace = '', plural = '', name = '', ...more] = scoped ? rest.slice(1) : ['', ...rest]
  const isType = (type: ResourceType) =>
    type.group === group && type.version === version && type.plural === plural
  const stored = RESOURCE_TYPES.find(isType)
  const type = stored ?? REVIEW_TYPES.find(isType)
  if (type === undefined || more.length > 0 || (scoped && !type.namespaced)) return undefined
  const verb = verbOf(method, name, url.searchParams)
  if (verb === undefined) return undefined
  return { is: stored === undefined ? 'review' : 'resource', kind: type.kind, verb, type, namespace, name }
}

function verbOf(method: string, name: string, query: URLSearchParams): Route['verb'] | undefined {
  const isWatch = !['', '0', 'false'].includes(query.get('watch') ?? '')
  switch (method) {
    case 'GET':
      if (name !== '') return 'get'
      return isWatch ? 'watch' : 'list'
    case 'POST':
      return 'create'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return name === '' ? 'deletecollection' : 'delete'
    default:
      return undefined
  }
}
