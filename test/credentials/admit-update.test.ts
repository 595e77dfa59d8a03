import { beforeEach, describe, expect, test } from 'vitest'
import { adoptOf, validate } from '../../src/credentials/admit.ts'
import type { HelmRelease } from '../../src/k8s/objects.ts'
import {
  type Cluster,
  createOf,
  deleteOf,
  newRelease,
  refusalIn,
  startCluster,
  updateOf,
} from '../helpers/admission.ts'

let cluster: Cluster
/** Deployed long ago; `web` has a Secret, and `report` has none. */
let billing: HelmRelease

beforeEach(async () => {
  cluster = startCluster()
  await validate(cluster.services, createOf(newRelease('Postgres', 'billing', { users: { web: {} } })), {})
  billing = await cluster.store(newRelease('Postgres', 'billing', { users: { web: {} } }))
  await move(billing.metadata.uid)
})

const path = (user: string) => `/api/v1/namespaces/tenant-acme/secrets/postgres-billing.${user}.account`
const secret = (user = 'web') => cluster.secret(`postgres-billing.${user}.account`)
const ALLOWED = { is: 'allowed', warnings: [], patch: [], adopts: false }

/** The seed of `web` as one of this release, which the API server has given another uid than was said. */
const move = (uid: string) => annotate({ 'release-uid': uid })
async function annotate(change: Readonly<Record<string, string>>, user = 'web') {
  const annotations = Object.fromEntries(
    Object.entries(change).map(([name, value]) => [`credentials.cozystack.io/${name}`, value]),
  )
  await cluster.send('PATCH', path(user), { metadata: { annotations } })
}
const update = (
  users: unknown,
  { from = billing, ...change }: { from?: HelmRelease } & Parameters<typeof updateOf>[2] = {},
) => validate(cluster.services, updateOf(from, { values: { users } }, change), {})
/** Stored as with these users before the write that a test is about. */
async function storeUsers(users: unknown): Promise<HelmRelease> {
  const stored = await cluster.release('postgres-billing')
  const spec = { ...stored.spec, values: { users } }
  const path = '/apis/helm.toolkit.fluxcd.io/v2/namespaces/tenant-acme/helmreleases/postgres-billing'
  expect((await cluster.send('PUT', path, { ...stored, spec })).status).toBe(200)
  return cluster.release('postgres-billing')
}

describe('an account that a write adds', () => {
  test('has its Secret before the write is stored, owned by the release', async () => {
    expect(refusalIn(await update({ web: {}, report: {} }))).toBeUndefined()
    const added = await secret('report')
    expect(added?.metadata).toMatchObject({
      ownerReferences: [{ kind: 'HelmRelease', name: 'postgres-billing', uid: billing.metadata.uid }],
      annotations: {
        'credentials.cozystack.io/origin': 'NotIssued',
        'credentials.cozystack.io/release-uid': billing.metadata.uid,
      },
    })
    cluster.collect()
    expect(await secret('report')).toBeDefined()
  })

  test('nothing is stored in a dry run', async () => {
    expect(await update({ web: {}, report: {} }, { dryRun: true })).toEqual(ALLOWED)
    expect(await secret('report')).toBeUndefined()
    expect(cluster.writes()).toEqual(['POST secrets'])
  })

  test('that was on its way out comes back with the password that it had', async () => {
    await annotate({ origin: 'Minted', 'undeclared-since': '2026-10-02T09:00:00Z' })
    const before = await secret()
    const gone = await storeUsers({ other: {} })
    expect(refusalIn(await update({ other: {}, web: {} }, { from: gone }))).toBeUndefined()
    const after = await secret()
    expect(after?.data).toEqual(before?.data)
    expect(after?.metadata.uid).toBe(before?.metadata.uid)
    expect(after?.metadata.annotations).not.toHaveProperty('credentials.cozystack.io/undeclared-since')
    expect(after?.metadata.ownerReferences).toHaveLength(1)
  })

  test('is seeded when the delete of what it had was faster', async () => {
    await annotate({ 'undeclared-since': '2026-10-02T09:00:00Z' })
    const gone = await storeUsers({ other: {} })
    const before = await secret()
    const { kube } = cluster.services
    const updateSecret: typeof kube.updateSecret = async (...given) => {
      await cluster.send('DELETE', path('web'))
      return kube.updateSecret(...given)
    }
    const services = { ...cluster.services, kube: { ...kube, updateSecret } }
    const review = updateOf(gone, { values: { users: { other: {}, web: {} } } })
    expect(refusalIn(await validate(services, review, {}))).toBeUndefined()
    expect((await secret())?.metadata.uid).not.toBe(before?.metadata.uid)
    expect(await secret()).toBeDefined()
  })

  test.each([
    ['of somebody else', {}, /was not written by mintonce/],
    [
      'of an earlier application',
      { origin: 'NotIssued', 'release-uid': 'gone' },
      /of an earlier application/,
    ],
    [
      'of an earlier application, and known',
      { origin: 'Minted', 'release-uid': 'gone' },
      /may know its password/,
    ],
  ])('is refused when a Secret %s holds its name, and the Secret stays', async (_, marks, said) => {
    await cluster.putSecret({
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/basic-auth',
      metadata: {
        name: 'postgres-billing.report.account',
        namespace: 'tenant-acme',
        annotations: Object.fromEntries(
          Object.entries(marks).map(([name, value]) => [`credentials.cozystack.io/${name}`, value]),
        ),
      },
      data: { username: 'cmVwb3J0', password: 'aHVudGVyMg==' },
    })
    const before = await secret('report')
    const verdict = await update({ web: {}, report: {} })
    expect(refusalIn(verdict)).toEqual([expect.stringMatching(said)])
    expect(await secret('report')).toEqual(before)
    expect(JSON.stringify(verdict)).not.toContain('hunter2')
  })

  test('is refused when its Secret cannot be made', async () => {
    cluster.breaks('POST', /secrets/)
    expect(refusalIn(await update({ web: {}, report: {} }))).toEqual([expect.stringContaining('kube_error')])
    expect(refusalIn(await update({ web: { maxConnections: 5 } }))).toBeUndefined()
  })
})

