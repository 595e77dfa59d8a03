import { at, isObject, own, textAt, textsOf } from '../core/json.ts'
import { RESOURCE_TYPES, type ResourceType, type StoredObject } from './objects.ts'
import { labelSelector } from './selectors.ts'
import type { Store } from './store.ts'

export interface Identity {
  readonly username: string
  readonly groups: readonly string[]
  readonly uid?: string
}

/** What an access is about: `authorization.k8s.io/v1` ResourceAttributes, or a path. */
export interface Attributes {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
}

const typeOf = (plural: string): ResourceType => {
  const found = RESOURCE_TYPES.find((type) => type.plural === plural)
  if (found === undefined) throw new TypeError(`no resource ${plural}`)
  return found
}
const CLUSTER_ROLES = typeOf('clusterroles')
const CLUSTER_ROLE_BINDINGS = typeOf('clusterrolebindings')
const ROLES = typeOf('roles')
const ROLE_BINDINGS = typeOf('rolebindings')

/** RBAC over the stored roles and bindings (`plugin/pkg/auth/authorizer/rbac`). */
export function isAllowed(store: Store, identity: Identity, attributes: Attributes): boolean {
  if (identity.groups.includes('system:masters')) return true
  const bindings = [
    ...store.list(CLUSTER_ROLE_BINDINGS),
    ...(attributes.namespace === '' ? [] : store.list(ROLE_BINDINGS, attributes.namespace)),
  ]
  return bindings
    .filter((binding) => listOf(binding.subjects).some((subject) => isSubject(subject, identity, binding)))
    .flatMap((binding) => rulesOf(store, binding))
    .some((rule) => permits(rule, attributes))
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

function isSubject(subject: unknown, { username, groups }: Identity, { metadata }: StoredObject): boolean {
  const name = textAt(subject, 'name') ?? ''
  switch (textAt(subject, 'kind')) {
    case 'User':
      return name === username
    case 'Group':
      return groups.includes(name)
    case 'ServiceAccount':
      return (
        `system:serviceaccount:${textAt(subject, 'namespace') ?? metadata.namespace ?? ''}:${name}` ===
        username
      )
    default:
      return false
  }
}

function rulesOf(store: Store, binding: StoredObject): readonly unknown[] {
  const name = textAt(binding.roleRef, 'name') ?? ''
  const isClusterRole = textAt(binding.roleRef, 'kind') === 'ClusterRole'
  const role = isClusterRole
    ? store.find(CLUSTER_ROLES, '', name)
    : store.find(ROLES, binding.metadata.namespace ?? '', name)
  return role === undefined ? [] : [...listOf(role.rules), ...aggregated(store, role)]
}

/** What `clusterrole-aggregation` of kube-controller-manager would have filled in. */
function aggregated(store: Store, role: StoredObject): readonly unknown[] {
  const selectors = listOf(own(role.aggregationRule, 'clusterRoleSelectors'))
  return selectors.flatMap((selector) => {
    const labels = own(selector, 'matchLabels')
    if (!isObject(labels)) return []
    const matches = labelSelector(
      Object.entries(labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(','),
    )
    return store
      .list(CLUSTER_ROLES)
      .filter(matches)
      .flatMap((each) => listOf(each.rules))
  })
}

function permits(rule: unknown, { verb, group, resource, subresource, name }: Attributes): boolean {
  const has = (field: string, value: string) => {
    const values = textsOf(own(rule, field))
    return values.includes('*') || values.includes(value)
  }
  const what = subresource === '' ? resource : `${resource}/${subresource}`
  const names = textsOf(at(rule, 'resourceNames'))
  return (
    has('verbs', verb) &&
    has('apiGroups', group) &&
    (has('resources', what) || (subresource !== '' && has('resources', `*/${subresource}`))) &&
    (names.length === 0 || names.includes(name))
  )
}
