import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Aggregated, startAggregated } from '../cluster/aggregated.ts'
import { eventually } from '../cluster/eventually.ts'
import { type Followed, follow } from '../cluster/follow.ts'
import { fillNamespace } from '../cluster/full-namespace.ts'
import { edit, read, succeed } from '../cluster/stand-ins.ts'
import { SETTINGS } from '../contract/backends/settings.ts'
import { type Admin, type Anything, adminOf, decode } from '../contract/kube.ts'
import { releaseOf } from '../contract/tenant.ts'
import { command } from '../control-plane/command.ts'
import { fencesIn, readPage } from '../docs/blocks.ts'
import { type RunningEntry, startEntry } from '../helpers/entry.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { type SecretsOperator, startSecretsOperator } from './secrets-operator.ts'
import { NAMESPACE, operatorOf } from './served.ts'

/** The operator's own program does what its page says, against a real kube-apiserver and a real PostgreSQL. */

const PAGE = 'docs/callers/external-secrets.md'
const MINTER = `system:serviceaccount:${NAMESPACE}:orders-minter`
const IN = ['-n', NAMESPACE]
const SECRETS = `/api/v1/namespaces/${NAMESPACE}/secrets`
const EXTERNAL_SECRETS = `/apis/external-secrets.io/v1/namespaces/${NAMESPACE}/externalsecrets`

let aggregated: Aggregated
let onKnative: RunningEntry
let admin: Admin
let engine: Postgres
let cnpg: ReturnType<typeof operatorOf>
let operator: SecretsOperator
let page: Followed
/** Every password that a target Secret has held. */
const passwords = new Set<string>()

beforeAll(async () => {
  aggregated = await startAggregated()
  const { api, plane } = aggregated
  onKnative = await startEntry(api, SETTINGS)
  admin = adminOf(plane.adminFetch)
  const metadata = { name: NAMESPACE }
  await admin.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata })
  const releases = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${NAMESPACE}/helmreleases`
  await admin.create(releases, releaseOf('Postgres', 'orders', { users: { web: {}, report: {} } }))
  engine = await startPostgres()
  cnpg = operatorOf(engine, { stored }, ['web'])
  operator = await startSecretsOperator(plane, NAMESPACE)
  page = await follow(PAGE, plane)
  const generator = (way: string) => join(page.folder, `examples/external-secrets/generator-${way}.yaml`)
  await edit(
    generator('knative'),
    'http://mintonce.mintonce.svc.cluster.local/',
    `http://127.0.0.1:${onKnative.port}/`,
  )
  await edit(generator('apiservice'), 'https://kubernetes.default.svc/', `${plane.url}/`)
})
afterAll(async () => {
  await page?.remove()
  await operator?.end()
  await cnpg?.end()
  await engine?.stop()
  await onKnative?.stop()
  await aggregated?.stop()
})

const stored = async (credential: string): Promise<string> =>
  decode((await admin.find(`${SECRETS}/${credential}.account`))?.data.password)

/** How often somebody has minted so far, by what the function has logged. */
const mints = (): number =>
  [onKnative, aggregated.entry].flatMap(({ output }) => [
    ...output().matchAll(/"operation":"Mint".*"user":"([^"]*)".*"code":201/g),
  ]).length

interface Login {
  readonly username: string
  readonly password: string
  readonly uri: string
}

/** What a pod would be given. */
async function target(name = 'orders-login'): Promise<Login | undefined> {
  const secret = await admin.find(`${SECRETS}/${name}`)
  if (secret === undefined) return undefined
  const [username, password, uri] = ['username', 'password', 'uri'].map((key) => decode(secret.data[key]))
  if (/^\w{32}$/.test(password ?? '')) passwords.add(password ?? '')
  return { username: username ?? '', password: password ?? '', uri: uri ?? '' }
}

/** What is in the Secret by now lets its pods in, and stays. */
async function loggedIn(): Promise<Login> {
  const isIn = async () => {
    const login = await target()
    return login !== undefined && engine.login(login.username, login.password)
  }
  await eventually('what the Secret holds logs in', isIn)
  await settled()
  await eventually('it still does', isIn)
  return (await target()) as Login
}