describe('an account that was there before', () => {
  test('is not seeded: for its holders a password of long ago may work', async () => {
    const stored = await storeUsers({ web: {}, report: {} })
    expect(refusalIn(await update({ web: { x: 1 }, report: {} }, { from: stored }))).toBeUndefined()
    expect(await secret('report')).toBeUndefined()
  })

  test('nor when a review says that it was not', async () => {
    const stored = await storeUsers({ web: {}, report: {} })
    const forged = { ...stored, spec: { ...stored.spec, values: { users: {} } } }
    expect(refusalIn(await update({ web: {}, report: {} }, { from: forged }))).toBeUndefined()
    expect(await secret('report')).toBeUndefined()
  })

  test('is warned about when something else holds its name, and passes', async () => {
    await annotate({ origin: 'Revoked', 'release-uid': 'gone' })
    expect(await update({ web: { x: 1 } })).toEqual({
      ...ALLOWED,
      warnings: [expect.stringContaining('it is of an earlier application of this name')],
    })
  })

  test('is adopted afterwards', async () => {
    expect(await update({ web: { x: 1 } })).toEqual({ ...ALLOWED, adopts: true })
    expect(await update({ web: { x: 1 } }, { dryRun: true })).toEqual(ALLOWED)
  })

  test('passes when nothing can be read', async () => {
    cluster.breaks('GET', /secrets/)
    expect(refusalIn(await update({ web: { x: 1 } }))).toBeUndefined()
    cluster.breaks('GET', /helmreleases/)
    expect(refusalIn(await update({ web: { x: 1 } }))).toBeUndefined()
    expect(refusalIn(await update({ web: {}, report: {} }))).toEqual([expect.stringContaining('kube_error')])
  })
})

describe('what is wrong', () => {
  test.each<[string, unknown, unknown, readonly unknown[]]>([
    [
      'a name that collides',
      { a_b: {} },
      { a_b: {}, 'a-b': {} },
      [expect.stringContaining('"a-b" and "a_b"')],
    ],
    [
      'one more that collides',
      { a_b: {}, 'a-b': {} },
      { a_b: {}, 'a-b': {}, 'a.b': {} },
      [expect.stringContaining('a.b')],
    ],
    ['another shape', { web: {} }, ['web'], ['spec.users: must be a map of users, and is a list']],
    ['a name that is none', { web: {} }, { '-a': {} }, [expect.stringContaining('"-a"')]],
  ])('%s: refused when the write brings it', async (_, before, after, said) => {
    const from = await storeUsers(before)
    expect(refusalIn(await update(after, { from }))).toEqual(said)
  })

  test.each<[string, unknown, unknown]>([
    ['a collision', { a_b: {}, 'a-b': {} }, { a_b: { x: 1 }, 'a-b': {} }],
    ['a collision of fewer', { a_b: {}, 'a-b': {}, 'a.b': {} }, { a_b: {}, 'a-b': {} }],
    ['another shape', ['web'], ['web', 'report']],
    ['a name that is none', { '-a': {} }, { '-a': { x: 1 } }],
  ])('%s: warned about when it was there before', async (_, before, after) => {
    const from: HelmRelease = { ...billing, spec: { values: { users: before } } }
    const verdict = await update(after, { from })
    expect(verdict).toMatchObject({ is: 'allowed', warnings: [expect.any(String)] })
  })

  test('the rest of the write is looked at all the same', async () => {
    const from = await storeUsers({ web: {}, '-a': {} })
    expect(await update({ web: {}, '-a': {}, report: {} }, { from })).toMatchObject({
      is: 'allowed',
      warnings: [expect.stringContaining('"-a"')],
    })
    expect(await secret('report')).toBeDefined()
  })
})

