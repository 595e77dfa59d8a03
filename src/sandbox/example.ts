/** The example tenant: what a platform holds for somebody who ordered four applications. */

export const TENANT = 'tenant-acme'
const FUNCTION = { namespace: 'mintonce', name: 'mintonce' } as const

interface ExampleUser {
  readonly token: string
  readonly username: string
  readonly groups: readonly string[]
  readonly audiences: readonly string[]
}

const AUTHENTICATED = 'system:authenticated'

/** Fixed tokens: the sandbox protects nothing. */
export const exampleUsers: readonly ExampleUser[] = [
  { token: 'tenant-admin', username: 'jane@example.org', groups: ['tenant-acme-admin', AUTHENTICATED] },
  { token: 'tenant-viewer', username: 'victor@example.org', groups: ['tenant-acme-view', AUTHENTICATED] },
  {
    token: 'pipeline',
    username: `system:serviceaccount:${TENANT}:pipeline`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${TENANT}`, AUTHENTICATED],
  },
  { token: 'stranger', username: 'mallory@example.com', groups: [AUTHENTICATED] },
].map((user) => ({ ...user, audiences: ['mintonce'] }))

/** The function's own identity. */
export const exampleFunction = {
  username: `system:serviceaccount:${FUNCTION.namespace}:${FUNCTION.name}`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${FUNCTION.namespace}`, AUTHENTICATED],
} as const

/** Objects in an order in which they can be created. The roles that the bindings name are shipped in `deploy/base/rbac`. */
export const exampleTenant = (): readonly object[] => [
  namespace(FUNCTION.namespace),
  serviceAccount(FUNCTION.namespace, FUNCTION.name),
  namespace(TENANT),
  serviceAccount(TENANT, 'pipeline'),
  ...definitions(),
  release('Postgres', 'orders', {
    users: { web: {}, report: {} },
    databases: { orders: { roles: { admin: ['web'] } } },
  }),
  release('MariaDB', 'shop', { users: { app: { maxUserConnections: 100 } } }),
  release('ClickHouse', 'events', { users: { etl: {} } }),
  release('Redis', 'cache', { authEnabled: true }),
  binding('tenant-acme-view', 'mintonce:view', [group('tenant-acme-view')]),
  binding('tenant-acme-admin-view', 'mintonce:view', [group('tenant-acme-admin'), pipeline]),
  binding('tenant-acme-admin', 'mintonce:mint', [group('tenant-acme-admin'), pipeline]),
  binding('tenant-acme-admin-sync', 'mintonce:sync', [group('tenant-acme-admin'), pipeline]),
  applications(),
  binding('tenant-acme-admin-applications', 'applications', [group('tenant-acme-admin'), pipeline], 'Role'),
]

/** What the platform stores when a tenant orders one more application: nothing of it is deployed yet. */
export function orderedRelease(): object {
  const { status: _, ...ordered } = release('Postgres', 'ledger', { users: { web: {} } })
  return ordered
}

const serviceAccount = (within: string, name: string) => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace: within },
})

const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })

/** One for each format: what a platform engineer writes once per engine. */
const definitions = (): readonly object[] => [
  definition('Postgres', 'postgreses', {
    format: { kind: 'BuiltIn', name: 'scram-sha-256' },
    secretLabels: { 'cnpg.io/reload': 'true' },
    accounts: [
      { kind: 'ValuesMap', path: 'users' },
      ...platform('postgres', 'app', 'streaming_replica', 'cnpg_pooler_pgbouncer'),
    ],
  }),
  definition('MariaDB', 'mariadbs', {
    format: { kind: 'BuiltIn', name: 'mysql-native' },
    secretLabels: { 'k8s.mariadb.com/watch': '' },
    accounts: [{ kind: 'ValuesMap', path: 'users' }, ...platform('root', 'mariadb.sys')],
  }),
  definition('ClickHouse', 'clickhouses', {
    format: { kind: 'BuiltIn', name: 'sha256' },
    secretLabels: { 'reconcile.fluxcd.io/watch': 'Enabled' },
    valuesPath: '_accounts',
    accounts: [{ kind: 'ValuesMap', path: 'users' }, ...platform('backup', 'default')],
  }),
  definition(
    'Redis',
    'redises',
    {
      format: { kind: 'BuiltIn', name: 'plaintext' },
      accounts: [{ kind: 'Static', name: 'default', when: 'authEnabled' }],
    },
    { type: 'object', properties: { authEnabled: { type: 'boolean', default: true } } },
  ),
]

const platform = (...names: readonly string[]) =>
  names.map((name) => ({ kind: 'Static', name, owner: 'platform' }))

function definition(
  kind: string,
  plural: string,
  credentials: object,
  schema: object = { type: 'object' },
): object {
  const singular = kind.toLowerCase()
  return {
    apiVersion: 'cozystack.io/v1alpha1',
    kind: 'ApplicationDefinition',
    metadata: { name: singular },
    spec: {
      application: { kind, plural, singular, openAPISchema: JSON.stringify(schema) },
      release: {
        prefix: `${singular}-`,
        chartRef: { kind: 'ExternalArtifact', name: `cozystack-${singular}`, namespace: 'cozy-system' },
      },
      secrets: {
        include: [
          { resourceNames: [`${singular}-{{ .name }}-credentials`] },
          { matchLabels: { 'internal.cozystack.io/tenant-ca': 'true' } },
        ],
      },
      credentials,
    },
  }
}

/** What the platform's own roles let a tenant's administrator do with applications. */
const applications = () => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  metadata: { name: 'applications', namespace: TENANT },
  rules: [
    {
      apiGroups: ['apps.cozystack.io'],
      resources: ['*'],
      verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
    },
  ],
})

function release(kind: string, name: string, values: object) {
  const singular = kind.toLowerCase()
  return {
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    metadata: {
      name: `${singular}-${name}`,
      namespace: TENANT,
      labels: {
        'apps.cozystack.io/application.group': 'apps.cozystack.io',
        'apps.cozystack.io/application.kind': kind,
        'apps.cozystack.io/application.name': name,
      },
    },
    spec: {
      interval: '5m',
      chartRef: { kind: 'ExternalArtifact', name: `cozystack-${singular}`, namespace: 'cozy-system' },
      valuesFrom: [{ kind: 'Secret', name: 'cozystack-values' }],
      values,
    },
    status: deployed(`${singular}-${name}`, singular),
  }
}

const DEPLOYED_AT = '2026-10-01T08:00:00Z'

/** What Flux reports of a release whose chart was installed. */
const deployed = (name: string, chartName: string) => ({
  observedGeneration: 1,
  conditions: ['Ready', 'Released'].map((type) => ({
    type,
    status: 'True',
    reason: 'InstallSucceeded',
    message: `Helm install succeeded for release ${TENANT}/${name}.v1`,
    lastTransitionTime: DEPLOYED_AT,
    observedGeneration: 1,
  })),
  history: [
    {
      name,
      namespace: TENANT,
      version: 1,
      status: 'deployed',
      chartName,
      chartVersion: '1.0.0',
      firstDeployed: DEPLOYED_AT,
      lastDeployed: DEPLOYED_AT,
    },
  ],
})

const group = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name })
const pipeline = { kind: 'ServiceAccount', name: 'pipeline', namespace: TENANT }

const binding = (name: string, role: string, subjects: readonly object[], roleKind = 'ClusterRole') => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name, namespace: TENANT },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: roleKind, name: role },
  subjects,
})