/** The same with another password than before, which does not let anybody in any more. */
async function rotated(before: Login): Promise<Login> {
  await eventually('the Secret holds another password', async () => {
    const now = await target()
    return now !== undefined && now.password !== before.password
  })
  const after = await loggedIn()
  expect(after.password).not.toBe(before.password)
  expect(await engine.login(before.username, before.password)).toBe(false)
  return after
}

/**
 * The operator reads in its cache whether it has synchronised an ExternalSecret before. When that is behind, it does so
 * once more (`shouldRefresh` in its externalsecret_controller.go).
 */
function expectMintedOnceOrTwice(before: number): void {
  const more = mints() - before
  expect([1, 2]).toContain(more)
}

let sentinels = 0

/** The operator has been through all that it was told before: it does one thing after the other. */
async function settled(): Promise<void> {
  sentinels += 1
  const metadata = { name: `sentinel-${sentinels}`, namespace: NAMESPACE }
  const api = 'generators.external-secrets.io/v1alpha1'
  const generatorRef = { apiVersion: api, kind: 'Fake', name: metadata.name }
  await aggregated.plane.apply([
    { apiVersion: api, kind: 'Fake', metadata, spec: { data: { key: 'value' } } },
    externalSecret(metadata.name, { dataFrom: [{ sourceRef: { generatorRef } }] }),
  ])
  await eventually('the operator is idle', async () => (await target(metadata.name)) !== undefined)
}

const generatorRef = {
  apiVersion: 'generators.external-secrets.io/v1alpha1',
  kind: 'Webhook',
  name: 'postgres-orders.web',
}

const externalSecret = (name: string, spec: object): object => ({
  apiVersion: 'external-secrets.io/v1',
  kind: 'ExternalSecret',
  metadata: { name, namespace: NAMESPACE },
  spec: {
    refreshPolicy: 'CreatedOnce',
    refreshInterval: '0s',
    target: { name },
    dataFrom: [{ sourceRef: { generatorRef } }],
    ...spec,
  },
})

async function conditionOf(name: string): Promise<Anything> {
  const { status } = await admin.get(`${EXTERNAL_SECRETS}/${name}`)
  return status?.conditions?.[0]
}

test('on Knative: the operator mints, and the Secret logs in', async () => {
  await page.run('1. Who mints')
  await page.run('2. The generator, on Knative')
  expect(await page.run('4. The Secret')).toMatch(/^web$/m)
  const login = await loggedIn()
  expect(login).toMatchObject({ username: 'web', password: expect.stringMatching(/^[A-Za-z0-9]{32}$/) })
  expect(login.uri).toBe(`postgresql://web:${login.password}@orders-rw:5432/orders`)
  expectMintedOnceOrTwice(0)
  const { metadata } = await admin.get(`${SECRETS}/postgres-orders.web.account`)
  const history = JSON.parse(metadata.annotations['credentials.cozystack.io/history'])
  expect(history[0]).toMatchObject({ operation: 'Mint', by: MINTER })
})

test('a token that cannot be had replaces nothing', async () => {
  const minter = `${SECRETS}/orders-minter`
  const { data } = await admin.get(minter)
  await succeed(aggregated.plane, ['delete', 'serviceaccount', 'orders-minter', ...IN])
  for (const way of ['2. The generator, on Knative', '3. The same behind an APIService']) {
    await expect(page.run(way)).rejects.toThrow('not found')
    expect((await admin.get(minter)).data).toEqual(data)
  }
  await page.run('1. Who mints')
  await page.run('2. The generator, on Knative')
  expect((await admin.get(minter)).data).not.toEqual(data)
})

test('CreatedOnce: no annotation, label, edit or restart mints again', async () => {
  const before = await target()
  const minted = mints()
  await succeed(aggregated.plane, ['annotate', 'externalsecret', 'orders-login', ...IN, 'force-sync=1'])
  await succeed(aggregated.plane, ['label', 'externalsecret', 'orders-login', ...IN, 'some=label'])
  const spec = { target: { template: { metadata: { labels: { some: 'label' } } } } }
  const patch = ['--type=merge', '-p', JSON.stringify({ spec })]
  await succeed(aggregated.plane, ['patch', 'externalsecret', 'orders-login', ...IN, ...patch])
  await settled()
  await operator.restart()
  await settled()
  expect(mints()).toBe(minted)
  expect(await target()).toEqual(before)
})