describe('a definition that is wrong', () => {
  beforeEach(() => cluster.setBlock('postgres', { format: { name: 'md5' } }))

  test('refuses a write that changes values, by the field of the definition', async () => {
    expect(await update({ web: { x: 1 } })).toMatchObject({
      refusal: { failure: { definition: 'postgres', field: 'spec.credentials.format.name' } },
    })
  })

  test('lets others pass, and says so', async () => {
    const verdict = await validate(cluster.services, updateOf(billing, { suspend: true }), {})
    expect(verdict).toMatchObject({
      is: 'allowed',
      warnings: [expect.stringContaining('ApplicationDefinition "postgres" is wrong')],
    })
  })

  test('is nothing to other kinds', async () => {
    const shop = await cluster.release('mariadb-shop')
    const review = updateOf(shop, { values: { users: { app: {}, more: {} } } })
    expect(refusalIn(await validate(cluster.services, review, {}))).toBeUndefined()
    expect(await cluster.secret('mariadb-shop.more.account')).toBeDefined()
  })
})

describe('a review that somebody has made up', () => {
  test.each<[string, (release: HelmRelease) => HelmRelease]>([
    ['of a release that is not there', (r) => ({ ...r, metadata: { ...r.metadata, name: 'postgres-no' } })],
    ['of another uid', (r) => ({ ...r, metadata: { ...r.metadata, uid: 'made-up' } })],
  ])('%s writes nothing', async (_, change) => {
    expect(await update({ web: {}, report: {} }, { from: change(billing) })).toEqual(ALLOWED)
    expect(cluster.writes()).toEqual(['POST secrets'])
  })
})

describe('other updates', () => {
  test('adopt afterwards what was seeded before the release was stored', async () => {
    expect(await validate(cluster.services, updateOf(billing, { suspend: true }), {})).toEqual({
      ...ALLOWED,
      adopts: true,
    })
    const before = await secret()
    const review = { namespace: 'tenant-acme', name: 'postgres-billing', by: 'jane@example.org' }
    expect(await adoptOf(cluster.services, review, {})).toEqual({ ok: true, value: undefined })
    const after = await secret()
    expect(after?.metadata.ownerReferences).toMatchObject([{ uid: billing.metadata.uid }])
    expect(after?.data).toEqual(before?.data)
    const writes = cluster.writes().length
    await adoptOf(cluster.services, review, {})
    expect(cluster.writes()).toHaveLength(writes)
  })

  test('adoption leaves alone what is not of the release', async () => {
    await move('gone')
    const before = await secret()
    await adoptOf(cluster.services, { namespace: 'tenant-acme', name: 'postgres-billing', by: 'x' }, {})
    expect(await secret()).toEqual(before)
  })

  test.each<[string, (release: HelmRelease) => HelmRelease]>([
    ['that is no application', (r) => ({ ...r, metadata: { ...r.metadata, labels: {} } })],
    [
      'that is being deleted',
      (r) => ({ ...r, metadata: { ...r.metadata, deletionTimestamp: '2026-10-02T09:14:07Z' } }),
    ],
  ])('of a release %s: nothing is done', async (_, change) => {
    const review = updateOf(change(billing), { suspend: true, values: { users: { '-a': {} } } })
    expect(await validate(cluster.services, review, {})).toEqual(ALLOWED)
  })
})

describe('a delete', () => {
  const suspended = () => ({ ...billing, spec: { ...billing.spec, suspend: true } })
  const remove = (release: HelmRelease) => validate(cluster.services, deleteOf(release), {})

  test('of a suspended release of a served kind is refused', async () => {
    expect(refusalIn(await remove(suspended()))).toEqual([
      'HelmRelease "postgres-billing" is suspended: resume it first: Flux skips the uninstall of a suspended release, and what it installed would stay',
    ])
  })

  test.each<[string, (cluster: Cluster) => unknown, () => HelmRelease]>([
    ['that is not suspended', () => undefined, () => billing],
    [
      'of another kind',
      () => undefined,
      () => ({ ...suspended(), metadata: { ...billing.metadata, labels: {} } }),
    ],
    [
      'that is under way',
      () => undefined,
      () => ({
        ...suspended(),
        metadata: { ...billing.metadata, deletionTimestamp: '2026-10-02T09:14:07Z' },
      }),
    ],
    [
      'in a namespace that goes',
      (c) => c.send('DELETE', '/api/v1/namespaces/tenant-acme'),
      () => suspended(),
    ],
    [
      'when the definitions cannot be read',
      (c) => c.breaks('GET', /applicationdefinitions/),
      () => suspended(),
    ],
    [
      'when the namespace cannot be read',
      (c) => c.breaks('GET', /\/namespaces\/tenant-acme$/),
      () => suspended(),
    ],
    [
      'when its definition is wrong',
      (c) => c.setBlock('postgres', { format: { name: 'md5' } }),
      () => suspended(),
    ],
  ])('%s passes', async (_, prepare, release) => {
    await prepare(cluster)
    expect(await remove(release())).toEqual(ALLOWED)
  })
})
