import { own, textAt, textsOf } from '../core/json.ts'
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES, type StoredObject } from './objects.ts'
import { listOf } from './roles.ts'
import type { Store } from './store.ts'

export interface Identity {
  readonly username: string
  readonly groups: readonly string[]
  readonly uid?: string
}

/** What an access is about: `authorization.k8s.io/v1` ResourceAttributes. */
interface ResourceAttributes {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource: string
  /** `''` at the cluster scope. */
  readonly namespace: string
  readonly name: string
}

/** `authorization.k8s.io/v1` NonResourceAttributes. */
interface PathAttributes {
  readonly verb: string
  readonly path: string
}

export type Attributes = ResourceAttributes | PathAttributes

export interface Decision {
  readonly allowed: boolean
  /** Which binding allows, or which role is missing; `''` when there is nothing to say. */
  readonly reason: string
}

/** RBAC over the stored roles and bindings (`k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac`). */
export function authorize(store: Store, identity: Identity, attributes: Attributes): Decision {
  if (identity.groups.includes('system:masters')) return { allowed: true, reason: '' }
  const namespace = 'path' in attributes ? '' : attributes.namespace
  const bindings = [
    ...store.list(CLUSTER_ROLE_BINDINGS),
    ...(namespace === '' ? [] : store.list(ROLE_BINDINGS, namespace)),
  ]
  const missing: string[] = []
  for (const binding of bindings) {
    const subject = listOf(binding.subjects).find((each) => isSubject(each, identity, binding))
    if (subject === undefined) continue
    const role = roleOf(store, binding)
    if (role === undefined) missing.push(missingRole(binding))
    if (!listOf(role?.rules).some((rule) => permits(rule, attributes))) continue
    return { allowed: true, reason: allowedBy(binding, subject) }
  }
  const [first = '', ...others] = missing
  if (first === '') return { allowed: false, reason: '' }
  return { allowed: false, reason: `RBAC: ${others.length === 0 ? first : `[${missing.join(', ')}]`}` }
}

function isSubject(subject: unknown, { username, groups }: Identity, { metadata }: StoredObject): boolean {
  const name = textAt(subject, 'name') ?? ''
  switch (textAt(subject, 'kind')) {
    case 'User':
      return name === username
    case 'Group':
      return groups.includes(name)
    case 'ServiceAccount':
      return `system:serviceaccount:${namespaceOf(subject, metadata.namespace)}:${name}` === username
    default:
      return false
  }
}

const namespaceOf = (subject: unknown, bindingNamespace = ''): string =>
  textAt(subject, 'namespace') || bindingNamespace

/** A RoleBinding may name a Role of its namespace or a ClusterRole. */
function roleOf(store: Store, { roleRef, metadata }: StoredObject): StoredObject | undefined {
  const name = textAt(roleRef, 'name') ?? ''
  return own(roleRef, 'kind') === 'ClusterRole'
    ? store.find(CLUSTER_ROLES, '', name)
    : store.find(ROLES, metadata.namespace ?? '', name)
}

const missingRole = ({ roleRef }: StoredObject): string =>
  `${String(own(roleRef, 'kind')).toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(own(roleRef, 'name'))} not found`

function allowedBy({ kind, roleRef, metadata }: StoredObject, subject: unknown): string {
  const within = (name: string, namespace: string) =>
    JSON.stringify(namespace === '' ? name : `${name}/${namespace}`)
  const subjectKind = textAt(subject, 'kind') ?? ''
  const subjectNamespace = subjectKind === 'ServiceAccount' ? namespaceOf(subject, metadata.namespace) : ''
  const binding = `${kind} ${within(metadata.name, metadata.namespace ?? '')}`
  const role = `${textAt(roleRef, 'kind')} ${JSON.stringify(own(roleRef, 'name'))}`
  return `RBAC: allowed by ${binding} of ${role} to ${subjectKind} ${within(textAt(subject, 'name') ?? '', subjectNamespace)}`
}

function permits(rule: unknown, attributes: Attributes): boolean {
  const listed = (field: string) => textsOf(own(rule, field))
  const has = (field: string, value: string) => listed(field).includes('*') || listed(field).includes(value)
  if (!has('verbs', attributes.verb)) return false
  if ('path' in attributes) {
    return listed('nonResourceURLs').some((pattern) => matchesPath(pattern, attributes.path))
  }
  const { group, resource, subresource, name } = attributes
  const names = listed('resourceNames')
  const isNamed = names.length === 0 || names.includes(name)
  if (!has('apiGroups', group) || !isNamed) return false
  if (subresource === '') return has('resources', resource)
  return has('resources', `${resource}/${subresource}`) || has('resources', `*/${subresource}`)
}

const matchesPath = (pattern: string, path: string): boolean =>
  pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : pattern === path
