import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type Anything, decode } from '../contract/kube.ts'
import { createTenant, type Tenant } from '../contract/tenant.ts'
import { accepts } from '../contract/verify.ts'
import { type Composed, type Composition, fluxValues } from '../control-plane/build-flux-values.ts'
import { accountSecretsIn, releasesIn, startWebhooked, type Webhooked } from './webhooked.ts'

/** What the webhooks have wired into stored HelmReleases, composed by Flux's own code from what is stored beside them. */

const DEFINITIONS = '/apis/cozystack.io/v1alpha1/applicationdefinitions'
const PLATFORM = { kind: 'Secret', name: 'cozystack-values' }
const ROUNDS = 5
/** Each would mean something in a `targetPath` (`helm --set`), in YAML, or in JavaScript. */
const USERNAMES = [
  'etl',
  'a.b',
  'a,b=1',
  'x[0]y',
  'u{v}w',
  `q'r"s`,
  'a\\.c',
  'cafés',
  '1e5',
  'true',
  'NULL',
  '007',
  'constructor',
  'a/b~d',
  'x'.repeat(63),
]

let webhooked: Webhooked
let tenant: Tenant

beforeAll(async () => {
  await fluxValues([])
  webhooked = await startWebhooked()
  await block('postgres', { valuesPath: '_engine.accounts' })
  await block('mariadb', { valuesPath: '_accounts' })
})
afterAll(() => webhooked?.stop())

beforeEach(async () => {
  tenant = await createTenant(webhooked.backend)
  await tenant.admin.create(`/api/v1/namespaces/${tenant.namespace}/secrets`, {
    metadata: { name: PLATFORM.name },
    stringData: { 'values.yaml': '_namespace: {host: example.org}\nreplicas: 3\n' },
  })
})

const block = async (definition: string, credentials: object) => {
  const path = `${DEFINITIONS}/${definition}`
  const { status, body } = await webhooked.send('PATCH', path, { spec: { credentials } })
  expect(status, JSON.stringify(body)).toBe(200)
}
const keyOf = (username: string) => `u${createHash('sha256').update(username).digest('hex')}`
const usersOf = (usernames: readonly string[]) =>
  Object.fromEntries(usernames.map((username) => [username, { quota: 1 }]))
const nameOf = (username: string) => username.toLowerCase().replaceAll(/[^a-z0-9-]/gu, '-')

interface Stored {
  readonly composition: Composition
  /** What the account Secrets hold, by username. */
  readonly values: ReadonlyMap<string, string>
}

/** As helm-controller would find it now. */
async function stored(release: string): Promise<Stored> {
  const { spec } = await tenant.admin.get(`${releasesIn(tenant.namespace)}/${release}`)
  const { items } = await tenant.admin.get(`/api/v1/namespaces/${tenant.namespace}/secrets`)
  const secrets: readonly (readonly [string, Anything])[] = items.map(({ metadata, data }: Anything) => [
    metadata.name,
    data,
  ])
  const ours = secrets.filter(([name]) => name.endsWith('.account'))
  return {
    composition: {
      values: spec.values,
      valuesFrom: spec.valuesFrom,
      secrets: Object.fromEntries(secrets),
    },
    values: new Map(ours.map(([, data]) => [decode(data.username), decode(data.password)])),
  }
}

/** A new password for each, by username. */
async function mintEach(release: string): Promise<ReadonlyMap<string, string>> {
  const passwords = new Map<string, string>()
  for (const username of USERNAMES) {
    const { status, body } = await tenant.mint(`${release}.${nameOf(username)}`)
    expect(status, username).toBe(201)
    passwords.set(username, body.status.password)
  }
  return passwords
}

async function compose(release: string): Promise<Composed | undefined> {
  const [composed] = await fluxValues([(await stored(release)).composition])
  return composed
}

/** The tenant's own, the platform's, and the stored value of each account at the hash of its name. */
function expected(valuesPath: string, values: ReadonlyMap<string, string>): object {
  const accounts = Object.fromEntries([...values].map(([username, value]) => [keyOf(username), value]))
  const ours = valuesPath.split('.').reduceRight<object>((inner, name) => ({ [name]: inner }), accounts)
  return {
    values: {
      _namespace: { host: 'example.org' },
      replicas: 7,
      users: usersOf([...values.keys()]),
      ...ours,
    },
  }
}

