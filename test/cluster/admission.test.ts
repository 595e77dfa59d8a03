import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Anything, decode } from '../contract/kube.ts'
import { eventually } from './eventually.ts'
import {
  accountSecretsIn,
  collectorHasPassed,
  releasesIn,
  secretsIn,
  startWebhooked,
  type Webhooked,
} from './webhooked.ts'
import { startOtherWebhook } from './webhooks.ts'

const TIMES = 50
const NAMESPACE = 'tenant-acme'
const RELEASES = releasesIn(NAMESPACE)
const SECRETS = secretsIn(NAMESPACE)
const FINALIZER = 'finalizers.fluxcd.io'

let webhooked: Webhooked

beforeAll(async () => {
  webhooked = await startWebhooked()
  await webhooked.plane.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }])
})
afterAll(() => webhooked?.stop())

const send: Webhooked['send'] = (...asked) => webhooked.send(...asked)
const create = (release: object, query = '') => send('POST', `${RELEASES}${query}`, release)
const patch = (name: string, change: object) => send('PATCH', `${RELEASES}/${name}`, change)
const remove = (name: string) => send('DELETE', `${RELEASES}/${name}`)
const annotate = (name: string) =>
  patch(name, { metadata: { annotations: { 'example.org/touched': 'yes' } } })
const secretOf = async (name: string): Promise<Anything> => {
  const { status, body } = await send('GET', `${SECRETS}/${name}.account`)
  return status === 200 ? body : undefined
}
const accountSecrets = () => accountSecretsIn(webhooked, NAMESPACE)

const application = (kind: string, name: string, values: object, spec: object = {}) => ({
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  metadata: {
    name: `${kind.toLowerCase()}-${name}`,
    namespace: NAMESPACE,
    labels: {
      'apps.cozystack.io/application.group': 'apps.cozystack.io',
      'apps.cozystack.io/application.kind': kind,
      'apps.cozystack.io/application.name': name,
    },
  },
  spec: {
    interval: '5m',
    chartRef: { kind: 'ExternalArtifact', name: 'chart', namespace: 'cozy-system' },
    valuesFrom: [{ kind: 'Secret', name: 'cozystack-values' }],
    values,
    ...spec,
  },
})
const postgres = (name: string, users: object = { web: {}, report: {} }) =>
  application('Postgres', name, { users })
const numbered = (name: string) => Array.from({ length: TIMES }, (_, index) => `${name}${index}`)
const withFinalizer = (release: ReturnType<typeof application>) => ({
  ...release,
  metadata: { ...release.metadata, finalizers: [FINALIZER] },
})

test(`${TIMES} applications: their Secrets are there before the create returns, and live as long as they do`, async () => {
  const names = numbered('born')
  for (const name of names) {
    const { status, body } = await create(postgres(name))
    expect(status).toBe(201)
    for (const user of ['web', 'report']) {
      const { metadata, data } = await secretOf(`postgres-${name}.${user}`)
      expect(metadata.annotations).toMatchObject({
        'credentials.cozystack.io/origin': 'NotIssued',
        'credentials.cozystack.io/release-uid': body.metadata.uid,
      })
      expect(metadata.ownerReferences).toBeUndefined()
      expect(decode(data.password)).toMatch(/^SCRAM-SHA-256\$4096:/)
    }
  }
  const born = (await accountSecrets()).map(({ metadata }) => metadata.uid)
  expect(born).toHaveLength(2 * TIMES)
  await collectorHasPassed(webhooked, NAMESPACE)
  expect((await accountSecrets()).map(({ metadata }) => metadata.uid)).toEqual(born)

  for (const name of names) expect((await annotate(`postgres-${name}`)).status).toBe(200)
  await eventually('each is adopted', async () =>
    (await accountSecrets()).every(({ metadata }) => metadata.ownerReferences?.length === 1),
  )
  await collectorHasPassed(webhooked, NAMESPACE)
  expect((await accountSecrets()).map(({ metadata }) => metadata.uid)).toEqual(born)

  for (const name of names) expect((await remove(`postgres-${name}`)).status).toBe(200)
  await eventually('each is collected', async () => (await accountSecrets()).length === 0)
})

test(`a create of a name that exists, ${TIMES} times and ${TIMES} at once, changes no Secret`, async () => {
  await create(withFinalizer(postgres('twice')))
  const minted = { 'credentials.cozystack.io/origin': 'Minted' }
  await send('PATCH', `${SECRETS}/postgres-twice.web.account`, { metadata: { annotations: minted } })
  await send('DELETE', `${SECRETS}/postgres-twice.report.account`)
  const before = await accountSecrets()
  const again = postgres('twice', { web: {}, report: {}, more: {} })
  for (const _ of numbered('')) expect((await create(again)).status).toBe(409)
  const atOnce = await Promise.all(numbered('').map(() => create(again)))
  expect(new Set(atOnce.map(({ status }) => status))).toEqual(new Set([409]))
  expect(await accountSecrets()).toEqual(before)

  // Nor while it is on its way out.
  await remove('postgres-twice')
  const ending = await Promise.all(numbered('').map(() => create(again)))
  expect(new Set(ending.map(({ status }) => status))).toEqual(new Set([409]))
  expect(await accountSecrets()).toEqual(before)
  await patch('postgres-twice', { metadata: { finalizers: null } })
  await eventually(
    'the release is gone',
    async () => (await send('GET', `${RELEASES}/postgres-twice`)).status === 404,
  )
  await Promise.all(before.map(({ metadata }) => send('DELETE', `${SECRETS}/${metadata.name}`)))
})

