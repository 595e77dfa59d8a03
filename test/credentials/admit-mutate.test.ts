import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { validate } from '../../src/credentials/admit.ts'
import { mutate } from '../../src/credentials/admit-mutate.ts'
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
beforeEach(() => {
  cluster = startCluster()
})

const create = (release: HelmRelease, change = {}) => mutate(cluster.services, createOf(release, change), {})
const update = (release: HelmRelease, spec: object) => mutate(cluster.services, updateOf(release, spec), {})

const PLATFORM = { kind: 'Secret', name: 'cozystack-values' }
const reference = (user: string, release = 'clickhouse-logs') => ({
  kind: 'Secret',
  name: `${release}.${user.toLowerCase()}.account`,
  valuesKey: 'password',
  targetPath: `_accounts.u${createHash('sha256').update(user).digest('hex')}`,
})
const logs = (users: unknown, spec = {}) => newRelease('ClickHouse', 'logs', { users }, spec)
const valuesFrom = (...value: readonly object[]) => [{ op: 'replace', path: '/spec/valuesFrom', value }]

describe('the way of the stored values to the chart', () => {
  test('is added after what is there, an account each, without those of the platform', async () => {
    const verdict = await create(logs({ etl: {}, Ann: {} }))
    expect(verdict).toMatchObject({
      patch: valuesFrom(PLATFORM, reference('Ann'), reference('etl')),
      warnings: [],
    })
    expect(cluster.writes()).toEqual([])
  })

  test('is a list of its own where there is none', async () => {
    const { valuesFrom: _, ...spec } = logs({ etl: {} }).spec
    expect(await create({ ...logs({ etl: {} }), spec })).toMatchObject({
      patch: [{ op: 'add', path: '/spec/valuesFrom', value: [reference('etl')] }],
    })
  })

  test('stays as it is when it is right', async () => {
    const release = logs({ etl: {} }, { valuesFrom: [reference('etl'), PLATFORM] })
    expect(await create(release)).toMatchObject({ is: 'allowed', patch: [], warnings: [] })
  })

  test('loses what is declared no more, and nothing of others', async () => {
    const others = [
      { kind: 'ConfigMap', name: 'clickhouse-logs.gone.account' },
      { kind: 'Secret', name: 'clickhouse-other.gone.account' },
    ]
    const release = logs({ etl: {} }, { valuesFrom: [...others, reference('gone'), PLATFORM] })
    expect(await create(release)).toMatchObject({
      patch: valuesFrom(...others, PLATFORM, reference('etl')),
    })
  })

  test.each<[string, HelmRelease]>([
    [
      'of a kind whose chart reads the Secrets itself',
      newRelease('Postgres', 'billing', { users: { a: {} } }),
    ],
    ['of a kind without rules', newRelease('Kafka', 'billing', { users: { a: {} } })],
    ['that is no list', logs({ etl: {} }, { valuesFrom: 'x' })],
    ['of accounts that cannot be told', logs(['etl'])],
    ['of accounts in another shape', logs('etl')],
  ])('%s is left alone', async (_, release) => {
    expect(await create(release)).toEqual({ is: 'allowed', patch: [], warnings: [], adopts: false })
  })

  test('waits for a name that is still to be generated', async () => {
    const release = logs({ etl: {} })
    const unnamed = { ...release, metadata: { ...release.metadata, name: '' } }
    expect(await create(unnamed)).toMatchObject({ patch: [], warnings: [expect.stringContaining('name')] })
  })

  test('is mended by an update that changes something else: the platform resets it', async () => {
    const stored = await cluster.release('clickhouse-events')
    expect(await update(stored, { suspend: true })).toMatchObject({
      patch: valuesFrom(PLATFORM, reference('etl', 'clickhouse-events')),
    })
  })

  test.each<[string, object]>([
    ['of somebody else', { kind: 'Secret', name: 'clickhouse-logs.etl.account', valuesKey: 'username' }],
    ['optional', { ...reference('etl'), optional: true }],
    ['for another place', { ...reference('gone'), targetPath: 'admin.password' }],
  ])('gives way to ours: an entry for such a Secret, %s, is warned about', async (_, entry) => {
    expect(await create(logs({ etl: {} }, { valuesFrom: [PLATFORM, entry] }))).toMatchObject({
      patch: valuesFrom(PLATFORM, reference('etl')),
      warnings: [
        expect.stringMatching(
          /^spec\.valuesFrom: the entry for Secret "clickhouse-logs\.\w+\.account" is left out/,
        ),
      ],
    })
  })

  test('is looked at by rules that may be a little old where a write touches neither values nor it, and mended by new ones', async () => {
    const stored = await cluster.release('clickhouse-events')
    const wired = { ...stored, spec: { ...stored.spec, valuesFrom: [reference('etl', 'clickhouse-events')] } }
    const asked: string[] = []
    const { definitions } = cluster.services
    const services = {
      ...cluster.services,
      definitions: {
        ...definitions,
        load: (...given: Parameters<typeof definitions.load>) => {
          asked.push('load')
          return definitions.load(...given)
        },
        read: (...given: Parameters<typeof definitions.read>) => {
          asked.push('read')
          return definitions.read(...given)
        },
      },
    }
    cluster.breaks('GET', /secrets/)
    const unwired = { ...wired, spec: { ...wired.spec, valuesFrom: [] } }
    const unlabelled = { ...wired, metadata: { ...wired.metadata, labels: {} } }
    const suspend = { suspend: true }
    const expected: [ReturnType<typeof updateOf>, readonly string[]][] = [
      [updateOf(wired, suspend), ['load']],
      [updateOf(unwired, suspend), ['load', 'read']],
      [updateOf(wired, { valuesFrom: [] }), ['read']],
      [updateOf(wired, { values: { users: {} } }), ['read']],
      [{ ...updateOf(wired, {}), oldObject: unlabelled }, ['read']],
      [createOf(wired), ['read']],
    ]
    for (const [review, calls] of expected) {
      asked.length = 0
      await mutate(services, review, {})
      expect(asked).toEqual(calls)
    }
  })

  test('of many accounts is looked after by one list of their Secrets', async () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`u${index}`, {}]))
    const release = logs(many)
    await validate(cluster.services, createOf(release), {})
    const stored = { ...(await cluster.store(release)), metadata: release.metadata }
    const without = 'clickhouse-logs.u7.account'
    await cluster.send('DELETE', `/api/v1/namespaces/tenant-acme/secrets/${without}`)
    const gets: string[] = []
    const { kube } = cluster.services
    const getSecret: typeof kube.getSecret = (namespace, name, options) => {
      gets.push(name)
      return kube.getSecret(namespace, name, options)
    }
    const services = { ...cluster.services, kube: { ...kube, getSecret } }
    const review = updateOf(stored, { values: { users: { ...many, u0: { x: 1 } } } })
    expect(await mutate(services, review, {})).toMatchObject({
      warnings: [expect.stringContaining(`user "u7" has no Secret "${without}"`)],
    })
    expect(gets).toEqual([without])
    cluster.breaks('GET', /secrets$/)
    expect(await mutate(services, review, {})).toMatchObject({ warnings: [expect.stringContaining('"u7"')] })
  })

  test('is warned about where a Secret is missing that no write will make', async () => {
    const stored = await cluster.release('clickhouse-events')
    expect(await update(stored, { values: { users: { etl: {}, added: {} } } })).toMatchObject({
      warnings: [
        'user "etl" has no Secret "clickhouse-events.etl.account", and Flux waits for it: mint its password, or convert the one it has',
      ],
    })
  })
})

