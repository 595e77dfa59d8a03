import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ControlPlane, startControlPlane } from '../control-plane/start.ts'
import { eventually } from './eventually.ts'
import { buildOverlay } from './shipped.ts'

const TENANT = 'tenant-acme'
const RBAC = 'rbac.authorization.k8s.io'

let plane: ControlPlane
beforeAll(async () => {
  plane = await startControlPlane()
  await plane.apply(
    await buildOverlay({ resources: ['deploy/base'], components: ['deploy/trust-anchor'] }, plane),
  )
})

afterAll(() => plane?.stop())

describe('the function', () => {
  const FUNCTION = {
    user: 'system:serviceaccount:mintonce:mintonce',
    groups: ['system:serviceaccounts', 'system:serviceaccounts:mintonce', 'system:authenticated'],
  }
  test.each([
    ['', 'secrets', ['get', 'list', 'create', 'update', 'delete']],
    ['', 'namespaces', ['get']],
    ['helm.toolkit.fluxcd.io', 'helmreleases', ['get', 'list']],
    ['cozystack.io', 'applicationdefinitions', ['get', 'list']],
    ['authentication.k8s.io', 'tokenreviews', ['create']],
    ['authorization.k8s.io', 'subjectaccessreviews', ['create']],
    ['events.k8s.io', 'events', ['create']],
    ['', 'events', []],
    ['', 'configmaps', []],
    ['', 'pods', []],
    ['', 'serviceaccounts/token', []],
    ['apps.cozystack.io', 'postgreses', []],
    ['core.cozystack.io', 'credentials', []],
    ['core.cozystack.io', 'credentials/mint', []],
    ['core.cozystack.io', 'helmreleases/sync', []],
    ['core.cozystack.io', 'tenantprojections/sync', []],
    ['internal.cozystack.io', 'tenantprojections', ['get', 'list']],
    ['internal.cozystack.io', 'tenantprojections/status', ['update']],
    ['internal.cozystack.io', 'tenantprojections/finalizers', []],
    ['rbac.authorization.k8s.io', 'clusterroles', []],
    ['rbac.authorization.k8s.io', 'clusterrolebindings', []],
    ['admissionregistration.k8s.io', 'validatingadmissionpolicies', []],
  ])('may do to %s %s: %j', async (group, resource, verbs) => {
    expect(await allowedVerbs(FUNCTION, { group, ...split(resource), namespace: TENANT })).toEqual(verbs)
  })

  test('may read the front proxy authority, and no other ConfigMap beside it', async () => {
    const configMap = { group: '', resource: 'configmaps', namespace: 'kube-system' }
    const published = { ...configMap, name: 'extension-apiserver-authentication' }
    expect(await allowedVerbs(FUNCTION, published)).toEqual(['get'])
    expect(await allowedVerbs(FUNCTION, { ...configMap, name: 'another' })).toEqual([])
  })
})

describe.each(['core.cozystack.io', 'credentials.cozystack.io'])('of %s', (group) => {
  beforeAll(async () => {
    await plane.apply(PLATFORM)
    const last = 'cozy:tenant:super-admin'
    await eventually('the roles are aggregated', async () => {
      const { stdout } = await plane.kubectl(['get', 'clusterrole', last, '-o', 'jsonpath={.rules}'])
      return ['credentials"', 'credentials/mint"', 'helmreleases/sync"'].every((resource) =>
        stdout.includes(resource),
      )
    })
  })

  const READ = ['get', 'list']
  test.each([
    ['the view group', { groups: [`${TENANT}-view`] }, READ, []],
    ['the use group', { groups: [`${TENANT}-use`] }, READ, []],
    ['the admin group', { groups: [`${TENANT}-admin`] }, READ, ['create']],
    ['the super-admin group', { groups: [`${TENANT}-super-admin`] }, READ, ['create']],
    ["the tenant's ServiceAccount", { user: `system:serviceaccount:${TENANT}:${TENANT}` }, READ, ['create']],
    ['another authenticated user', { groups: ['system:authenticated'] }, [], []],
  ])('%s has what its tier says', async (_, subject, onCredentials, onMint) => {
    const who = { user: 'jane@example.org', ...subject }
    const on = (resource: string) => allowedVerbs(who, { group, ...split(resource), namespace: TENANT })
    expect(await on('credentials')).toEqual(onCredentials)
    expect(await on('credentials/mint')).toEqual(onMint)
    expect(await on('credentials/revoke')).toEqual(onMint)
    expect(await on('helmreleases/sync')).toEqual(onMint)
    expect(await on('helmreleases')).toEqual([])
    // Who may declare what is published may publish anything.
    expect(await on('tenantprojections/sync')).toEqual([])
    const declarations = { group: 'internal.cozystack.io', resource: 'tenantprojections', namespace: TENANT }
    expect(await allowedVerbs(who, declarations)).toEqual([])
    expect(await allowedVerbs(who, { group: '', resource: 'secrets', namespace: TENANT })).toEqual([])
    expect(await allowedVerbs(who, { group, resource: 'credentials', namespace: 'tenant-other' })).toEqual([])
  })
})

