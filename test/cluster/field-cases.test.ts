import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { sweep } from '../../src/credentials/sweep.ts'
import { sync } from '../../src/credentials/sync.ts'
import { EVENTS_KEY } from '../contract/backends/settings.ts'
import { type Anything, decode } from '../contract/kube.ts'
import { createTenant, releaseOf, type Tenant } from '../contract/tenant.ts'
import { binary } from '../helpers/cloud-events.ts'
import { BY, syncServicesOver, type Watched } from '../helpers/sync-cluster.ts'
import { eventually } from './eventually.ts'
import {
  type Answer,
  accountSecretsIn,
  collectorHasPassed,
  landed,
  releasesIn,
  secretsIn,
  startWebhooked,
  type Webhooked,
} from './webhooked.ts'

/** What went wrong elsewhere, as inputs for whatever writes account Secrets beside a mint: webhooks, syncs and sweeps. */

const GRACE_MS = 600_000
const ORIGIN = 'credentials.cozystack.io/origin'
const HISTORY = 'credentials.cozystack.io/history'
const encode = (text: string) => Buffer.from(text).toString('base64')

let webhooked: Webhooked
let tenant: Tenant
let watched: Watched
let passed = 0

beforeAll(async () => {
  // As on clusters that ask for the right to hold up the deletion of owners.
  webhooked = await startWebhooked(['--enable-admission-plugins=OwnerReferencesPermissionEnforcement'])
  watched = syncServicesOver(webhooked.api.asFunction, {
    now: () => Date.now() + passed,
    randomBytes: (length) => new Uint8Array(randomBytes(length)),
    graceMs: GRACE_MS,
  })
})
afterAll(() => webhooked?.stop())
beforeEach(async () => {
  passed = 0
  tenant = await createTenant(webhooked.backend)
})

const create = (kind: string, name: string, values: object, metadata: object = {}): Promise<Answer> =>
  webhooked.send('POST', releasesIn(tenant.namespace), releaseOf(kind, name, values, { metadata }))
const at = (release: string) => `${releasesIn(tenant.namespace)}/${release}`
const accountSecrets = () => accountSecretsIn(webhooked, tenant.namespace)
const usernames = async () => (await accountSecrets()).map(({ data }) => decode(data.username)).toSorted()
const annotate = (release: string) =>
  webhooked.send('PATCH', at(release), { metadata: { annotations: { 'example.org/touched': `${passed}` } } })
const lands = async (release: string) => {
  const status = landed((await webhooked.send('GET', at(release))).body)
  await webhooked.send('PATCH', `${at(release)}/status`, { status })
}
const sweeps = async () => {
  const swept = await sweep(watched.services, { by: BY })
  if (!swept.ok) throw new Error(swept.failure.reason)
  return swept.value
}
const syncs = (release: string) =>
  sync(watched.services, { namespace: tenant.namespace, release }, { by: BY })

/** The function is told by an event source. */
async function tell(release: string): Promise<void> {
  const { headers, body } = binary({ namespace: tenant.namespace, name: release })
  const answer = await webhooked.backend.call('/events', {
    method: 'POST',
    headers: { ...headers, Authorization: `Bearer ${EVENTS_KEY}` },
    body,
  })
  expect(answer.status).toBe(204)
}

