import { expect } from 'vitest'
import { bodyLinesOf, createEngineCa, type EngineCa } from '../helpers/engine-ca.ts'
import { GROUP } from './backend.ts'
import type { Contract } from './contract.ts'
import type { Anything } from './kube.ts'
import { type Answer, answerOf, type CallOptions, type Tenant } from './tenant.ts'

/** A tenant with an engine whose operator keeps its CA beside the key, and somebody of the platform who may sync. */
export interface Anchoring extends Tenant {
  readonly ca: EngineCa
  /** By somebody of the platform, unless the options say who of the tenant. */
  readonly publish: (projection?: string, options?: CallOptions) => Promise<Answer>
  /** Creates a TenantProjection; the release is `postgres-orders`, and the source `postgres-orders-ca`, unless changed. */
  readonly declare: (name?: string, change?: (projection: Anything) => void) => Promise<Anything>
  /** Creates the Secret of the operator, or another. */
  readonly leave: (name?: string, data?: Readonly<Record<string, string>>, more?: object) => Promise<Anything>
  /** Changes what is there, or deletes it. */
  readonly source: (data: Readonly<Record<string, string>> | undefined) => Promise<void>
  /** `postgres-orders.tenant-ca`; undefined when there is none. */
  readonly published: () => Promise<Anything>
  readonly projection: (name?: string) => Promise<Anything>
  /** `True Projected`, say; undefined when nothing was said. */
  readonly ready: (name?: string) => Promise<string | undefined>
  readonly reasons: () => Promise<readonly string[]>
}

export const ANCHOR = 'postgres-orders.tenant-ca'
export const PROJECTION = 'postgres-orders-ca'
export const SOURCE = 'postgres-orders-ca'
const PLATFORM_NAMESPACE = 'mintonce'
const OPERATOR = 'operator-of-the-platform'
const RBAC = 'rbac.authorization.k8s.io'

const encode = (text: string): string => Buffer.from(text).toString('base64')
const encodeAll = (data: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, encode(value)]))

/** Of every CA that a test has made, lines of its key. */
export const keyLines: string[] = []

export async function createAnchoring({ backend, tenant }: Contract): Promise<Anchoring> {
  const acme = await tenant()
  const { admin, namespace } = acme
  const ca = await createEngineCa(namespace)
  keyLines.push(...bodyLinesOf(ca.key))
  const token = await letPublish(acme, backend().tokenOf)
  const core = `/api/v1/namespaces/${namespace}/secrets`
  const projections = `/apis/internal.cozystack.io/v1alpha1/namespaces/${namespace}/tenantprojections`
  const calls = `/apis/${GROUP}/v1alpha1/namespaces/${namespace}/tenantprojections`
  const projection = (name = PROJECTION) => admin.get(`${projections}/${name}`)

  return {
    ...acme,
    ca,
    projection,
    publish: async (name = PROJECTION, { as, body, query, headers } = {}) => {
      const at = `${calls}/${name}/sync${query === undefined ? '' : `?${query}`}`
      const bearer = as === undefined ? token : acme.tokens[as]
      const response = await backend().call(at, {
        method: 'POST',
        headers: { Authorization: `Bearer ${bearer}`, ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      return answerOf(response)
    },
    declare: (name = PROJECTION, change = () => undefined) => {
      const declared = projectionOf(name)
      change(declared)
      return admin.create(projections, declared)
    },
    leave: (name = SOURCE, data = { 'ca.crt': ca.certificate, 'ca.key': ca.key }, more = {}) =>
      admin.create(core, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name },
        data: encodeAll(data),
        ...more,
      }),
    source: async (data) => {
      if (data === undefined) return admin.remove(`${core}/${SOURCE}`)
      await admin.change(`${core}/${SOURCE}`, (secret) => {
        secret.data = encodeAll(data)
      })
    },
    published: () => admin.find(`${core}/${ANCHOR}`),
    ready: async (name) => {
      const { status } = await projection(name)
      const [condition] = status?.conditions ?? []
      return condition === undefined ? undefined : `${condition.status} ${condition.reason}`
    },
    reasons: async () => (await acme.events()).map(({ reason }) => reason),
  }
}

export const projectionOf = (name: string, source = SOURCE): Anything => ({
  apiVersion: 'internal.cozystack.io/v1alpha1',
  kind: 'TenantProjection',
  metadata: { name, labels: { 'helm.toolkit.fluxcd.io/name': 'postgres-orders' } },
  spec: { projections: [{ type: 'CACert', sourceSecretName: source }] },
})

/** As the shipped role lets somebody of the platform, in this namespace. A role counts a moment after it was bound. */
async function letPublish(
  { admin, namespace }: Tenant,
  tokenOf: (namespace: string, serviceAccount: string) => Promise<string>,
): Promise<string> {
  const accounts = `/api/v1/namespaces/${PLATFORM_NAMESPACE}/serviceaccounts`
  if ((await admin.find(`${accounts}/${OPERATOR}`)) === undefined) {
    await admin.create(accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: OPERATOR } })
  }
  await admin.create(`/apis/${RBAC}/v1/namespaces/${namespace}/rolebindings`, {
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata: { name: 'platform.publishes' },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'mintonce:trust-anchors-sync' },
    subjects: [{ kind: 'ServiceAccount', name: OPERATOR, namespace: PLATFORM_NAMESPACE }],
  })
  const resource = { group: GROUP, resource: 'tenantprojections', subresource: 'sync' }
  const isAllowed = async () => {
    const review = await admin.create('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: `system:serviceaccount:${PLATFORM_NAMESPACE}:${OPERATOR}`,
        resourceAttributes: { verb: 'create', ...resource, namespace },
      },
    })
    return review.status.allowed
  }
  await expect.poll(isAllowed, { timeout: 10_000 }).toBe(true)
  return tokenOf(PLATFORM_NAMESPACE, OPERATOR)
}