test(`a create that somebody else refuses leaves seeds, and the next one has them, ${TIMES} times`, async () => {
  const other = await startOtherWebhook(webhooked.plane)
  const names = numbered('refused')
  try {
    other.refuse(true)
    await eventually(
      'the other webhook is asked',
      async () => (await create(postgres('none', {}))).status !== 201,
    )
    for (const name of names) expect((await create(postgres(name))).status).toBe(400)
    const left = await accountSecrets()
    expect(left).toHaveLength(2 * TIMES)
    for (const { metadata } of left) {
      expect(metadata.annotations['credentials.cozystack.io/release-uid']).toMatch(/^[0-9a-f-]{36}$/)
      expect(metadata.ownerReferences).toBeUndefined()
    }
    other.refuse(false)
    for (const name of names) {
      const before = left.find(({ metadata }) => metadata.name === `postgres-${name}.web.account`)
      const { status, body } = await create(postgres(name))
      expect(status).toBe(201)
      const { metadata, data } = await secretOf(`postgres-${name}.web`)
      expect(data).toEqual(before.data)
      expect(metadata.uid).toBe(before.metadata.uid)
      expect(metadata.annotations['credentials.cozystack.io/release-uid']).toBe(body.metadata.uid)
    }
  } finally {
    await other.stop()
  }
  for (const name of names) {
    await annotate(`postgres-${name}`)
    await remove(`postgres-${name}`)
  }
  await Promise.all(
    (await accountSecrets()).map(({ metadata }) => send('DELETE', `${SECRETS}/${metadata.name}`)),
  )
})

describe('a write', () => {
  test('that brings names which cannot be is refused in words of the application, by kubectl too', async () => {
    const { status, body } = await create(postgres('names', { a_b: {}, 'a-b': {} }))
    expect(status).toBe(422)
    expect(body).toMatchObject({
      reason: 'Invalid',
      details: { causes: [{ field: 'spec.users["a-b"]' }] },
    })
    const { code, stderr } = await webhooked.plane.kubectl(
      ['create', '-f', '-'],
      JSON.stringify(postgres('names', { '-a': {} })),
    )
    expect(code).toBe(1)
    expect(stderr).toContain('The Postgres "names" is invalid: spec.users["-a"]: the username "-a"')
    expect(await accountSecrets()).toEqual([])
  })

  test('that is a dry run stores nothing', async () => {
    expect((await create(postgres('dry'), '?dryRun=All')).status).toBe(201)
    expect(await accountSecrets()).toEqual([])
  })

  test('that adds an account has its Secret, with an owner that the collector respects', async () => {
    await create(postgres('grown', { web: {} }))
    const { status, body } = await patch('postgres-grown', { spec: { values: { users: { report: {} } } } })
    expect(status).toBe(200)
    const { metadata } = await secretOf('postgres-grown.report')
    expect(metadata.ownerReferences).toMatchObject([{ uid: body.metadata.uid }])
    await collectorHasPassed(webhooked, NAMESPACE)
    expect(await secretOf('postgres-grown.report')).toBeDefined()
  })

  test('of as many accounts as there may be has the Secret of each in time', async () => {
    const users = Object.fromEntries(Array.from({ length: 252 }, (_, index) => [`u${index}`, {}]))
    expect((await create(postgres('crowd', users))).status).toBe(201)
    const crowd = (await accountSecrets()).filter(({ metadata }) => /^postgres-crowd\./.test(metadata.name))
    expect(crowd).toHaveLength(252)
    await remove('postgres-crowd')
    await Promise.all(crowd.map(({ metadata }) => send('DELETE', `${SECRETS}/${metadata.name}`)))
  })

  test('that needs the name of a Secret of somebody else is refused, and the Secret stays', async () => {
    const name = 'postgres-grown.taken.account'
    await send('POST', SECRETS, { metadata: { name }, stringData: { password: 'hunter2' } })
    const before = await send('GET', `${SECRETS}/${name}`)
    const { status, body } = await patch('postgres-grown', { spec: { values: { users: { taken: {} } } } })
    expect(status).toBe(403)
    expect(body.message).toContain('it was not written by mintonce')
    expect(JSON.stringify(body)).not.toContain('hunter2')
    expect((await send('GET', `${SECRETS}/${name}`)).body).toEqual(before.body)
    await send('DELETE', `${SECRETS}/${name}`)
  })

  test('that holds a password is stored without it, and says so', async () => {
    const { status, warnings, body } = await create(
      postgres('inline', { 'a/b~c': { password: 'hunter2', x: 1 } }),
    )
    expect(status).toBe(201)
    expect(body.spec.values).toEqual({ users: { 'a/b~c': { x: 1 } } })
    expect(warnings.join()).toContain('is ignored: mint a password instead')
    expect(await webhooked.api.stored()).not.toContain('hunter2'.concat('"'))
    expect(webhooked.output()).not.toContain('hunter2')
  })

  test('that resets valuesFrom is mended, and warns of a Secret that is missing', async () => {
    const hash = createHash('sha256').update('etl').digest('hex')
    const ours = {
      kind: 'Secret',
      name: 'clickhouse-logs.etl.account',
      valuesKey: 'password',
      targetPath: `_accounts.u${hash}`,
    }
    const { body } = await create(application('ClickHouse', 'logs', { users: { etl: {} } }))
    const platform = { kind: 'Secret', name: 'cozystack-values' }
    expect(body.spec.valuesFrom).toEqual([platform, ours])
    const reset = await patch('clickhouse-logs', { spec: { valuesFrom: [platform] } })
    expect(reset.body.spec.valuesFrom).toEqual([platform, ours])
    expect(reset.warnings).toEqual([])
    await send('DELETE', `${SECRETS}/clickhouse-logs.etl.account`)
    expect((await annotate('clickhouse-logs')).warnings).toEqual([])
    const { warnings } = await patch('clickhouse-logs', { spec: { valuesFrom: [platform] } })
    expect(warnings.join()).toContain('mint its password, or convert the one it has')
  })
})

