import { at, isObject, own, textsOf } from '../core/json.ts'
import {
  CLUSTER_ROLES,
  NAMESPACES,
  type OwnerReference,
  RESOURCE_TYPES,
  type StoredObject,
} from './objects.ts'
import { end } from './remove.ts'
import { listOf } from './roles.ts'
import type { Store } from './store.ts'

/** What kube-controller-manager does, done at once. */

/** `clusterrole-aggregation`: fills the rules of roles that collect those of others. */
export function aggregateRoles(store: Store): void {
  const roles = store.list(CLUSTER_ROLES)
  for (const role of roles) {
    const selectors = listOf(own(role.aggregationRule, 'clusterRoleSelectors'))
    if (selectors.length === 0) continue
    const collected = selectors.flatMap((selector) =>
      roles
        .filter((each) => each !== role && selects(selector, each.metadata.labels ?? {}))
        .flatMap((each) => listOf(each.rules)),
    )
    const rules = [...new Map(collected.map((rule) => [JSON.stringify(rule), rule])).values()]
    if (JSON.stringify(rules) !== JSON.stringify(role.rules ?? []))
      store.put(CLUSTER_ROLES, { ...role, rules })
  }
}

/** `metav1.LabelSelector`. */
function selects(selector: unknown, labels: Readonly<Record<string, string>>): boolean {
  const equal = own(selector, 'matchLabels')
  const isEqual =
    !isObject(equal) || Object.entries(equal).every(([key, value]) => own(labels, key) === value)
  return isEqual && listOf(own(selector, 'matchExpressions')).every((each) => holds(each, labels))
}

function holds(expression: unknown, labels: Readonly<Record<string, string>>): boolean {
  const value = own(labels, String(own(expression, 'key')))
  const isListed = typeof value === 'string' && textsOf(own(expression, 'values')).includes(value)
  switch (own(expression, 'operator')) {
    case 'In':
      return isListed
    case 'NotIn':
      return !isListed
    case 'Exists':
      return value !== undefined
    default:
      return value === undefined
  }
}

/** `namespace`: deletes what is in a namespace that goes, and then the namespace. */
export function emptyNamespaces(store: Store): void {
  for (const namespace of store.list(NAMESPACES)) {
    if (namespace.metadata.deletionTimestamp === undefined) continue
    const { name, finalizers = [] } = namespace.metadata
    const types = RESOURCE_TYPES.filter((type) => type.namespaced)
    for (const type of types) {
      for (const object of store.list(type, name)) end(store, type, object, false)
    }
    const isEmpty = types.every((type) => store.list(type, name).length === 0)
    if (isEmpty && finalizers.length === 0) store.remove(NAMESPACES, namespace)
  }
}

/**
 * `garbage-collector`: an object all of whose owners are gone goes too, and a reference to one that is gone is taken out.
 * An owner is there when kind, namespace, name and UID agree; owners of kinds that are not served count as there.
 */
export function collectGarbage(store: Store): void {
  let isDone = false
  while (!isDone) {
    isDone = true
    for (const { type, object } of store.all()) {
      const { ownerReferences = [], namespace = '' } = object.metadata
      const living = ownerReferences.filter((owner) => isThere(store, owner, namespace))
      if (living.length === ownerReferences.length) continue
      if (living.length > 0) store.put(type, withOwners(object, living))
      else if (object.metadata.deletionTimestamp === undefined) end(store, type, object, false)
      else continue
      isDone = false
    }
  }
}

function isThere(store: Store, { apiVersion, kind, name, uid }: OwnerReference, namespace: string): boolean {
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : ''
  const type = RESOURCE_TYPES.find((each) => each.kind === kind && each.group === group)
  if (type === undefined || (type.namespaced && namespace === '')) return true
  return at(store.find(type, type.namespaced ? namespace : '', name), 'metadata', 'uid') === uid
}

const withOwners = (object: StoredObject, ownerReferences: readonly OwnerReference[]): StoredObject => ({
  ...object,
  metadata: { ...object.metadata, ownerReferences },
})
