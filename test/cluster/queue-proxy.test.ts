import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createHttpsClient } from '../../src/k8s/node-https.ts'
import type { Backend } from '../contract/backend.ts'
import { nodeProcess } from '../contract/backends/node-process.ts'
import { type RealApiServer, startRealApiServer } from '../contract/backends/real-api-server.ts'
import { type Anything, decode } from '../contract/kube.ts'
import { type Answer, adminOfTenant, createTenant, type Tenant } from '../contract/tenant.ts'
import { accepts } from '../contract/verify.ts'
import { freePorts } from '../control-plane/ports.ts'
import { type ApiProxy, startApiProxy } from '../helpers/api-proxy.ts'
import { type QueueProxy, startQueueProxy } from './queue-proxy-process.ts'

const CREDENTIAL = 'postgres-orders.web'
/** Asked often; the machine may be busy. */
const SOON = { interval: 5, timeout: 20_000 }

const isTokenReview = (call: string) => call.endsWith('/tokenreviews')
const isAccessReview = (call: string) => call.endsWith('/subjectaccessreviews')
const isSecretWrite = (call: string) => /^(POST|PUT) .*\/secrets/.test(call)

let api: RealApiServer
/** Between the function and the API server. */
let between: ApiProxy
beforeAll(async () => {
  api = await startRealApiServer()
  between = await startApiProxy(createHttpsClient(api.plane.url, { ca: api.plane.ca }).fetch)
})
afterAll(async () => {
  await between?.stop()
  await api?.stop()
})

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

/** The function as a process, which listens on `port` and reaches the API server through `between`. */
async function startFunction(port: number, settings: Readonly<Record<string, string>> = {}) {
  const { tokenFile } = await api.forProcess()
  const behind = {
    ...api,
    forProcess: async () => ({ url: between.url, tokenFile }),
    stop: async () => undefined,
  }
  const backend = await nodeProcess(behind, { PORT: String(port), ...settings })
  let stopped: Promise<void> | undefined
  /** SIGTERM. Rejects unless the process ends with 0. */
  const terminate = () => {
    stopped ??= backend.stop()
    return stopped
  }
  cleanups.push(terminate)
  return { ...backend, stop: terminate }
}

async function queueProxyTo(port: number, change: Parameters<typeof startQueueProxy>[2] = {}) {
  const queue = await startQueueProxy(port, api.plane.folder, change)
  cleanups.push(queue.stop)
  return queue
}

interface Pod {
  readonly direct: Backend
  readonly queue: QueueProxy
  readonly tenant: Tenant
}

/** Both containers of a pod, and a tenant with these users, whose calls go through the queue-proxy. */
async function startPod(
  users: readonly string[],
  change: Parameters<typeof startQueueProxy>[2] = {},
  settings: Readonly<Record<string, string>> = {},
): Promise<Pod> {
  const [port = 0] = await freePorts(1)
  const direct = await startFunction(port, settings)
  const queue = await queueProxyTo(port, change)
  const through = {
    ...direct,
    call: (path: string, init?: RequestInit) => fetch(`${queue.origin}${path}`, init),
  }
  const tenant = await createTenant(through)
  await tenant.release('Postgres', 'orders', {
    users: Object.fromEntries(users.map((user) => [user, {}])),
  })
  return { direct, queue, tenant }
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `u${index}`)
const mintEach = (tenant: Tenant, users: readonly string[]) =>
  users.map(async (user) => ({ user, answer: await tenant.mint(`postgres-orders.${user}`) }))

const passwordOf = ({ body }: Answer): string => body.status.password
const fits = ({ data }: Anything, answer: Answer) => accepts(decode(data.password), passwordOf(answer))

/** The log lines of mints that have ended. */
const mintsOf = ({ logged }: Backend, { namespace }: Tenant): readonly Anything[] =>
  logged()
    .split('\n')
    .filter((line) => line.includes('"event":"credential"') && line.endsWith('}'))
    .map((line) => JSON.parse(line))
    .filter((line) => line.namespace === namespace)