describe('a suspended release', () => {
  test('is resumed before it is deleted', async () => {
    await create(postgres('idle'))
    expect((await patch('postgres-idle', { spec: { suspend: true } })).status).toBe(200)
    const { status, body } = await remove('postgres-idle')
    expect(status).toBe(403)
    expect(body.message).toContain('resume it first')
    await patch('postgres-idle', { spec: { suspend: false } })
    expect((await remove('postgres-idle')).status).toBe(200)
  })

  test('goes with its namespace', async () => {
    const namespace = 'tenant-gone'
    await webhooked.plane.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }])
    const release = postgres('idle')
    const path = RELEASES.replace(NAMESPACE, namespace)
    const metadata = { ...release.metadata, namespace }
    const created = await send('POST', path, {
      ...release,
      metadata,
      spec: { ...release.spec, suspend: true },
    })
    expect(created.status).toBe(201)
    await send('DELETE', `/api/v1/namespaces/${namespace}`)
    await eventually('the namespace is gone', async () => {
      return (await send('GET', `/api/v1/namespaces/${namespace}`)).status === 404
    })
  })
})

describe('while nobody answers', () => {
  beforeAll(async () => {
    await create(withFinalizer(postgres('alone')))
    await webhooked.leave()
  })
  afterAll(() => webhooked.comeBack())
  afterEach(async () => {
    for (const name of ['plain', 'postgres-plain']) await remove(name)
  })

  test('applications are not created, and their values stay', async () => {
    const { status, body } = await create(postgres('plain'))
    expect(status).toBe(500)
    expect(body.message).toContain('failed calling webhook "values.')
    expect((await patch('postgres-alone', { spec: { values: { users: { more: {} } } } })).status).toBe(500)
  })

  test('HelmReleases that are no applications, and applications of other kinds, are created and changed', async () => {
    const { metadata, ...release } = postgres('plain')
    const { labels: _, ...unlabelled } = metadata
    expect((await create({ ...release, metadata: { ...unlabelled, name: 'plain' } })).status).toBe(201)
    expect((await patch('plain', { spec: { values: { users: { x: {} } } } })).status).toBe(200)
    const labels = { ...metadata.labels, 'apps.cozystack.io/application.kind': 'Kafka' }
    expect((await create({ ...release, metadata: { ...metadata, labels } })).status).toBe(201)
  })

  test('and somebody hears and says nothing: what does not change values goes on all the same', async () => {
    const sockets = new Set<Socket>()
    const silent = createServer((socket) => sockets.add(socket.on('error', () => undefined)))
    await once(silent.listen(Number(new URL(webhooked.admission).port), '127.0.0.1'), 'listening')
    try {
      expect((await annotate('postgres-alone')).status).toBe(200)
      expect(sockets.size).toBeGreaterThan(0)
    } finally {
      for (const socket of sockets) socket.destroy()
      await once(silent.close(), 'close')
    }
  })

  test('labels, status, suspension, the delete and the finalizer go on', async () => {
    expect((await annotate('postgres-alone')).status).toBe(200)
    const path = `${RELEASES}/postgres-alone`
    expect((await send('PATCH', `${path}/status`, { status: { observedGeneration: 1 } })).status).toBe(200)
    expect((await patch('postgres-alone', { spec: { suspend: true } })).status).toBe(200)
    expect((await patch('postgres-alone', { spec: { suspend: false } })).status).toBe(200)
    expect((await remove('postgres-alone')).body.metadata.deletionTimestamp).toBeDefined()
    expect((await patch('postgres-alone', { metadata: { finalizers: null } })).status).toBe(200)
    expect((await send('GET', path)).status).toBe(404)
  })
})
