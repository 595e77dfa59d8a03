import { expect } from 'vitest'
import { GROUP } from './backend.ts'
import type { Contract } from './contract.ts'
import type { Anything } from './kube.ts'
import { type Answer, answerOf, type CallOptions, type Tenant } from './tenant.ts'

/** A tenant whose administrator may sync, and a MariaDB to be synced. */
export interface Syncing extends Tenant {
  readonly sync: (release: string, options?: CallOptions) => Promise<Answer>
  /** Of the MariaDB `shop`, by what is not zero. */
  readonly counts: () => Promise<Readonly<Record<string, number>>>
  /** The MariaDB `shop`, with these users. */
  readonly shop: (users: object, more?: object) => Promise<Anything>
  readonly declare: (users: object) => Promise<Anything>
  /** Its status, as helm-controller would write it. */
  readonly report: (status: (release: Anything) => object) => Promise<Anything>
  readonly reasons: () => Promise<readonly string[]>
}

const RBAC = 'rbac.authorization.k8s.io'
export const SHOP = 'mariadb-shop'
const LANDED_AT = '2026-10-02T09:14:07Z'

/** After an action of Helm (`helm.toolkit.fluxcd.io/v2`, Snapshot). */
export const deployed = {
  history: [
    {
      chartName: 'mariadb',
      chartVersion: '1.0.0',
      configDigest: 'sha256:00',
      digest: 'sha256:00',
      firstDeployed: LANDED_AT,
      lastDeployed: LANDED_AT,
      name: SHOP,
      namespace: 'tenant',
      status: 'deployed',
      version: 1,
    },
  ],
}

/** What was asked for is there. */
export const landed = ({ metadata }: Anything): object => ({
  ...deployed,
  observedGeneration: metadata.generation,
  conditions: [
    {
      type: 'Ready',
      status: 'True',
      reason: 'UpgradeSucceeded',
      message: 'Helm upgrade succeeded',
      observedGeneration: metadata.generation,
      lastTransitionTime: LANDED_AT,
    },
  ],
})

export async function createSyncing({ backend, tenant }: Contract): Promise<Syncing> {
  const acme = await tenant()
  await letSync(acme)
  const releases = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${acme.namespace}/helmreleases`
  const calls = `/apis/${GROUP}/v1alpha1/namespaces/${acme.namespace}/helmreleases`

  async function sync(release: string, { as = 'admin', body, query, headers }: CallOptions = {}) {
    const at = `${calls}/${release}/sync${query === undefined ? '' : `?${query}`}`
    const response = await backend().call(at, {
      method: 'POST',
      headers: { Authorization: `Bearer ${acme.tokens[as]}`, ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return answerOf(response)
  }

  return {
    ...acme,
    sync,
    counts: async () => {
      const { status, body } = await sync(SHOP)
      expect([status, body.status]).toEqual([200, 'Success'])
      return countsIn(body)
    },
    shop: (users, more = {}) => acme.release('MariaDB', 'shop', { users }, more),
    declare: (users) =>
      acme.admin.change(`${releases}/${SHOP}`, (release) => {
        release.spec.values.users = users
      }),
    report: (status) =>
      acme.admin.change(`${releases}/${SHOP}/status`, (release) => {
        release.status = status(release)
      }),
    reasons: async () => (await acme.events()).map(({ reason }) => reason),
  }
}

/** The counts of a Status that are not zero. */
export function countsIn({ details }: Anything): Readonly<Record<string, number>> {
  const causes = details.causes.map(({ reason, message }: Anything) => [reason, Number(message)] as const)
  return Object.fromEntries(causes.filter(([, count]: readonly [string, number]) => count > 0))
}

/** As the platform and the shipped role let an administrator. A role counts a moment after it was bound. */
async function letSync({ admin, namespace }: Tenant): Promise<void> {
  const at = `/apis/${RBAC}/v1/namespaces/${namespace}`
  const rules = [{ apiGroups: ['apps.cozystack.io'], resources: ['*'], verbs: ['update'] }]
  await admin.create(`${at}/roles`, {
    apiVersion: `${RBAC}/v1`,
    kind: 'Role',
    metadata: { name: 'applications' },
    rules,
  })
  for (const [kind, name] of [
    ['Role', 'applications'],
    ['ClusterRole', 'mintonce:sync'],
  ]) {
    await admin.create(`${at}/rolebindings`, {
      apiVersion: `${RBAC}/v1`,
      kind: 'RoleBinding',
      metadata: { name: `admin.${name?.replace(':', '.')}` },
      roleRef: { apiGroup: RBAC, kind, name },
      subjects: [{ kind: 'ServiceAccount', name: 'admin', namespace }],
    })
  }
  const attributes = [
    { verb: 'create', group: GROUP, resource: 'helmreleases', subresource: 'sync' },
    { verb: 'update', group: 'apps.cozystack.io', resource: 'mariadbs' },
  ]
  for (const each of attributes) {
    const isAllowed = async () => {
      const review = await admin.create('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: {
          user: `system:serviceaccount:${namespace}:admin`,
          resourceAttributes: { ...each, namespace },
        },
      })
      return review.status.allowed
    }
    await expect.poll(isAllowed, { timeout: 10_000 }).toBe(true)
  }
}