describe('names', () => {
  test('NAM-01: users whose names cannot be names of objects have a Secret each, and are called what they are', async () => {
    const names = ['prometheus_exporter', 'AppUser', 'svc@corp']
    const { status } = await create('Postgres', 'orders', {
      users: Object.fromEntries(names.map((name) => [name, {}])),
    })
    expect(status).toBe(201)
    expect((await accountSecrets()).map(({ metadata }) => metadata.name)).toEqual([
      'postgres-orders.appuser.account',
      'postgres-orders.prometheus-exporter.account',
      'postgres-orders.svc-corp.account',
    ])
    expect(await usernames()).toEqual(names.toSorted())
  })

  test('NAM-03: a release whose name would make those of another’s account Secrets is not created', async () => {
    expect((await create('Postgres', 'pg', { users: { 'a.b': {} } })).status).toBe(201)
    const before = await accountSecrets()
    const { status, body } = await create('Postgres', 'pg.a', { users: { b: {} } })
    expect(status).toBe(422)
    expect(body.message).toContain('must hold no dot')
    expect(await accountSecrets()).toEqual(before)
  })

  test('NAM-05: names as long as they may be make labels that the API server takes', async () => {
    const name = 'n'.repeat(53 - 'postgres-'.length)
    const { status } = await create('Postgres', name, { users: { [`u${'@x'.repeat(20)}`]: {} } })
    expect(status).toBe(201)
    const [secret] = await accountSecrets()
    for (const value of Object.values(secret.metadata.labels)) {
      expect(value).toMatch(/^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/)
    }
  })

  test.each(['', '.', '..', '-app', 'app-', 'app.', ' app', 'app\n', '\u200b', '\ud800'])(
    'NAM-07: the user %j is refused before anything is written, and none is trimmed into a name',
    async (username) => {
      const { status, body } = await create('Postgres', 'orders', { users: { [username]: {}, web: {} } })
      expect(status).toBe(422)
      expect(body.details.causes).toHaveLength(1)
      expect(await accountSecrets()).toEqual([])
    },
  )

  test('NAM-08: a history that leaves no room for a mark is no reason to fail', async () => {
    await create('Postgres', 'orders', { users: { web: {}, old: {} } })
    await sweeps()
    const long = JSON.stringify(
      Array.from({ length: 2000 }, () => ({
        operation: 'Mint',
        at: '2026-10-01T08:00:00Z',
        by: 'x'.repeat(70),
      })),
    )
    const path = tenant.secretPath('postgres-orders.old')
    await tenant.admin.change(path, ({ metadata }) => {
      const rest = Buffer.byteLength(JSON.stringify({ ...metadata.annotations, [HISTORY]: '' }))
      // `k8s.io/apimachinery/pkg/api/validation`, TotalAnnotationSizeLimitB, of keys and values.
      metadata.annotations[HISTORY] = long.padEnd(262_144 - rest)
    })
    await webhooked.send('PATCH', at('postgres-orders'), { spec: { values: { users: { old: null } } } })
    await lands('postgres-orders')
    expect(await sweeps()).toMatchObject({ marked: 1, failures: 0 })
    passed = GRACE_MS + 1000
    expect(await sweeps()).toMatchObject({ deleted: 1, failures: 0 })
  })
})

describe('what is declared', () => {
  test.each([
    ['u7', { users: { u5: {}, u7: '' } }, 'spec.users["u7"]'],
    ['all of them', { users: [] }, 'spec.users'],
    ['all of them', { users: 'abc' }, 'spec.users'],
  ])('ACC-03: values that declare %s in another shape are refused by their path', async (_, values, path) => {
    const { status, body } = await create('Postgres', 'orders', values)
    expect(status).toBe(422)
    expect(body.details.causes).toMatchObject([{ field: path }])
    expect(await accountSecrets()).toEqual([])
  })

  test('ACC-03: an empty entry has its Secret, null has none, and a password in it is not stored', async () => {
    const values = { users: { u5: {}, u6: null, u8: { password: 'hunter2hunter2' } } }
    const { status, warnings } = await create('Postgres', 'orders', values)
    expect(status).toBe(201)
    expect(warnings.join()).toContain('spec.users[\\"u8\\"].password is ignored')
    expect(await usernames()).toEqual(['u5', 'u8'])
    const { body } = await webhooked.send('GET', at('postgres-orders'))
    expect(JSON.stringify(body)).not.toContain('hunter2hunter2')
  })

  test.each([
    ['no users', {}],
    ['no values at all', undefined],
  ])('ACC-03: an application with %s is created', async (_, values) => {
    const release = releaseOf('Postgres', 'orders', {}, { spec: { values } })
    expect((await webhooked.send('POST', releasesIn(tenant.namespace), release)).status).toBe(201)
    expect(await accountSecrets()).toEqual([])
  })

  test.each([
    ['Postgres', ['postgres', 'streaming_replica']],
    ['MariaDB', ['root', 'mariadb.sys']],
    ['ClickHouse', ['default', 'backup']],
  ])('ACC-10: accounts of the engine itself get no Secret of a %s, and others do', async (kind, reserved) => {
    const users = Object.fromEntries([...reserved, 'web'].map((name) => [name, {}]))
    expect((await create(kind, 'orders', { users })).status).toBe(201)
    await sweeps()
    expect(await usernames()).toEqual(['web'])
    const [first = ''] = reserved
    const upper = `${first.slice(0, 1).toUpperCase()}${first.slice(1)}`
    const { status, body } = await create(kind, 'upper', { users: { [upper]: {} } })
    expect(status).toBe(422)
    expect(body.message).toContain('which is an account of the platform')
  })
})

