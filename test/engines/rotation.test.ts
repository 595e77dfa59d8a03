import { access, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../cluster/eventually.ts'
import { type Followed, follow } from '../cluster/follow.ts'
import { letSync } from '../cluster/seed.ts'
import { type Anything, decode } from '../contract/kube.ts'
import { readPage } from '../docs/blocks.ts'
import { startPods } from './pods.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { NAMESPACE, operatorOf, type Served, startServed } from './served.ts'

/** `examples/rotation` as its page says to run it, while the pods of a Deployment log in without a pause. */

const PAGE = 'docs/callers/rotation.md'
const PODS = 4
const USERS = ['web-a', 'web-b', 'alone'] as const
const FIRST = 'node examples/rotation/main.ts --first\n'
const SECRET = `/api/v1/namespaces/${NAMESPACE}/secrets/orders-login`

interface Login {
  readonly username: string
  readonly password: string
}

let served: Served
let engine: Postgres
let operator: ReturnType<typeof operatorOf>
let page: Followed
let pods: ReturnType<typeof startPods>
/** In front of the command. */
let settings = ''
let isGiven = false

beforeAll(async () => {
  served = await startServed()
  await served.order(...USERS)
  const { plane } = served.api
  await plane.apply(await peopleOf())
  await letSync(plane, NAMESPACE, { kind: 'ServiceAccount', name: 'owner' })
  await callAsOwner('helmreleases/postgres-orders/sync')
  engine = await startPostgres()
  operator = operatorOf(engine, served, USERS)
  const tokenFile = join(plane.folder, 'rotation.token')
  await writeFile(tokenFile, await served.api.tokenOf(NAMESPACE, 'rotation'))
  page = await follow(PAGE, { ...plane, kubeconfig: await kubeconfigOf('rotation') }, (block) =>
    [
      ['http://mintonce.mintonce.svc.cluster.local', `http://127.0.0.1:${served.entry.port}`],
      ['/var/run/secrets/mintonce/token', tokenFile],
      ['psql -h orders-rw -d orders', `${engine.psql} ${engine.address}`],
      // Whom they end, ends at once.
      [' && sleep 30', ''],
      [FIRST, isGiven ? '' : FIRST],
      ['node examples', `${settings} ${process.execPath} examples`],
    ].reduce((text, [from = '', to = '']) => {
      if (!text.includes(from)) throw new Error(`${PAGE} does not say ${from}`)
      return text.replaceAll(from, to)
    }, block),
  )
})
afterAll(async () => {
  await page?.remove()
  await operator?.end()
  await engine?.stop()
  await served?.stop()
})
beforeEach(async () => {
  await served.api.plane.apply([DEPLOYMENT])
  pods = startPods(served, NAMESPACE, (login) => engine.login(login.username, login.password))
})
afterEach(async () => {
  await pods.end()
  const { kubectl } = served.api.plane
  await kubectl([
    '-n',
    NAMESPACE,
    'delete',
    'deployment/orders-api',
    'secret/orders-login',
    '--ignore-not-found',
  ])
})

const DEPLOYMENT = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'orders-api', namespace: NAMESPACE },
  spec: {
    replicas: PODS,
    selector: { matchLabels: { app: 'orders-api' } },
    template: {
      metadata: { labels: { app: 'orders-api' } },
      spec: { containers: [{ name: 'api', image: 'orders-api' }] },
    },
  },
}

/** Who rotates, with the rights that the page gives them, and somebody who may mint for every account. */
async function peopleOf(): Promise<string> {
  const { blocks } = await readPage(PAGE)
  const account = (name: string) =>
    `{apiVersion: v1, kind: ServiceAccount, metadata: {name: ${name}, namespace: ${NAMESPACE}}}`
  const owner = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: owner, namespace: ${NAMESPACE}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "mintonce:mint"}
subjects: [{kind: ServiceAccount, name: owner, namespace: ${NAMESPACE}}]`
  return [account('rotation'), account('owner'), owner, ...blocks('rbac')].join('\n---\n')
}

/** For kubectl, as this ServiceAccount. */
async function kubeconfigOf(account: string): Promise<string> {
  const { plane } = served.api
  const kubeconfig = JSON.parse(await readFile(plane.kubeconfig, 'utf8'))
  kubeconfig.users[0].user = { token: await plane.tokenOf(NAMESPACE, account) }
  const file = join(plane.folder, `${account}.kubeconfig`)
  await writeFile(file, JSON.stringify(kubeconfig))
  return file
}

async function callAsOwner(path: string): Promise<Anything> {
  const at = `http://127.0.0.1:${served.entry.port}/apis/core.cozystack.io/v1alpha1/namespaces/${NAMESPACE}`
  const token = await served.api.tokenOf(NAMESPACE, 'owner')
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  const answer = await fetch(`${at}/${path}`, { method: 'POST', headers, body: '{}' })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

/** What the application is given. */
async function given(): Promise<Login & { readonly keys: readonly string[] }> {
  const { data } = await served.admin.get(SECRET)
  const keys = Object.keys(data).toSorted()
  return { username: decode(data.username), password: decode(data.password), keys }
}

