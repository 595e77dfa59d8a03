import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Followed, follow } from '../cluster/follow.ts'
import { readPage } from '../docs/blocks.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { NAMESPACE, operatorOf, type Served, startServed } from './served.ts'

/** `examples/rotation` as its page says to run it, while clients log in without a pause. */

const PAGE = 'docs/callers/rotation.md'
const CLIENTS = 4
const USERS = ['web-a', 'web-b', 'alone'] as const

interface Login {
  readonly username: string
  readonly password: string
}

let served: Served
let engine: Postgres
let operator: ReturnType<typeof operatorOf>
let page: Followed
let loginFile: string
let clients: Clients
let drain: Server

beforeAll(async () => {
  served = await startServed()
  await served.order(...USERS)
  await served.api.plane.apply(await peopleOf())
  engine = await startPostgres()
  operator = operatorOf(engine, served, USERS)
  loginFile = join(served.api.plane.folder, 'run/login.json')
  await mkdir(dirname(loginFile))
  const tokenFile = join(served.api.plane.folder, 'rotation.token')
  await writeFile(tokenFile, await served.api.tokenOf(NAMESPACE, 'rotation'))
  // Only the application knows whether somebody still holds a login that was read before.
  drain = createServer((_, answer) => void clients.round().then(() => answer.writeHead(204).end()))
  await new Promise<void>((listens) => drain.listen(0, '127.0.0.1', listens))
  const { port } = drain.address() as AddressInfo
  page = await follow(PAGE, served.api.plane, (block) =>
    [
      ['http://mintonce.mintonce.svc.cluster.local', `http://127.0.0.1:${served.entry.port}`],
      ['/var/run/secrets/mintonce/token', tokenFile],
      ['/run/orders/login.json', loginFile],
      ['psql -h orders-rw -d orders', `${engine.psql} ${engine.address}`],
      [
        'kubectl -n tenant-acme rollout status deployment/orders-api',
        `${process.execPath} -e "fetch(\\"http://127.0.0.1:${port}/\\")"`,
      ],
      ['node examples', `${process.execPath} examples`],
    ].reduce((text, [from = '', to = '']) => {
      if (!text.includes(from)) throw new Error(`${PAGE} does not say ${from}`)
      return text.replace(from, to)
    }, block),
  )
})
afterAll(async () => {
  drain?.close()
  await page?.remove()
  await operator?.end()
  await engine?.stop()
  await served?.stop()
})
beforeEach(() => {
  clients = startClients()
})
afterEach(() => clients.end())

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

const readLogin = async (): Promise<Login> => JSON.parse(await readFile(loginFile, 'utf8'))

interface Clients {
  /** Ends when every client has read the login and tried it once more from now on. */
  readonly round: () => Promise<void>
  /** Logins that were let in and refused so far, by username. */
  readonly counts: { readonly letIn: Record<string, number>; readonly refused: Record<string, number> }
  readonly end: () => Promise<void>
}

/** Each reads the login, as an application does before it connects, and logs in with it. */
function startClients(): Clients {
  const counts = { letIn: {}, refused: {} } as {
    letIn: Record<string, number>
    refused: Record<string, number>
  }
  const begun = new Array<number>(CLIENTS).fill(0)
  const done = new Array<number>(CLIENTS).fill(0)
  let isEnded = false
  const pause = () => new Promise((resolve) => setTimeout(resolve, 10))
  const work = async (client: number) => {
    while (!isEnded) {
      await pause()
      const turn = (begun[client] ?? 0) + 1
      begun[client] = turn
      const login = await readLogin().catch(() => undefined)
      if (login !== undefined) {
        const into = (await engine.login(login.username, login.password)) ? counts.letIn : counts.refused
        into[login.username] = (into[login.username] ?? 0) + 1
      }
      done[client] = turn
    }
  }
  const working = Promise.all(begun.map((_, client) => work(client)))
  working.catch(() => {})
  return {
    counts,
    round: async () => {
      const wanted = begun.map((turn) => turn + 1)
      const isThrough = () => wanted.every((turn, client) => (done[client] ?? 0) >= turn)
      while (!isThrough() && !isEnded) await pause()
    },
    end: async () => {
      isEnded = true
      await working
    },
  }
}

const total = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((sum, n) => sum + n, 0)

test('two accounts in turn: clients that log in all the time are never refused', async () => {
  const printed = [await page.run('The example')]
  const first = await readLogin()
  await clients.round()
  printed.push(await page.run('The example'))
  const second = await readLogin()
  await clients.round()
  printed.push(await page.run('The example'))
  const third = await readLogin()
  await clients.round()
  await clients.end()

  expect([first, second, third].map(({ username }) => username)).toEqual(['web-a', 'web-b', 'web-a'])
  expect(clients.counts.refused).toEqual({})
  expect(clients.counts.letIn['web-a']).toBeGreaterThanOrEqual(CLIENTS)
  expect(clients.counts.letIn['web-b']).toBeGreaterThanOrEqual(CLIENTS)
  expect(printed[1]).toBe((await readPage(PAGE)).text.split('```text\n')[1]?.split('```')[0])

  await engineHasWhatIsStored()
  expect(await engine.login('web-a', third.password)).toBe(true)
  expect(await engine.login('web-a', first.password)).toBe(false)
  expect(await engine.login('web-b', second.password)).toBe(false)
  for (const { password } of [first, second, third]) {
    expect(printed.join('')).not.toContain(password)
    expect(served.entry.output()).not.toContain(password)
  }
})

test('one account alone: the same clients are refused between the mint and the switch', async () => {
  const token = await served.api.tokenOf(NAMESPACE, 'owner')
  const mint = async (): Promise<Login> => {
    const path = `/apis/core.cozystack.io/v1alpha1/namespaces/${NAMESPACE}/credentials/postgres-orders.alone/mint`
    const answer = await fetch(`http://127.0.0.1:${served.entry.port}${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: '{}',
    })
    const { status } = (await answer.json()) as { readonly status: Login }
    return { username: status.username, password: status.password }
  }
  const give = async (login: Login) => {
    await writeFile(`${loginFile}.next`, JSON.stringify(login))
    await rename(`${loginFile}.next`, loginFile)
  }
  await letIn(await mint(), give)
  await clients.round()
  const before = total(clients.counts.refused)
  const next = await mint()
  await letIn(next, async () => {})
  await clients.round()
  await give(next)
  await clients.end()
  expect(before).toBe(0)
  expect(clients.counts.refused.alone).toBeGreaterThanOrEqual(CLIENTS)
})

/** Calls `then` once the engine lets this login in. */
async function letIn(login: Login, then: (login: Login) => Promise<void>): Promise<void> {
  while (!(await engine.login(login.username, login.password)))
    await new Promise((resolve) => setTimeout(resolve, 50))
  await then(login)
}

/** The operator has applied the last revocation as well. */
async function engineHasWhatIsStored(): Promise<void> {
  await operator.end()
  for (const user of ['web-a', 'web-b'])
    await engine.apply(user, await served.stored(`postgres-orders.${user}`))
  operator = operatorOf(engine, served, USERS)
}