test('a mint through the queue-proxy is a 201, and the password fits what is stored', async () => {
  const { tenant, direct } = await startPod(['web'])
  const minted = await tenant.mint(CREDENTIAL)
  expect(minted.status).toBe(201)
  expect(fits(await tenant.secret(CREDENTIAL), minted)).toBe(true)
  expect(direct.logged()).not.toContain(passwordOf(minted))
})

test('RUN-05: the queue-proxy calls the pod ready only while function and API server answer', async () => {
  const [port = 0] = await freePorts(1)
  const queue = await queueProxyTo(port)
  // Each refusal takes ten seconds: Knative asks again and again for so long.
  expect(await queue.probe('Knative-Activator-Probe')).toBe(503)

  const backend = await startFunction(port)
  expect(await queue.probe('Knative-Activator-Probe')).toBe(200)
  expect(await queue.probe('kube-probe/1.36')).toBe(200)

  await between.leave()
  try {
    const both = [queue.probe('Knative-Activator-Probe'), queue.probe('kube-probe/1.36')]
    expect(await Promise.all(both)).toEqual([503, 503])
    const alive = await backend.call('/livez')
    expect(alive.status).toBe(200)
  } finally {
    await between.comeBack()
  }
  expect(await queue.probe('kube-probe/1.36')).toBe(200)
})

test('RUN-05: the probe finds the pod ready when the API server is 150 ms away', async () => {
  const [port = 0] = await freePorts(1)
  // Without a period, Knative would give each probe 100 ms (knative.dev/serving, pkg/queue/readiness/probe.go).
  const queue = await queueProxyTo(port)
  const nearAgain = between.slow(() => true, 150)
  try {
    await startFunction(port)
    expect(await queue.probe('Knative-Activator-Probe')).toBe(200)
  } finally {
    nearAgain()
  }
})

describe('the concurrency limit', () => {
  /** How many of these were in the function at once, at the worst moment. */
  const peak = (mints: readonly Anything[]) => {
    const spans = mints.map(({ time, durationMs }) => ({
      from: Date.parse(time) - durationMs,
      to: Date.parse(time),
    }))
    return Math.max(
      ...spans.map(({ from }) => spans.filter((span) => span.from <= from && from < span.to).length),
    )
  }

  test('of 8 slow mints 2 are in the function at a time, and each has its answer', async () => {
    const users = numbered(8)
    const { tenant, direct } = await startPod(users, { containerConcurrency: 2 })
    const atFullSpeed = between.slow(isTokenReview, 300)
    try {
      const minted = await Promise.all(mintEach(tenant, users))
      expect(minted.map(({ answer }) => answer.status)).toEqual(users.map(() => 201))
      const mints = mintsOf(direct, tenant)
      expect(mints).toHaveLength(8)
      expect(peak(mints)).toBe(2)

      // Without the queue-proxy the same eight are there at once: the measure is one.
      const aside = await createTenant(direct)
      await aside.release('Postgres', 'orders', {
        users: Object.fromEntries(users.map((user) => [user, {}])),
      })
      await Promise.all(mintEach(aside, users))
      expect(peak(mintsOf(direct, aside))).toBeGreaterThan(2)
    } finally {
      atFullSpeed()
    }
  })
})