/** The platform's tenant roles and bindings, as far as aggregation goes. */
const aggregated = (name: string, label: string, feeds: readonly string[]): object => ({
  apiVersion: `${RBAC}/v1`,
  kind: 'ClusterRole',
  metadata: {
    name,
    labels: Object.fromEntries(feeds.map((feed) => [`rbac.cozystack.io/aggregate-to-${feed}`, 'true'])),
  },
  aggregationRule: {
    clusterRoleSelectors: [{ matchLabels: { [`rbac.cozystack.io/aggregate-to-${label}`]: 'true' } }],
  },
})

const bound = (name: string, subject: object): object => ({
  apiVersion: `${RBAC}/v1`,
  kind: 'RoleBinding',
  metadata: { name, namespace: TENANT },
  roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
  subjects: [subject],
})

const tier = (level: string, feeds: readonly string[]): readonly object[] => [
  aggregated(`cozy:tenant:${level}`, `tenant-${level}`, feeds),
  bound(`cozy:tenant:${level}`, { kind: 'Group', apiGroup: RBAC, name: `${TENANT}-${level}` }),
]

const PLATFORM: readonly object[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: TENANT } },
  aggregated('cozy:tenant', 'tenant', []),
  bound('cozy:tenant', { kind: 'ServiceAccount', name: TENANT, namespace: TENANT }),
  ...tier('view', ['tenant-use', 'tenant-admin', 'tenant-super-admin']),
  ...tier('use', ['tenant-admin', 'tenant-super-admin']),
  ...tier('admin', ['tenant-super-admin']),
  ...tier('super-admin', []),
]

interface Attributes {
  readonly group: string
  readonly resource: string
  readonly subresource?: string
  readonly namespace: string
  readonly name?: string
}

const split = (path: string): Pick<Attributes, 'resource' | 'subresource'> => {
  const [resource = '', subresource] = path.split('/')
  return subresource === undefined ? { resource } : { resource, subresource }
}

const VERBS = [
  ...['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
  ...['bind', 'escalate', 'impersonate'],
]

/** Asks the API server, verb by verb. */
async function allowedVerbs(subject: object, attributes: Attributes): Promise<readonly string[]> {
  const answers = await Promise.all(VERBS.map((verb) => isAllowed(subject, { ...attributes, verb })))
  return VERBS.filter((_, index) => answers[index])
}

async function isAllowed(subject: object, resourceAttributes: object): Promise<boolean> {
  const apiVersion = 'authorization.k8s.io/v1'
  const body = JSON.stringify({
    apiVersion,
    kind: 'SubjectAccessReview',
    spec: { ...subject, resourceAttributes },
  })
  const url = `${plane.url}/apis/${apiVersion}/subjectaccessreviews`
  const headers = { 'content-type': 'application/json' }
  const response = await plane.adminFetch(new Request(url, { method: 'POST', headers, body }))
  const { status } = (await response.json()) as { readonly status: { readonly allowed: boolean } }
  return status.allowed
}