test('a Secret that was deleted, or edited by hand, is minted for again', async () => {
  const first = (await target()) as Login
  const before = mints()
  await page.run('A rotation')
  const second = await rotated(first)
  expectMintedOnceOrTwice(before)
  const minted = mints()
  const patch = JSON.stringify({ stringData: { password: 'another' } })
  await succeed(aggregated.plane, ['patch', 'secret', 'orders-login', ...IN, '--type=merge', '-p', patch])
  await eventually('the edit is undone', async () => mints() > minted)
  await rotated(second)
  expectMintedOnceOrTwice(minted)
})

test('the pods are replaced after a rotation, and only then', async () => {
  await succeed(aggregated.plane, ['apply', '-k', join(page.folder, 'examples/gitops/api')])
  const learn = async () => {
    await page.run('How an application learns of it')
    const { metadata, spec } = await read(aggregated.plane, 'deployment', 'orders-api', ...IN)
    const seen: string = spec.template.metadata.annotations['orders-login']
    return { generation: metadata.generation as number, seen }
  }
  const first = await learn()
  expect(await learn()).toEqual(first)
  const before = (await target()) as Login
  await page.run('A rotation')
  await rotated(before)
  const second = await learn()
  expect(second.generation).toBe(first.generation + 1)
  const { metadata } = await admin.get(`${SECRETS}/orders-login`)
  expect([second.seen, first.seen === second.seen]).toEqual([metadata.resourceVersion, false])
})

test('behind an APIService: the same, through kube-apiserver', async () => {
  const before = (await target()) as Login
  const minted = mints()
  await page.run('3. The same behind an APIService')
  await settled()
  expect(mints()).toBe(minted)
  await page.run('A rotation')
  await rotated(before)
  expect(aggregated.entry.output()).toContain(`"user":"${MINTER}"`)
})

test('Periodic: another password at every interval, and pods with the last one are cut off', async () => {
  const minted = mints()
  const periodic = externalSecret('periodic', { refreshPolicy: 'Periodic', refreshInterval: '1s' })
  await aggregated.plane.apply([periodic])
  await eventually('three mints', async () => mints() >= minted + 3)
  await succeed(aggregated.plane, ['delete', 'externalsecret', 'periodic', ...IN])
  await settled()
  const { username, password } = (await target()) as Login
  await eventually(
    'the first Secret has lost its login',
    async () => !(await engine.login(username, password)),
  )
})

test('OnChange: another password at every annotation', async () => {
  await aggregated.plane.apply([externalSecret('on-change', { refreshPolicy: 'OnChange' })])
  await eventually('it is ready', async () => (await conditionOf('on-change'))?.status === 'True')
  await settled()
  const minted = mints()
  await succeed(aggregated.plane, ['annotate', 'externalsecret', 'on-change', ...IN, 'some=thing'])
  await eventually('another mint', async () => mints() > minted)
  await succeed(aggregated.plane, ['delete', 'externalsecret', 'on-change', ...IN])
})

test('refused: nothing is minted, the condition has the code only, and it goes on when that is repaired', async () => {
  const minted = mints()
  await succeed(aggregated.plane, ['delete', 'rolebinding', 'orders-minter', ...IN])
  await aggregated.plane.apply([externalSecret('refused', {})])
  await eventually(
    'it has failed',
    async () => (await conditionOf('refused'))?.reason === 'SecretSyncedError',
  )
  const { message } = await conditionOf('refused')
  expect(message).not.toContain('403')
  expect(await operator.log()).toContain('endpoint gave error 403 Forbidden')
  expect(mints()).toBe(minted)
  await page.run('1. Who mints')
  await eventually('it is ready', async () => (await conditionOf('refused'))?.status === 'True')
  await settled()
  expectMintedOnceOrTwice(minted)
  await succeed(aggregated.plane, ['delete', 'externalsecret', 'refused', ...IN])
})