describe('what is written', () => {
  test('SEC-05: seeds are adopted where owners are protected, and what they own cannot hold these up', async () => {
    await create('Postgres', 'orders', { users: { web: {}, report: {} } })
    await annotate('postgres-orders')
    await eventually('each is adopted', async () =>
      (await accountSecrets()).every(({ metadata }) => metadata.ownerReferences?.length === 1),
    )
    await webhooked.send('PATCH', at('postgres-orders'), { spec: { values: { users: { more: {} } } } })
    for (const { metadata } of await accountSecrets()) {
      expect(metadata.ownerReferences).toMatchObject([{ blockOwnerDeletion: false, controller: false }])
    }
    expect(await usernames()).toEqual(['more', 'report', 'web'])
  })

  test('SEC-12: whatever others have written on a Secret is still there when it is adopted, and when it is marked', async () => {
    await create('Postgres', 'orders', { users: { web: {}, old: {} } })
    const { metadata: other } = await tenant.admin.create(
      `/api/v1/namespaces/${tenant.namespace}/configmaps`,
      {
        metadata: { name: 'another-owner' },
      },
    )
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: other.name, uid: other.uid }
    const finalizers = ['example.com/hold']
    const path = tenant.secretPath('postgres-orders.old')
    onTestFinished(() =>
      tenant.admin
        .change(path, ({ metadata }) => Object.assign(metadata, { finalizers: [] }))
        .catch(() => {}),
    )
    await tenant.admin.change(path, ({ metadata, data }) => {
      metadata.labels.team = 'x'
      metadata.annotations.note = 'y'
      metadata.ownerReferences = [owner]
      metadata.finalizers = finalizers
      data.extra = encode('z')
    })
    const isKept = async () => {
      const { metadata, data } = await tenant.secret('postgres-orders.old')
      expect(metadata).toMatchObject({ labels: { team: 'x' }, annotations: { note: 'y' }, finalizers })
      expect(metadata.ownerReferences).toMatchObject([owner, { kind: 'HelmRelease' }])
      expect(decode(data.extra)).toBe('z')
    }
    expect(await sweeps()).toMatchObject({ adopted: 2 })
    await isKept()
    await webhooked.send('PATCH', at('postgres-orders'), { spec: { values: { users: { old: null } } } })
    await lands('postgres-orders')
    expect(await sweeps()).toMatchObject({ marked: 1 })
    await isKept()
  })

  test('SEC-13: a seed has none of the labels by which other tools would think it theirs', async () => {
    const theirs = {
      'kustomize.toolkit.fluxcd.io/name': 'apps',
      'argocd.argoproj.io/instance': 'apps',
      'app.kubernetes.io/instance': 'orders',
      'app.kubernetes.io/managed-by': 'Helm',
    }
    const release = releaseOf('Postgres', 'orders', { users: { web: {} } }, { labels: theirs })
    const annotated = { ...release, annotations: { 'meta.helm.sh/release-name': 'orders' } }
    expect((await webhooked.send('POST', releasesIn(tenant.namespace), annotated)).status).toBe(201)
    await sweeps()
    const { metadata } = await tenant.secret('postgres-orders.web')
    const names = Object.keys({ ...metadata.labels, ...metadata.annotations })
    expect(names.filter((name) => name in theirs || name.startsWith('meta.helm.sh/'))).toEqual([])
  })

  test('VER-03: whatever looks at a stored value leaves it as it is, and its version too', async () => {
    await create('Postgres', 'orders', { users: { web: {}, report: {} } })
    await sweeps()
    expect((await tenant.mint('postgres-orders.web')).status).toBe(201)
    await lands('postgres-orders')
    const before = await accountSecrets()
    for (let times = 0; times < 3; times += 1) {
      await annotate('postgres-orders')
      await webhooked.send('PATCH', at('postgres-orders'), { spec: { values: { replicas: times + 1 } } })
      expect((await create('Postgres', 'orders', { users: { web: {} } })).status).toBe(409)
      await lands('postgres-orders')
      await sweeps()
      await syncs('postgres-orders')
      await tell('postgres-orders')
      await tenant.list()
      await tenant.get('postgres-orders.web')
    }
    await collectorHasPassed(webhooked, tenant.namespace)
    expect(await accountSecrets()).toEqual(before)
  })

  test('OBS-06: no mark and no label of a Secret holds anything of its value, from its seed to its end', async () => {
    await create('Postgres', 'orders', { users: { web: {}, old: {} } })
    const seen: string[] = []
    const look = async () => {
      for (const { metadata, data } of await accountSecrets()) {
        const marks = JSON.stringify([metadata.labels, metadata.annotations])
        const [, salt = '', keys = ''] = decode(data.password).split('$').slice(0)
        for (const part of [decode(data.password), data.password, salt.split(':')[1] ?? '', keys]) {
          expect(part.length).toBeGreaterThan(10)
          expect(marks).not.toContain(part)
        }
        seen.push(...Object.keys(metadata.annotations))
      }
    }
    await look()
    await sweeps()
    await look()
    await webhooked.send('PATCH', at('postgres-orders'), { spec: { values: { users: { old: null } } } })
    await lands('postgres-orders')
    await sweeps()
    await look()
    expect(new Set(seen)).toEqual(
      new Set([
        ORIGIN,
        HISTORY,
        'credentials.cozystack.io/declared-by',
        'credentials.cozystack.io/release-uid',
        'credentials.cozystack.io/undeclared-since',
      ]),
    )
  })
})