describe('headers and bodies', () => {
  const FORGED = {
    'X-Remote-User': 'admin',
    'X-Remote-Group': 'system:masters',
    'X-Remote-Uid': '0',
    'X-Remote-Extra-Scopes': 'all',
    X_Remote_User: 'admin',
    X_Remote_Group: 'system:masters',
  }

  test('the queue-proxy hands on identity headers of anybody', async () => {
    const heard = Promise.withResolvers<IncomingHttpHeaders>()
    const server = createServer(({ headers }, response) => {
      heard.resolve(headers)
      response.end()
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    cleanups.push(async () => void server.close())
    const queue = await queueProxyTo((server.address() as AddressInfo).port)
    await fetch(queue.origin, { headers: FORGED })
    const sent = Object.entries(FORGED).map(([name, value]) => [name.toLowerCase(), value])
    expect(await heard.promise).toMatchObject(Object.fromEntries(sent))
  })

  test('which mean nobody: without a token a mint is 401, and a token means whose it is', async () => {
    const { tenant, queue } = await startPod(['web'])
    const mint = `${queue.origin}${tenant.path(CREDENTIAL, 'mint')}`
    const nobody = await fetch(mint, { method: 'POST', headers: FORGED })
    expect(nobody.status).toBe(401)
    const master = { 'Impersonate-User': 'admin', 'Impersonate-Group': 'system:masters' }
    const refused = await Promise.all([
      tenant.mint(CREDENTIAL, { as: 'viewer', headers: FORGED }),
      tenant.mint(CREDENTIAL, { as: 'viewer', headers: master }),
      tenant.mint(CREDENTIAL, { as: 'admin', headers: master }),
    ])
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 403])
    expect(await tenant.secret(CREDENTIAL)).toBeUndefined()

    expect((await tenant.mint(CREDENTIAL, { headers: FORGED })).status).toBe(201)
    const { body } = await tenant.get(CREDENTIAL)
    expect(body.status.password.by).toBe(adminOfTenant(tenant))
  })

  test('25 KB of headers pass, 70 KB of body are a 413', async () => {
    const { tenant } = await startPod(['web'])
    const groups = numbered(400).map((name): [string, string] => [`X-Group-${name}`, 'g'.repeat(50)])
    const minted = await tenant.mint(CREDENTIAL, { headers: Object.fromEntries(groups) })
    expect(minted.status).toBe(201)
    const { resourceVersion } = (await tenant.secret(CREDENTIAL)).metadata

    const spec = { apiVersion: 'core.cozystack.io/v1alpha1', kind: 'CredentialRequest', spec: {} }
    const large = await tenant.mint(CREDENTIAL, { body: `${JSON.stringify(spec)}${' '.repeat(70_000)}` })
    expect(large.status).toBe(413)
    expect(large.body).toMatchObject({ kind: 'Status', code: 413 })
    expect((await tenant.secret(CREDENTIAL)).metadata.resourceVersion).toBe(resourceVersion)
  })

  test('HTTP-01: 5 MB are refused, with a length or in chunks, and the next request is served', async () => {
    const { tenant, queue } = await startPod(['web'])
    const send = async (body: object) => {
      const headers = { Authorization: `Bearer ${tenant.tokens.admin}`, 'Content-Type': 'application/json' }
      const mint = `${queue.origin}${tenant.path(CREDENTIAL, 'mint')}`
      const answer = await fetch(mint, { method: 'POST', headers, ...body })
      await answer.text()
      return answer.status
    }
    const large = ' '.repeat(5_000_000)
    const withLength = () => send({ body: large })
    const inChunks = () => send({ body: new Blob([large]).stream(), duplex: 'half' })
    const statuses = await Promise.all([withLength(), withLength(), inChunks(), inChunks()])
    // When the queue-proxy notices that nobody reads on before it has read the 413, it makes a 502 of that.
    for (const status of statuses) expect([413, 502]).toContain(status)
    expect(await tenant.secret(CREDENTIAL)).toBeUndefined()
    expect((await tenant.mint(CREDENTIAL)).status).toBe(201)
  })
})

