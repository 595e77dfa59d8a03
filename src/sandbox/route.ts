import { RESOURCE_TYPES, type ResourceType } from './objects.ts'

/** What a request is about (`k8s.io/apiserver/pkg/endpoints/request` RequestInfo), whether it is served or not. */
export type Target = PathTarget | ResourceTarget

interface PathTarget {
  readonly is: 'path'
  readonly verb: string
  readonly path: string
}

export interface ResourceTarget {
  readonly is: 'resource'
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  /** Segments that no resource has. */
  readonly rest: readonly string[]
}

const review = (group: string, plural: string, kind: string): ResourceType => ({
  group,
  version: 'v1',
  plural,
  kind,
  namespaced: false,
  names: 'subdomain',
  fields: ['spec'],
  custom: false,
  newStatus: undefined,
  createdByUpdate: false,
})

/** Questions, which are POSTed and never stored. */
export const REVIEW_TYPES: readonly ResourceType[] = [
  review('authentication.k8s.io', 'tokenreviews', 'TokenReview'),
  review('authentication.k8s.io', 'selfsubjectreviews', 'SelfSubjectReview'),
  review('authorization.k8s.io', 'subjectaccessreviews', 'SubjectAccessReview'),
]

/** Undefined for a path whose percent-encoding is broken. */
export function parseTarget(method: string, { pathname, searchParams }: URL): Target | undefined {
  const segments = decodeSegments(pathname)
  if (segments === undefined) return undefined
  const isCore = segments[0] === 'api'
  const [group = '', version = '', ...parts] = isCore ? ['', ...segments.slice(1)] : segments.slice(1)
  if ((!isCore && segments[0] !== 'apis') || parts.length === 0) {
    return { is: 'path', verb: method.toLowerCase(), path: pathname }
  }
  const [first = '', second = '', third = '', fourth = '', fifth = '', ...others] = parts
  const isWithin = first === 'namespaces' && third !== '' && !['status', 'finalize'].includes(third)
  const named = isWithin
    ? { namespace: second, resource: third, name: fourth, subresource: fifth, rest: others }
    : { namespace: '', resource: first, name: second, subresource: third, rest: parts.slice(3) }
  // A namespace is in itself, as far as rights go.
  const namespace = isCore && named.resource === 'namespaces' ? named.name : named.namespace
  return {
    is: 'resource',
    verb: verbOf(method, named.name !== '', searchParams),
    group,
    version,
    ...named,
    namespace,
  }
}

function decodeSegments(pathname: string): readonly string[] | undefined {
  try {
    return pathname.replace(/\/$/, '').split('/').slice(1).map(decodeURIComponent)
  } catch {
    return undefined
  }
}

const VERBS: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch' }

function verbOf(method: string, isNamed: boolean, query: URLSearchParams): string {
  if (method === 'GET' || method === 'HEAD') {
    if (isNamed) return 'get'
    const watch = query.get('watch')
    return watch === null || ['0', 'false'].includes(watch) ? 'list' : 'watch'
  }
  if (method === 'DELETE') return isNamed ? 'delete' : 'deletecollection'
  return VERBS[method] ?? ''
}

/** The type that a target names, when it is served there. */
export function typeOf({
  group,
  version,
  resource,
  namespace,
  name,
}: ResourceTarget): ResourceType | undefined {
  const type = [...RESOURCE_TYPES, ...REVIEW_TYPES].find(
    (each) => each.group === group && each.version === version && each.plural === resource,
  )
  if (type === undefined) return undefined
  // Without a namespace there are only lists over all of them.
  const isPlaced = type.namespaced
    ? namespace !== '' || name === ''
    : namespace === '' || resource === 'namespaces'
  return isPlaced ? type : undefined
}

/** Whether the API server's own groups answer for a path: those of others are 404 in plain text. */
export const isBuiltIn = ({ group, version }: Pick<ResourceTarget, 'group' | 'version'>): boolean =>
  group === '' ||
  [...RESOURCE_TYPES, ...REVIEW_TYPES].some(
    (type) => !type.custom && type.group === group && type.version === version,
  )