describe('passwords from before', () => {
  /** An application that runs since before there were account Secrets, with the password that its chart made. */
  async function running(name: string, isDeployed: boolean): Promise<() => Promise<unknown>> {
    await create('Postgres', name, { users: { web: {} } })
    const release = `postgres-${name}`
    await tenant.admin.remove(tenant.secretPath(`${release}.web`))
    const path = `${secretsIn(tenant.namespace)}/${release}-credentials`
    await tenant.admin.create(secretsIn(tenant.namespace), {
      metadata: { name: `${release}-credentials` },
      data: { web: encode('legacy-0') },
    })
    if (isDeployed) await lands(release)
    let writes = 0
    return () =>
      tenant.admin.change(path, ({ data }) => {
        writes += 1
        data.web = encode(`legacy-${writes}`)
      })
  }

  test.each([
    ['that was never deployed', false],
    ['that has run for long', true],
  ])(
    'MIG-04: beside a password from before none is invented, for an application %s, however often it is looked at while that changes',
    async (_, isDeployed) => {
      const change = await running('orders', isDeployed)
      for (let times = 0; times < 10; times += 1) {
        await Promise.all([change(), sweeps(), syncs('postgres-orders'), tell('postgres-orders')])
        await annotate('postgres-orders')
      }
      expect(await accountSecrets()).toEqual([])
      const legacy = `${secretsIn(tenant.namespace)}/postgres-orders-credentials`
      expect(decode((await tenant.admin.get(legacy)).data.web)).toBe('legacy-10')
    },
  )

  test('MIG-10: where a password is known none is seeded; where there is none, once; and nothing says that the engine has it', async () => {
    await running('orders', true)
    await create('Postgres', 'fresh', { users: { web: {} } })
    await tenant.admin.remove(tenant.secretPath('postgres-fresh.web'))
    await tell('postgres-orders')
    await tell('postgres-fresh')
    expect((await accountSecrets()).map(({ metadata }) => metadata.name)).toEqual([
      'postgres-fresh.web.account',
    ])
    const before = await accountSecrets()
    await tell('postgres-fresh')
    await sweeps()
    expect(await accountSecrets()).toEqual(before)

    const reasons = async (): Promise<readonly string[]> =>
      (await tenant.events()).map(({ reason }: Anything) => reason)
    await expect.poll(reasons, { timeout: 10_000 }).toContain('AccountSecretMissing')
    const { status, text } = await tenant.mint('postgres-fresh.web')
    expect(status).toBe(201)
    await expect.poll(reasons, { timeout: 10_000 }).toContain('CredentialIssued')
    const said = [text, ...(await tenant.events()).map(({ note }) => note)].join('\n')
    expect(said).not.toMatch(/applied|active|in effect|in use|now works/i)
  })
})