describe('a caller who is gone', () => {
  test("a mint that outlives the queue-proxy's timeout is a 504, and writes nothing late", async () => {
    const { tenant, direct } = await startPod(['web', 'other'], { timeoutSeconds: 2 })
    await tenant.mint(CREDENTIAL)
    const { resourceVersion } = (await tenant.secret(CREDENTIAL)).metadata
    const goOn = between.hold(isAccessReview)
    try {
      const late = await tenant.mint(CREDENTIAL)
      expect(late.status).toBe(504)
      expect(late.text).toContain('request timeout')
      await expect.poll(() => mintsOf(direct, tenant).at(-1)?.failure?.reason, SOON).toBe('caller_gone')
    } finally {
      goOn()
    }
    await expectNothingLate(tenant, resourceVersion)
  })

  test('a mint whose caller hangs up before the write writes nothing late', async () => {
    const { tenant, direct, queue } = await startPod(['web', 'other'])
    await tenant.mint(CREDENTIAL)
    const { resourceVersion } = (await tenant.secret(CREDENTIAL)).metadata
    const seen = between.calls().length
    const hangUp = new AbortController()
    const goOn = between.hold(isAccessReview)
    try {
      const mint = fetch(`${queue.origin}${tenant.path(CREDENTIAL, 'mint')}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${tenant.tokens.admin}` },
        signal: hangUp.signal,
      })
      await expect.poll(() => between.calls().slice(seen).filter(isAccessReview), SOON).toHaveLength(1)
      hangUp.abort()
      await expect(mint).rejects.toThrow()
      await expect.poll(() => mintsOf(direct, tenant).at(-1)?.failure?.reason, SOON).toBe('caller_gone')
    } finally {
      goOn()
    }
    await expectNothingLate(tenant, resourceVersion)
  })

  /** Another mint goes all the way meanwhile: what was to come would have come. */
  async function expectNothingLate(tenant: Tenant, resourceVersion: string) {
    const seen = between.calls().length
    expect((await tenant.mint('postgres-orders.other')).status).toBe(201)
    const writes = between.calls().slice(seen).filter(isSecretWrite)
    expect(writes).toEqual([`POST /api/v1/namespaces/${tenant.namespace}/secrets`])
    expect((await tenant.secret(CREDENTIAL)).metadata.resourceVersion).toBe(resourceVersion)
  }
})

describe('the end of a pod', () => {
  const USERS = numbered(200)
  const EARLY = USERS.slice(0, 100)
  const LATE = USERS.slice(100)

  /** What is stored is what was answered: each password fits, and where none was shown there is no Secret. */
  async function expectAccountedFor(tenant: Tenant, mints: readonly { user: string; answer: Answer }[]) {
    const { items } = await tenant.admin.get(`/api/v1/namespaces/${tenant.namespace}/secrets`)
    const stored = new Map<string, Anything>(items.map((secret: Anything) => [secret.metadata.name, secret]))
    for (const { user, answer } of mints) {
      const secret = stored.get(`postgres-orders.${user}.account`)
      if (answer.status === 201) expect(fits(secret, answer), user).toBe(true)
      else expect(secret, user).toBeUndefined()
    }
  }

  test('RUN-01: as Knative does it, none of 200 mints is lost, those that come after SIGTERM included', async () => {
    const { tenant, direct, queue } = await startPod(USERS, {}, { MINTONCE_DRAIN_SECONDS: '3' })
    const early = mintEach(tenant, EARLY)
    await expect.poll(() => mintsOf(direct, tenant).length, SOON).toBeGreaterThan(5)

    // The kubelet does both at once: SIGTERM to the queue-proxy, and the function's preStop hook. The function itself
    // gets SIGTERM when the hook has returned.
    const ended = queue.terminate()
    const drained = queue.waitForDrain()
    expect(mintsOf(direct, tenant).length).toBeLessThan(100)
    await expect.poll(() => queue.probe('kube-probe/1.36'), SOON).toBe(503)
    const mints = await Promise.all([...early, ...mintEach(tenant, LATE)])
    expect(mints.map(({ answer }) => answer.status)).toEqual(USERS.map(() => 201))

    expect(await drained).toBe(200)
    await direct.stop()
    expect(await ended).toBe(0)
    await expectAccountedFor(tenant, mints)
  })

  test('RUN-01: when the function goes first, each mint is answered or refused, and what is refused is not stored', async () => {
    // As when its container alone is restarted: the queue-proxy goes on sending.
    const { tenant, direct } = await startPod(USERS)
    const early = mintEach(tenant, EARLY)
    await expect.poll(() => mintsOf(direct, tenant).length, SOON).toBeGreaterThan(5)
    const stopped = direct.stop()
    const mints = await Promise.all([...early, ...mintEach(tenant, LATE)])
    await stopped

    const statuses = new Set(mints.map(({ answer }) => answer.status))
    expect([...statuses].sort()).toEqual([201, 502])
    await expectAccountedFor(tenant, mints)
  })
})
