import { beforeEach, describe, expect, test } from 'vitest'
import { validate } from '../../src/credentials/admit.ts'
import type { HelmRelease } from '../../src/k8s/objects.ts'
import {
  type Cluster,
  createOf,
  newRelease,
  refusalIn,
  startCluster,
  updateOf,
} from '../helpers/admission.ts'

let cluster: Cluster
let gets: string[]
beforeEach(() => {
  cluster = startCluster()
  gets = []
})

const LEGACY = 'postgres-billing-credentials'
const SAID = `user "web" has a password from before in Secret "${LEGACY}": convert it`

const billing = (users: unknown = { web: {}, report: {} }) => newRelease('Postgres', 'billing', { users })
const secret = (user = 'web') => cluster.secret(`postgres-billing.${user}.account`)
const putLegacy = (data: object, name = LEGACY) =>
  cluster.putSecret({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'tenant-acme' }, data })
const HUNTER2 = { web: Buffer.from('hunter2').toString('base64') }

/** As `validate` does, and which Secrets it reads. */
function review(...[asked]: readonly [Parameters<typeof validate>[1]]) {
  const { kube } = cluster.services
  const getSecret: typeof kube.getSecret = (namespace, name, options) => {
    gets.push(name)
    return kube.getSecret(namespace, name, options)
  }
  return validate({ ...cluster.services, kube: { ...kube, getSecret } }, asked, {})
}

describe('a password in the clear from before', () => {
  test('keeps its account from being seeded by a create, and its siblings get theirs', async () => {
    await putLegacy(HUNTER2)
    expect(await review(createOf(billing()))).toEqual({
      is: 'allowed',
      warnings: [SAID],
      patch: [],
      adopts: false,
    })
    expect(await secret()).toBeUndefined()
    expect(await secret('report')).toBeDefined()
    expect(gets.filter((name) => name === LEGACY)).toHaveLength(1)
    expect(cluster.logged.join('')).not.toContain('hunter2')
  })

  test('keeps its account from being seeded when it is taken out and added again', async () => {
    await putLegacy(HUNTER2)
    const without = await cluster.store(billing({ report: {} }))
    const verdict = await review(updateOf(without, { values: { users: { report: {}, web: {} } } }))
    expect(verdict).toMatchObject({ is: 'allowed', warnings: [SAID] })
    expect(cluster.writes()).toEqual([])
  })

  test.each(['create', 'update'])(
    'keeps a seed that nobody owns from being taken over by an %s',
    async (by) => {
      await review(createOf(billing({ web: {} })))
      const before = await secret()
      await putLegacy(HUNTER2)
      const asked =
        by === 'create'
          ? createOf(billing({ web: {} }))
          : updateOf(await cluster.store(billing({})), { values: { users: { web: {} } } })
      expect(await review(asked)).toMatchObject({ is: 'allowed', warnings: [SAID] })
      expect(await secret()).toEqual(before)
    },
  )

  test('is nothing to an account that is converted: its Secret comes back to it', async () => {
    const stored = await cluster.store(billing({}))
    await review(updateOf(stored, { values: { users: { web: {} } } }))
    await putLegacy(HUNTER2)
    const marks = { 'credentials.cozystack.io/undeclared-since': '2026-10-02T09:00:00Z' }
    const path = '/api/v1/namespaces/tenant-acme/secrets/postgres-billing.web.account'
    await cluster.send('PATCH', path, { metadata: { annotations: marks } })
    expect(await review(updateOf(stored, { values: { users: { web: {} } } }))).toMatchObject({ warnings: [] })
    expect((await secret())?.metadata.annotations).not.toHaveProperty(
      'credentials.cozystack.io/undeclared-since',
    )
  })

  test('is looked for where its definition says', async () => {
    await cluster.setBlock('postgres', { legacy: { secretName: '{release}-auth', key: 'password' } })
    await putLegacy({ password: HUNTER2.web }, 'postgres-billing-auth')
    expect(await review(createOf(billing({ web: {} })))).toMatchObject({
      warnings: ['user "web" has a password from before in Secret "postgres-billing-auth": convert it'],
    })
    expect(await secret()).toBeUndefined()
  })

  test('is looked for once more when the Secret that there was has gone meanwhile', async () => {
    const stored: HelmRelease = await cluster.store(billing({}))
    await validate(cluster.services, updateOf(stored, { values: { users: { web: {} } } }), {})
    await putLegacy(HUNTER2)
    const path = '/api/v1/namespaces/tenant-acme/secrets/postgres-billing.web.account'
    const marks = { 'credentials.cozystack.io/undeclared-since': '2026-10-02T09:00:00Z' }
    await cluster.send('PATCH', path, { metadata: { annotations: marks } })
    const { kube } = cluster.services
    const updateSecret: typeof kube.updateSecret = async (...given) => {
      await cluster.send('DELETE', path)
      return kube.updateSecret(...given)
    }
    const services = { ...cluster.services, kube: { ...kube, updateSecret } }
    const verdict = await validate(services, updateOf(stored, { values: { users: { web: {} } } }), {})
    expect(verdict).toMatchObject({ is: 'allowed', warnings: [SAID] })
    expect(await secret()).toBeUndefined()
  })

  test('that cannot be looked for refuses what would seed, and nothing else', async () => {
    const stored = await cluster.store(billing({ web: {} }))
    cluster.breaks('GET', /-credentials$/)
    expect(
      refusalIn(await review(createOf(newRelease('Postgres', 'other', { users: { web: {} } })))),
    ).toEqual(['the account Secrets could not be created: kube_error'])
    expect(
      refusalIn(await review(updateOf(stored, { values: { users: { web: { x: 1 } } } }))),
    ).toBeUndefined()
    expect(cluster.writes()).toEqual([])
  })

  test.each<[string, object]>([
    ['is empty', { web: '' }],
    ['is of somebody else', { other: HUNTER2.web }],
  ])('that %s keeps nobody from anything', async (_, data) => {
    await putLegacy(data)
    expect(await review(createOf(billing({ web: {} })))).toMatchObject({ is: 'allowed', warnings: [] })
    expect(await secret()).toBeDefined()
  })

  test('is not asked for by a write that adds nobody', async () => {
    const stored = await cluster.store(billing({ web: {} }))
    await review(updateOf(stored, { values: { users: { web: { x: 1 } } } }))
    expect(gets).not.toContain(LEGACY)
  })
})
