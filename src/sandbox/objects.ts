/** An object as the sandbox stores it. */
export interface StoredObject {
  apiVersion: string
  kind: string
  metadata: Metadata
  [field: string]: unknown
}

export interface Metadata {
  name: string
  namespace?: string
  uid: string
  resourceVersion: string
  creationTimestamp: string
  generateName?: string
  generation?: number
  deletionTimestamp?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string }[]
  finalizers?: string[]
}

export interface ResourceType {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
  readonly namespaced: boolean
}

const type = (
  group: string,
  version: string,
  plural: string,
  kind: string,
  namespaced: boolean,
): ResourceType => ({ group, version, plural, kind, namespaced })

const RBAC = 'rbac.authorization.k8s.io'

/** Everything that can be stored. */
export const RESOURCE_TYPES: readonly ResourceType[] = [
  type('', 'v1', 'namespaces', 'Namespace', false),
  type('', 'v1', 'secrets', 'Secret', true),
  type('', 'v1', 'serviceaccounts', 'ServiceAccount', true),
  type('', 'v1', 'configmaps', 'ConfigMap', true),
  type('', 'v1', 'resourcequotas', 'ResourceQuota', true),
  type('helm.toolkit.fluxcd.io', 'v2', 'helmreleases', 'HelmRelease', true),
  type('cozystack.io', 'v1alpha1', 'applicationdefinitions', 'ApplicationDefinition', false),
  type(RBAC, 'v1', 'clusterroles', 'ClusterRole', false),
  type(RBAC, 'v1', 'clusterrolebindings', 'ClusterRoleBinding', false),
  type(RBAC, 'v1', 'roles', 'Role', true),
  type(RBAC, 'v1', 'rolebindings', 'RoleBinding', true),
  type('events.k8s.io', 'v1', 'events', 'Event', true),
]

export const apiVersionOf = ({ group, version }: Pick<ResourceType, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`

/** `secrets`, `helmreleases.helm.toolkit.fluxcd.io`: as messages name a resource. */
export const qualifiedName = ({ group, plural }: Pick<ResourceType, 'group' | 'plural'>): string =>
  group === '' ? plural : `${plural}.${group}`