/** The block for it, pasted into a shell that does not end at a mistake, when there is no Secret. */
async function doesNotReplacePods(): Promise<void> {
  const { kubeconfig, binaries } = aggregated.plane
  const fences = fencesIn((await readPage(PAGE)).text)
  const fence = fences.find(({ heading }) => heading === 'How an application learns of it')
  const before = await read(aggregated.plane, 'deployment', 'orders-api', ...IN)
  const env = { KUBECONFIG: kubeconfig, PATH: `${dirname(binaries.kubectl)}:${process.env.PATH}` }
  const { code, stderr } = await command('sh', ['-c', fence?.block ?? ''], { env })
  expect([code, stderr]).toEqual([1, expect.stringContaining('"orders-login" not found')])
  const after = await read(aggregated.plane, 'deployment', 'orders-api', ...IN)
  expect(after.metadata.generation).toBe(before.metadata.generation)
}

test('two that name one generator: the second one takes the login away from the first', async () => {
  const dead = (await target()) as Login
  await page.run('A rotation')
  const first = await rotated(dead)
  const minted = mints()
  await aggregated.plane.apply([externalSecret('second', { target: { name: 'orders-login' } })])
  await eventually('it has failed', async () => (await conditionOf('second'))?.reason === 'SecretSyncedError')
  expect((await conditionOf('second')).message).toBe('target is owned by another ExternalSecret')
  await settled()
  expectMintedOnceOrTwice(minted)
  expect(await target()).toEqual(first)
  await eventually('its login is dead', async () => !(await engine.login(first.username, first.password)))
  await succeed(aggregated.plane, ['delete', 'externalsecret', 'second', ...IN])
})

test('a Secret that cannot be rendered: each try mints, and none delivers', async () => {
  const minted = mints()
  const template = { data: { password: '{{ .passwort }}' } }
  await aggregated.plane.apply([externalSecret('misspelt', { target: { name: 'misspelt', template } })])
  await eventually('three mints', async () => mints() >= minted + 3)
  expect(await conditionOf('misspelt')).toMatchObject({ status: 'False', reason: 'SecretSyncedError' })
  expect(await target('misspelt')).toBeUndefined()
  await succeed(aggregated.plane, ['delete', 'externalsecret', 'misspelt', ...IN])
})

test('a Secret that cannot be written: each try mints, and none delivers', async () => {
  const minted = mints()
  const empty = await fillNamespace(aggregated.plane, NAMESPACE)
  await aggregated.plane.apply([externalSecret('no-room', {})])
  await eventually('three mints', async () => mints() >= minted + 3)
  expect(await conditionOf('no-room')).toMatchObject({ status: 'False', reason: 'SecretSyncedError' })
  expect(await target('no-room')).toBeUndefined()
  await succeed(aggregated.plane, ['delete', 'externalsecret', 'no-room', ...IN])
  await empty()
})

test('an ExternalSecret that is made anew mints again', async () => {
  await succeed(aggregated.plane, ['delete', 'externalsecret', 'orders-login', ...IN])
  const minted = mints()
  expect(await page.run('4. The Secret')).toMatch(/^web$/m)
  // Twice, when the garbage collector removes the Secret of the old one after the new one was there.
  expect(mints()).toBeGreaterThan(minted)
})

test('all of it in Git, the generator’s token as well: the Secret logs in, and no more is minted', async () => {
  await succeed(aggregated.plane, ['delete', 'externalsecret/orders-login', 'secret/orders-minter', ...IN])
  await eventually('the Secret is gone', async () => (await target()) === undefined)
  await doesNotReplacePods()
  const minted = mints()
  const folder = join(page.folder, 'examples/gitops/login-external-secrets')
  await succeed(aggregated.plane, ['apply', '-k', folder])
  await eventually('it is ready', async () => (await conditionOf('orders-login'))?.status === 'True')
  await loggedIn()
  const total = mints()
  expect(total).toBeGreaterThan(minted)
  await settled()
  expect(mints()).toBe(total)
})

test('all of the page was run, and no password is in a log', async () => {
  expect(page.left()).toEqual([])
  expect(passwords.size).toBeGreaterThan(4)
  const logs = [await operator.log(), onKnative.output(), aggregated.entry.output()].join('')
  for (const password of passwords) expect(logs.includes(password)).toBe(false)
})