describe.each([
  ['Postgres', '_engine.accounts', /^SCRAM-SHA-256\$4096:/],
  ['MariaDB', '_accounts', /^\*[0-9A-F]{40}$/],
  ['ClickHouse', '_accounts', /^[0-9a-f]{64}$/],
])('what is stored for users of a %s', (kind, valuesPath, form) => {
  const release = `${kind.toLowerCase()}-orders`
  const order = (usernames: readonly string[]) =>
    tenant.release(
      kind,
      'orders',
      { users: usersOf(usernames), replicas: 7 },
      { spec: { valuesFrom: [PLATFORM] } },
    )

  test('arrives in the chart’s values exactly: seeds, and each mint of many', async () => {
    await order(USERNAMES)
    const all: Stored[] = [await stored(release)]
    for (let round = 0; round < ROUNDS; round += 1) {
      const passwords = await mintEach(release)
      const now = await stored(release)
      for (const [username, value] of now.values) {
        expect(accepts(value, passwords.get(username) ?? ''), username).toBe(true)
      }
      all.push(now)
    }
    const composed = await fluxValues(all.map(({ composition }) => composition))
    expect(composed).toEqual(all.map(({ values }) => expected(valuesPath, values)))
    for (const { values } of all) {
      expect([...values.keys()].toSorted()).toEqual(USERNAMES.toSorted())
      for (const value of values.values()) expect(value).toMatch(form)
    }
  })

  test('follows what is declared: an account more, an account less, and what the platform resets', async () => {
    const path = `${releasesIn(tenant.namespace)}/${release}`
    await order(['etl', 'a.b'])
    const change = async (spec: object) => {
      const { status } = await webhooked.send('PATCH', path, { spec })
      expect(status).toBe(200)
      const { composition, values } = await stored(release)
      const [composed] = await fluxValues([composition])
      return { composed, values }
    }
    const more = await change({ values: { users: usersOf(['new']) } })
    expect(more.values.size).toBe(3)
    expect(more.composed).toEqual(expected(valuesPath, more.values))

    const less = await change({ values: { users: { 'a.b': null } } })
    const left = new Map([...less.values].filter(([username]) => username !== 'a.b'))
    expect(left.size).toBe(2)
    expect(less.composed).toEqual(expected(valuesPath, left))

    const reset = await change({ valuesFrom: [PLATFORM] })
    expect(reset.composed).toEqual(expected(valuesPath, left))
  })

  test('is missing in no chart: without the Secret of an account Flux renders nothing', async () => {
    await order(['etl'])
    await tenant.admin.remove(tenant.secretPath(`${release}.etl`))
    expect(await compose(release)).toEqual({ error: expect.stringContaining(`${release}.etl.account`) })
  })
})

test('the password itself is wired into no chart: such a definition is refused, and so is all that goes by it', async () => {
  const refused = await webhooked.send('PATCH', `${DEFINITIONS}/redis`, {
    spec: { credentials: { valuesPath: '_accounts' } },
  })
  expect(refused).toMatchObject({ status: 422 })
  // The schema does not read the annotation.
  const before = (await webhooked.send('GET', `${DEFINITIONS}/redis`)).body.spec.credentials
  const annotate = (definition: string | null, credentials: object | null) =>
    webhooked.send('PATCH', `${DEFINITIONS}/redis`, {
      metadata: { annotations: { 'credentials.cozystack.io/definition': definition } },
      spec: { credentials },
    })
  const annotated = { ...before, valuesPath: '_accounts' }
  expect((await annotate(JSON.stringify(annotated), null)).status).toBe(200)
  onTestFinished(async () => {
    await annotate(null, before)
  })
  await expect(tenant.release('Redis', 'cache', { authEnabled: true })).rejects.toThrow(
    /500 .*ApplicationDefinition.*redis/,
  )
  const path = `${releasesIn(tenant.namespace)}/redis-cache`
  expect((await webhooked.send('GET', path)).status).toBe(404)
  expect(await accountSecretsIn(webhooked, tenant.namespace)).toEqual([])
})

test('a value that Flux reads as something else, left by somebody who may write Secrets, is gone with the next mint', async () => {
  await tenant.release('ClickHouse', 'orders', { users: { etl: {} } })
  const release = 'clickhouse-orders'
  const secret = await tenant.secret(`${release}.etl`)
  // As somebody with the right to write Secrets could leave it.
  const injected = 'x,_namespace.host=evil'
  await tenant.admin.change(tenant.secretPath(`${release}.etl`), ({ data }) => {
    data.password = Buffer.from(injected).toString('base64')
  })
  const evil = await compose(release)
  expect(evil).toMatchObject({ values: { _namespace: { host: 'evil' } } })
  const { status, body } = await tenant.mint(`${release}.etl`)
  expect(status).toBe(201)
  const after = await stored(release)
  const [composed] = await fluxValues([after.composition])
  expect(composed).toEqual({
    values: { users: { etl: {} }, _accounts: { [keyOf('etl')]: after.values.get('etl') } },
  })
  expect(accepts(after.values.get('etl') ?? '', body.status.password)).toBe(true)
  expect(await tenant.secret(`${release}.etl`)).toMatchObject({ metadata: { uid: secret.metadata.uid } })
})