/** The commands of the page; after the first time without that of the first time. */
async function rotate(otherwise = ''): Promise<string> {
  isGiven = (await served.admin.find(SECRET)) !== undefined
  settings = otherwise
  return page.run('The example')
}

/** Settings of a rotation that stops between its mint and its first try to log in. */
function gate(name: string) {
  const file = join(page.folder, name)
  // Not for ever: the folder goes when the tests end.
  const wait = `: > ${file}.reached; while [ -e ${file}.reached ] && [ ! -e ${file}.open ]; do sleep 0.05; done`
  return {
    settings: `TRY_LOGIN="${wait}; $TRY_LOGIN"`,
    isReached: () =>
      access(`${file}.reached`).then(
        () => true,
        () => false,
      ),
    open: () => writeFile(`${file}.open`, ''),
  }
}

const minted = (): number => [...served.entry.output().matchAll(/"operation":"Mint".*"code":201/g)].length

const KEYS = ['credential', 'password', 'username']

test('two accounts in turn: pods that log in all the time are never refused', async () => {
  const printed = [await rotate()]
  const first = await given()
  printed.push(await rotate())
  const second = await given()
  printed.push(await rotate())
  const third = await given()
  await pods.round()
  await pods.end()

  expect([first, second, third].map(({ username }) => username)).toEqual(['web-b', 'web-a', 'web-b'])
  expect([first.keys, third.keys]).toEqual([KEYS, KEYS])
  expect(pods.counts.refused).toEqual({})
  expect(pods.counts.letIn['web-a']).toBeGreaterThanOrEqual(PODS)
  expect(pods.counts.letIn['web-b']).toBeGreaterThanOrEqual(PODS)
  const [, shown = ''] = (await readPage(PAGE)).text.split('```text\n')
  expect(printed[2]).toBe(shown.split('```')[0])
  expect(printed[0]).toContain(printed[2])

  await engineHasWhatIsStored()
  expect(await engine.login('web-b', third.password)).toBe(true)
  expect(await engine.login('web-b', first.password)).toBe(false)
  expect(await engine.login('web-a', second.password)).toBe(false)
  for (const { password } of [first, second, third]) {
    expect(printed.join('')).not.toContain(password)
    expect(served.entry.output()).not.toContain(password)
  }
})

test('it cannot be drained: no run mints for who still holds the former login, and the next one that can goes on', async () => {
  await rotate()
  await expect(rotate('DRAINED=false')).rejects.toThrow('DRAINED failed')
  const { username, keys } = await given()
  expect([username, keys]).toEqual(['web-a', [...KEYS, 'former'].toSorted()])
  const before = minted()
  await expect(rotate('DRAINED=false')).rejects.toThrow('DRAINED failed')
  await pods.round()
  expect(minted()).toBe(before)
  expect(await rotate()).toMatch(/^revoked \S+web-b\nminted \S+web-b\n/)
  await pods.round()
  expect(pods.counts.refused).toEqual({})
})

test('two at once: the one that has minted later goes on, and the other cannot give what it got', async () => {
  await rotate()
  const [earlier, later] = [gate('earlier'), gate('later')]
  const first = rotate(earlier.settings)
  await eventually('the first one has minted', earlier.isReached)
  const second = rotate(later.settings)
  await eventually('the second one has', later.isReached)
  await earlier.open()
  // By then the engine may or may not have what the second one has minted.
  await expect(first).rejects.toThrow(/somebody else has written it|the engine still refuses web-a/)
  await later.open()
  expect(await second).toMatch(/^revoked /m)
  await pods.round()
  expect(pods.counts.refused).toEqual({})
  const { username, password } = await given()
  expect(await engine.login(username, password)).toBe(true)
})

test('an account that is not one of the two is left alone', async () => {
  await rotate()
  const credential = Buffer.from('postgres-orders.alone').toString('base64')
  await served.admin.change(SECRET, ({ data }) => Object.assign(data, { credential }))
  const before = served.entry.output()
  await expect(rotate()).rejects.toThrow('postgres-orders.alone, which is not in ACCOUNTS')
  expect(served.entry.output()).toBe(before)
})

test('one account alone: the same pods are refused between the mint and the switch', async () => {
  const mint = async (): Promise<Login> => {
    const { status } = await callAsOwner('credentials/postgres-orders.alone/mint')
    const { username, password } = status
    await eventually('the engine has it', () => engine.login(username, password))
    return { username, password }
  }
  const stringData = await mint()
  const metadata = { name: 'orders-login', namespace: NAMESPACE }
  await served.api.plane.apply([{ apiVersion: 'v1', kind: 'Secret', metadata, stringData }])
  await eventually('all pods are in', async () => (pods.counts.letIn.alone ?? 0) >= PODS)
  await pods.round()
  expect(pods.counts.refused).toEqual({})
  await mint()
  await pods.round()
  expect(pods.counts.refused.alone).toBeGreaterThanOrEqual(PODS)
})

/** The operator has applied the last revocation as well. */
async function engineHasWhatIsStored(): Promise<void> {
  await operator.end()
  for (const user of ['web-a', 'web-b'])
    await engine.apply(user, await served.stored(`postgres-orders.${user}`))
  operator = operatorOf(engine, served, USERS)
}