test('OBS-02: what a sweep says is an Event beside the release, which the API server takes, and has no secret in it', async () => {
  await create('Postgres', 'orders', { users: { web: {} } })
  const { data } = await tenant.secret('postgres-orders.web')
  await lands('postgres-orders')
  await tenant.admin.remove(tenant.secretPath('postgres-orders.web'))
  await tell('postgres-orders')
  const found = async () => (await tenant.events()).find(({ reason }) => reason === 'AccountSecretMissing')
  await eventually('the Event is there', async () => (await found()) !== undefined)
  const event = await found()
  expect(event).toMatchObject({
    type: 'Warning',
    action: 'Sync',
    regarding: { kind: 'HelmRelease', name: 'postgres-orders', namespace: tenant.namespace },
    metadata: { namespace: tenant.namespace },
  })
  expect(Buffer.byteLength(event.note)).toBeLessThanOrEqual(1024)
  expect(event.note).toContain('web')
  expect(JSON.stringify(event)).not.toContain(decode(data.password))
})

test('OBS-01: a password that somebody writes into values is in no log, no Event and nothing that is stored, whatever becomes of the write', async () => {
  const password = `typed-by-hand-${randomBytes(8).toString('hex')}`
  const values = (more: object) => ({ users: { web: { password }, ...more } })
  expect((await create('Postgres', 'orders', values({}))).status).toBe(201)
  const answers = [
    await create('Postgres', 'orders', values({})),
    await create('Postgres', 'other', values({ a_b: { password }, 'a-b': { password } })),
    await create('Postgres', 'other', values({ '': { password } })),
    await webhooked.send('PATCH', at('postgres-orders'), {
      spec: { values: values({ '-x': { password } }) },
    }),
    await webhooked.send('PATCH', at('postgres-orders'), {
      spec: { values: values({ more: { password } }) },
    }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([409, 422, 422, 422, 200])
  await sweeps()
  await tell('postgres-orders')
  const everything = [
    JSON.stringify(answers),
    webhooked.output(),
    webhooked.backend.logged(),
    JSON.stringify(await tenant.events()),
    await webhooked.api.stored(),
    await webhooked.plane.auditLog(),
  ]
  for (const text of everything) expect(text.includes(password)).toBe(false)
})