describe('a password in the values', () => {
  const schema = (entry: object) => ({
    type: 'object',
    properties: { users: { type: 'object', additionalProperties: { type: 'object', ...entry } } },
  })
  const setSchema = (openAPISchema: object) =>
    cluster.send('PATCH', '/apis/cozystack.io/v1alpha1/applicationdefinitions/postgres', {
      spec: { application: { openAPISchema: JSON.stringify(openAPISchema) } },
    })
  const billing = (users: unknown) => newRelease('Postgres', 'billing', { users })

  test('is dropped, entry by entry, and said to be', async () => {
    const verdict = await create(billing({ web: { password: 'hunter2', x: 1 }, report: {}, no: null }))
    expect(verdict).toEqual({
      is: 'allowed',
      adopts: false,
      patch: [{ op: 'remove', path: '/spec/values/users/web/password' }],
      warnings: ['spec.users["web"].password is ignored: mint a password instead'],
    })
    expect(`${JSON.stringify(verdict)}${cluster.logged.join('')}`).not.toContain('hunter2')
  })

  test.each([
    ['a/b', '/spec/values/users/a~1b/password'],
    ['a~b', '/spec/values/users/a~0b/password'],
    ['~1', '/spec/values/users/~01/password'],
    ['', '/spec/values/users//password'],
    ['__proto__', '/spec/values/users/__proto__/password'],
    ['ä"', '/spec/values/users/ä"/password'],
  ])('of the user %j is found by its pointer (RFC 6901)', async (user, path) => {
    const users: unknown = JSON.parse(`{${JSON.stringify(user)}: {"password": "hunter2"}}`)
    expect(await create(billing(users))).toMatchObject({ patch: [{ op: 'remove', path }] })
  })

  test('is dropped once when two sources read one map', async () => {
    await cluster.setBlock('postgres', {
      accounts: [
        { kind: 'ValuesMap', path: 'users' },
        { kind: 'ValuesMap', path: 'users' },
      ],
    })
    expect(await create(billing({ web: { password: 'hunter2' } }))).toMatchObject({
      patch: [{ op: 'remove', path: '/spec/values/users/web/password' }],
    })
  })

  test('is dropped from a list, by its place there, in an entry that names nobody too', async () => {
    await cluster.setBlock('postgres', {
      accounts: [{ kind: 'ValuesList', path: 'users', nameField: 'name' }],
    })
    const users = [{ name: 'web' }, { name: 'app', password: 'hunter2' }, { password: 'hunter2' }]
    expect(await create(billing(users))).toMatchObject({
      patch: [
        { op: 'remove', path: '/spec/values/users/1/password' },
        { op: 'remove', path: '/spec/values/users/2/password' },
      ],
    })
  })

  test.each([
    ['is dropped where the schema knows it', { properties: { password: { type: 'string' } } }, 1],
    ['is dropped where the schema asks for others', { required: ['role'] }, 1],
    ['stays where the schema asks for it', { required: ['role', 'password'] }, 0],
  ])('%s', async (_, entry, dropped) => {
    await setSchema(schema(entry))
    expect(await create(billing({ web: { password: 'hunter2' } }))).toMatchObject({
      patch: Array.from({ length: dropped }, () => expect.anything()),
    })
  })

  test.each([['hunter2'], [['hunter2']], [{ web: 'hunter2' }], [{ web: ['hunter2'] }], [null]])(
    'in users of another shape, %j, is left alone',
    async (users) => {
      expect(await create(billing(users))).toMatchObject({ patch: [] })
    },
  )

  test('elsewhere is left alone', async () => {
    const release = newRelease('Postgres', 'billing', {
      password: 'hunter2',
      backup: { password: 'hunter2' },
    })
    expect(await create(release)).toMatchObject({ patch: [] })
  })
})

describe('a definition that cannot be used', () => {
  test.each<[string, (cluster: Cluster) => unknown]>([
    ['wrong', (c) => c.setBlock('clickhouse', { format: { name: 'md5' } })],
    ['unreadable', (c) => c.breaks('GET', /applicationdefinitions/)],
  ])('%s: refuses writes of values, and lets others pass with a warning', async (_, prepare) => {
    const stored = await cluster.release('clickhouse-events')
    await prepare(cluster)
    expect(refusalIn(await create(logs({ etl: {} })))).toHaveLength(1)
    expect(refusalIn(await update(stored, { values: {} }))).toHaveLength(1)
    const other = await update(stored, { suspend: true })
    expect(other).toMatchObject({ is: 'allowed', patch: [], warnings: [expect.any(String)] })
  })
})

test('a release that is being deleted, and a delete, are left alone', async () => {
  const release = logs({ etl: { password: 'hunter2' } })
  const ending = { ...release, metadata: { ...release.metadata, deletionTimestamp: '2026-10-02T09:14:07Z' } }
  expect(await update(ending, { suspend: true })).toMatchObject({ patch: [], warnings: [] })
  expect(await mutate(cluster.services, deleteOf(release), {})).toMatchObject({ is: 'allowed', patch: [] })
})
