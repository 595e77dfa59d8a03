import { type Backend, GROUP } from './backend.ts'
import { type Admin, type Anything, adminOf } from './kube.ts'
import { note } from './passwords.ts'

/** A namespace with people in it, made for one test. */
export interface Tenant {
  readonly namespace: string
  readonly admin: Admin
  readonly tokens: Readonly<Record<Who, string>>
  /** Creates a HelmRelease of an application. */
  readonly release: (kind: Kind, name: string, values: object, more?: ReleaseOptions) => Promise<Anything>
  readonly path: (credential: string, verb?: string) => string
  readonly mint: (credential: string, options?: CallOptions) => Promise<Answer>
  readonly revoke: (credential: string, options?: CallOptions) => Promise<Answer>
  readonly get: (credential: string, options?: CallOptions) => Promise<Answer>
  readonly list: (query?: string, options?: CallOptions) => Promise<Answer>
  /** The account Secret of a Credential; undefined when there is none. */
  readonly secret: (credential: string) => Promise<Anything>
  readonly secretPath: (credential: string) => string
  readonly events: () => Promise<readonly Anything[]>
}

type Who = 'admin' | 'viewer' | 'stranger'
type Kind = 'Postgres' | 'MariaDB' | 'ClickHouse' | 'Redis' | (string & {})

interface ReleaseOptions {
  /** Undefined takes a label away. */
  readonly labels?: Readonly<Record<string, string | undefined>>
  readonly spec?: object
  readonly metadata?: object
}

export interface CallOptions {
  readonly as?: Who
  readonly body?: unknown
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Anything
  readonly text: string
}

const PREFIXES: Readonly<Record<string, string>> = {
  Postgres: 'postgres-',
  MariaDB: 'mariadb-',
  ClickHouse: 'clickhouse-',
  Redis: 'redis-',
}

let tenants = 0

export async function createTenant(backend: Backend): Promise<Tenant> {
  tenants += 1
  const namespace = `tenant-t${tenants}x${Math.random().toString(36).slice(2, 7)}`
  const admin = adminOf(backend.admin)
  await admin.create('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  })
  const tokens = await createPeople(backend, admin, namespace)

  const path = (credential: string, verb = '') =>
    `/apis/${GROUP}/v1alpha1/namespaces/${namespace}/credentials${credential === '' ? '' : `/${credential}`}${verb === '' ? '' : `/${verb}`}`
  const secretPath = (credential: string) => `/api/v1/namespaces/${namespace}/secrets/${credential}.account`

  async function call(method: string, at: string, { as = 'admin', body, query, headers }: CallOptions = {}) {
    const response = await backend.call(`${at}${query === undefined ? '' : `?${query}`}`, {
      method,
      headers: {
        Authorization: `Bearer ${tokens[as]}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const answer = await answerOf(response)
    note(at.split('/credentials/')[1] ?? '', answer)
    return answer
  }

  return {
    namespace,
    admin,
    tokens,
    path,
    secretPath,
    release: (kind, name, values, more = {}) =>
      admin.create(
        `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases`,
        releaseOf(kind, name, values, more),
      ),
    mint: (credential, options) => call('POST', path(credential, 'mint'), options),
    revoke: (credential, options) => call('POST', path(credential, 'revoke'), options),
    get: (credential, options) => call('GET', path(credential), options),
    list: (query, options) =>
      call('GET', path(''), { ...options, ...(query === undefined ? {} : { query }) }),
    secret: (credential) => admin.find(secretPath(credential)),
    events: async () => (await admin.get(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`)).items,
  }
}

export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') ?? false
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  }
}

/** What a platform would render for a tenant, `spec.values` being the tenant's own. */
export function releaseOf(kind: string, name: string, values: object, more: ReleaseOptions = {}): object {
  return {
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    metadata: {
      name: `${PREFIXES[kind] ?? ''}${name}`,
      labels: {
        'apps.cozystack.io/application.group': 'apps.cozystack.io',
        'apps.cozystack.io/application.kind': kind,
        'apps.cozystack.io/application.name': name,
        ...more.labels,
      },
      ...more.metadata,
    },
    spec: {
      interval: '5m',
      chartRef: { kind: 'OCIRepository', name: kind.toLowerCase(), namespace: 'cozy-system' },
      values,
      ...more.spec,
    },
  }
}

/** ServiceAccounts with the roles that are shipped, and one with none. */
async function createPeople(backend: Backend, admin: Admin, namespace: string): Promise<Record<Who, string>> {
  const account = async (name: Who, roles: readonly string[]): Promise<string> => {
    await admin.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name },
    })
    for (const role of roles) {
      await admin.create(`/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: `${name}.${role.replace(':', '.')}` },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
        subjects: [{ kind: 'ServiceAccount', name, namespace }],
      })
    }
    return backend.tokenOf(namespace, name)
  }
  return {
    admin: await account('admin', ['mintonce:view', 'mintonce:mint']),
    viewer: await account('viewer', ['mintonce:view']),
    stranger: await account('stranger', []),
  }
}

/** What a record names the tenant's administrator. */
export const adminOfTenant = ({ namespace }: Tenant): string => `system:serviceaccount:${namespace}:admin`
