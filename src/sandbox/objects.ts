/** An object as the sandbox stores it. */
export interface StoredObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Metadata
  readonly [field: string]: unknown
}

/** `metav1.ObjectMeta`, without `managedFields`: nobody who uses the sandbox looks at them. */
export interface Metadata {
  readonly name: string
  readonly generateName?: string
  readonly namespace?: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation?: number
  readonly creationTimestamp: string
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly OwnerReference[]
  readonly finalizers?: readonly string[]
}

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

/** What a client sent, read as an object of its type. */
export interface SentObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Partial<Metadata>
  readonly [field: string]: unknown
}

export interface ResourceType {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
  readonly namespaced: boolean
  /** What a name may look like (`k8s.io/apimachinery/pkg/api/validation`). */
  readonly names: 'subdomain' | 'label' | 'path segment'
  /** Fields at the top level that are kept; a client's others are dropped. */
  readonly fields: readonly string[]
  /** Of a CustomResourceDefinition: generation, no update without a resourceVersion, kinds inside lists. */
  readonly custom: boolean
  /** The `status` of a new object, for a type that has one which only its subresource writes; null: none at first. */
  readonly newStatus: object | null | undefined
  /** A PUT to a name that is not there creates (`AllowCreateOnUpdate` in `pkg/registry`). */
  readonly createdByUpdate: boolean
}

const BUILT_IN = { names: 'subdomain', custom: false, newStatus: undefined, createdByUpdate: false } as const
const CUSTOM = { version: 'v1alpha1', names: 'subdomain', custom: true, createdByUpdate: false } as const

const core = (plural: string, kind: string, fields: readonly string[]): ResourceType => ({
  ...BUILT_IN,
  group: '',
  version: 'v1',
  plural,
  kind,
  namespaced: true,
  fields,
})

const rbac = (
  plural: string,
  kind: string,
  fields: readonly string[],
  namespaced: boolean,
): ResourceType => ({
  ...BUILT_IN,
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural,
  kind,
  namespaced,
  names: 'path segment',
  fields,
  createdByUpdate: true,
})

export const NAMESPACES: ResourceType = {
  ...core('namespaces', 'Namespace', []),
  namespaced: false,
  names: 'label',
}
const SECRETS = core('secrets', 'Secret', ['type', 'immutable', 'data'])
export const QUOTAS = core('resourcequotas', 'ResourceQuota', ['spec'])
export const CLUSTER_ROLES = rbac('clusterroles', 'ClusterRole', ['rules', 'aggregationRule'], false)
export const CLUSTER_ROLE_BINDINGS = rbac(
  'clusterrolebindings',
  'ClusterRoleBinding',
  ['roleRef', 'subjects'],
  false,
)
export const ROLES = rbac('roles', 'Role', ['rules'], true)
export const ROLE_BINDINGS = rbac('rolebindings', 'RoleBinding', ['roleRef', 'subjects'], true)

export const EVENTS: ResourceType = {
  ...core('events', 'Event', [
    'eventTime',
    'series',
    'reportingController',
    'reportingInstance',
    'action',
    'reason',
    'regarding',
    'related',
    'note',
    'type',
  ]),
  group: 'events.k8s.io',
  createdByUpdate: true,
}

export const DEFINITIONS: ResourceType = {
  ...CUSTOM,
  group: 'cozystack.io',
  plural: 'applicationdefinitions',
  kind: 'ApplicationDefinition',
  namespaced: false,
  fields: ['spec'],
  newStatus: undefined,
}

/** Everything that can be stored. */
export const RESOURCE_TYPES: readonly ResourceType[] = [
  NAMESPACES,
  SECRETS,
  core('serviceaccounts', 'ServiceAccount', ['secrets', 'imagePullSecrets', 'automountServiceAccountToken']),
  core('configmaps', 'ConfigMap', ['data', 'binaryData', 'immutable']),
  QUOTAS,
  // Only what is read of one: no defaults are filled in, and nothing runs it.
  { ...core('pods', 'Pod', ['spec', 'status']), newStatus: { phase: 'Pending', qosClass: 'BestEffort' } },
  {
    ...CUSTOM,
    group: 'helm.toolkit.fluxcd.io',
    version: 'v2',
    plural: 'helmreleases',
    kind: 'HelmRelease',
    namespaced: true,
    fields: ['spec', 'status'],
    newStatus: { observedGeneration: -1 },
  },
  {
    ...CUSTOM,
    group: 'internal.cozystack.io',
    plural: 'tenantprojections',
    kind: 'TenantProjection',
    namespaced: true,
    fields: ['spec', 'status'],
    newStatus: null,
  },
  DEFINITIONS,
  CLUSTER_ROLES,
  CLUSTER_ROLE_BINDINGS,
  ROLES,
  ROLE_BINDINGS,
  EVENTS,
]

export const apiVersionOf = ({ group, version }: Pick<ResourceType, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`

/** `secrets`, `helmreleases.helm.toolkit.fluxcd.io`: as messages name a resource. */
export const qualifiedName = ({ group, plural }: Pick<ResourceType, 'group' | 'plural'>): string =>
  group === '' ? plural : `${plural}.${group}`
