import { beforeEach, describe, expect, test } from 'vitest'
import type { Failure } from '../../src/core/failure.ts'
import { validate } from '../../src/credentials/admit.ts'
import {
  admissionAppOf,
  type Cluster,
  createOf,
  newRelease,
  refusalIn,
  startCluster,
  updateOf,
  wireOf,
} from '../helpers/admission.ts'

let cluster: Cluster
beforeEach(() => {
  cluster = startCluster()
})

const billing = (users: unknown = { web: {} }) => newRelease('Postgres', 'billing', { users })
const secret = (user = 'web') => cluster.secret(`postgres-billing.${user}.account`)
const PATH = '/api/v1/namespaces/tenant-acme/secrets/postgres-billing.web.account'

describe('the seed of a create that failed', () => {
  test('is taken over by an update that adds its account, with its value, and with an owner', async () => {
    await validate(cluster.services, createOf(billing()), {})
    const seed = await secret()
    const stored = await cluster.store(billing({}))
    const verdict = await validate(cluster.services, updateOf(stored, { values: { users: { web: {} } } }), {})
    expect(verdict).toMatchObject({ is: 'allowed', warnings: [] })
    const taken = await secret()
    expect(taken?.data).toEqual(seed?.data)
    expect(taken?.metadata).toMatchObject({
      uid: seed?.metadata.uid,
      ownerReferences: [{ kind: 'HelmRelease', uid: stored.metadata.uid }],
      annotations: { 'credentials.cozystack.io/release-uid': stored.metadata.uid },
    })
    cluster.collect()
    expect(await secret()).toBeDefined()
  })

  test.each([
    ['that was minted', { annotations: { 'credentials.cozystack.io/origin': 'Minted' } }],
    ['of another kind', { labels: { 'apps.cozystack.io/application.kind': 'MariaDB' } }],
    ['that says of no release', { annotations: { 'credentials.cozystack.io/release-uid': null } }],
  ])('is not, %s', async (_, metadata) => {
    await validate(cluster.services, createOf(billing()), {})
    await cluster.send('PATCH', PATH, { metadata })
    const before = await secret()
    const stored = await cluster.store(billing({}))
    const review = updateOf(stored, { values: { users: { web: {} } } })
    expect(refusalIn(await validate(cluster.services, review, {}))).toHaveLength(1)
    expect(await secret()).toEqual(before)
  })
})

/** Every write of a Secret fails so. */
const failing = (failure: Failure) => {
  const { kube } = cluster.services
  const fail = async () => ({ ok: false, failure }) as const
  return { ...cluster.services, kube: { ...kube, createSecret: fail, updateSecret: fail } }
}

const FAILURES: readonly (readonly [Failure, string, RegExp])[] = [
  [{ reason: 'kube_conflict' }, 'raced', /somebody else is creating them at this moment: try again/],
  [{ reason: 'kube_exists' }, 'raced', /somebody else is creating them at this moment: try again/],
  [{ reason: 'kube_absent' }, 'raced', /somebody else is creating them at this moment: try again/],
  [
    { reason: 'kube_quota_exceeded', quota: 'tenant' },
    'forbidden',
    /resource quota "tenant" has no room for another Secret/,
  ],
  [
    { reason: 'kube_namespace_terminating', namespace: 'tenant-acme' },
    'forbidden',
    /namespace "tenant-acme" is being terminated/,
  ],
  [{ reason: 'kube_overloaded', retryAfterSeconds: 1 }, 'failed', /kube_overloaded/],
]

describe.each(FAILURES)('a write that fails with %j', (failure, is, said) => {
  test(`is answered as ${is}, by a create and by an update`, async () => {
    const stored = await cluster.store(billing({}))
    const create = createOf(newRelease('Postgres', 'other', { users: { web: {} } }))
    for (const review of [create, updateOf(stored, { values: { users: { web: {} } } })]) {
      const verdict = await validate(failing(failure), review, {})
      expect(verdict).toMatchObject({ is: 'refused', refusal: { is } })
      expect(refusalIn(verdict)).toEqual([expect.stringMatching(said)])
    }
  })
})

test('somebody faster is a conflict to the client, and a quota is not: clients repeat conflicts', async () => {
  const answers = async (code: number, message: string) => {
    const app = await admissionAppOf({
      ...cluster,
      fetch: async (request) =>
        request.method === 'POST' && request.url.includes('/secrets')
          ? new Response(JSON.stringify({ kind: 'Status', reason: reasonOf(code), code, message }), {
              status: code,
            })
          : cluster.fetch(request),
    })
    const answer = await app.call('/admission/validate', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(wireOf(createOf(billing()))),
    })
    const { response } = (await answer.json()) as { readonly response: { readonly status: object } }
    return response.status
  }
  expect(await answers(409, 'secrets "postgres-billing.web.account" already exists')).toMatchObject({
    code: 409,
    reason: 'Conflict',
    message: expect.stringContaining('try again'),
  })
  // `k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go`
  const exceeded =
    'secrets "x" is forbidden: exceeded quota: tenant, requested: secrets=1, used: secrets=9, limited: secrets=9'
  expect(await answers(403, exceeded)).toMatchObject({
    code: 403,
    reason: 'Forbidden',
    message: expect.stringContaining('resource quota "tenant"'),
  })
})

const reasonOf = (code: number): string => (code === 409 ? 'AlreadyExists' : 'Forbidden')
