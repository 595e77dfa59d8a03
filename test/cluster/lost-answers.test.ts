import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createHttpsClient } from '../../src/k8s/node-https.ts'
import { type Admin, type Anything, adminOf, decode } from '../contract/kube.ts'
import { accepts } from '../contract/verify.ts'
import { type ApiProxy, startApiProxy } from '../helpers/api-proxy.ts'
import { type CutProxy, startCutProxy } from '../helpers/cut-proxy.ts'
import { type Aggregated, GROUP, startAggregated } from './aggregated.ts'
import { type AggregatedTenant, createAggregatedTenant } from './aggregated-tenant.ts'
import { registerApiService } from './api-service.ts'

const WEB = 'postgres-orders.web'
const SOON = { interval: 10, timeout: 20_000 }
const USERS = Array.from({ length: 60 }, (_, i) => `user-${i}`)

let aggregated: Aggregated
let between: ApiProxy
let wire: CutProxy
let tenant: AggregatedTenant
let admin: Admin

beforeAll(async () => {
  aggregated = await startAggregated(async ({ plane }) => {
    between = await startApiProxy(createHttpsClient(plane.url, { ca: plane.ca }).fetch)
    return { MINTONCE_KUBE_URL: between.url, MINTONCE_DRAIN_SECONDS: '1' }
  })
  admin = adminOf(aggregated.plane.adminFetch)
  wire = await startCutProxy(aggregated.entry.port)
  await registerApiService(aggregated.plane, wire.port, GROUP)
  tenant = await createAggregatedTenant(aggregated, 'tenant-acme')
  const users = Object.fromEntries(['web', ...USERS].map((name) => [name, {}]))
  await tenant.release('Postgres', 'orders', { users })
})
afterAll(async () => {
  await wire?.stop()
  await aggregated?.stop()
  await between?.stop()
})

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const clean of cleanups.splice(0)) clean()
})

const secretOf = (credential: string): Promise<Anything> =>
  admin.find(`/api/v1/namespaces/tenant-acme/secrets/${credential}.account`)
const mintsOf = async (credential: string): Promise<number> =>
  JSON.parse((await secretOf(credential))?.metadata.annotations['credentials.cozystack.io/history'] ?? '[]')
    .length

/** As an administrator, through the aggregation layer; sent once. */
async function mint(credential: string, body: string) {
  const url = `${aggregated.plane.url}${tenant.path(credential, 'mint')}`
  const headers = { 'Content-Type': 'application/json' }
  const answer = await aggregated.plane.adminFetch(new Request(url, { method: 'POST', headers, body }))
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text: await answer.text() }
}

async function fits(credential: string, text: string): Promise<boolean> {
  const { data } = await secretOf(credential)
  return accepts(decode(data.password), JSON.parse(text).status.password)
}

describe('when the connection breaks after the password was stored', () => {
  test('a mint with a body is not sent again: one password was stored, and the answer says that it is lost', async () => {
    expect(await mint(WEB, '{}')).toMatchObject({ status: 201 })
    const before = await mintsOf(WEB)
    const cut = wire.cutNextAnswer()
    const answer = await mint(WEB, '{}')
    await cut
    expect(answer).toMatchObject({
      status: 503,
      text: expect.stringContaining('error trying to reach service'),
    })
    expect(answer.text).not.toContain('"password"')
    // A client that is invited to would send it again.
    expect(answer.retryAfter).toBeNull()
    await expect.poll(() => mintsOf(WEB), SOON).toBe(before + 1)
    // What is to be done about it.
    const again = await mint(WEB, '{}')
    expect(again.status).toBe(201)
    expect(await fits(WEB, again.text)).toBe(true)
  })

  test('an empty body may be sent again by the aggregator: whoever gets an answer has the password that counts', async () => {
    const before = await mintsOf(WEB)
    const cut = wire.cutNextAnswer()
    const answer = await mint(WEB, '')
    await cut
    await expect.poll(() => mintsOf(WEB), SOON).toBeGreaterThan(before)
    expect([201, 503]).toContain(answer.status)
    if (answer.status === 201) expect(await fits(WEB, answer.text)).toBe(true)
    else expect(answer.text).not.toContain('"password"')
  })
})

test('SIGTERM under load loses no answer', async () => {
  // Each is held where its password is stored, until the process knows that it has to end.
  const isWrite = (call: string) => /^(POST|PUT) .*\/secrets/.test(call)
  const goOn = between.hold(isWrite)
  cleanups.push(goOn)
  const before = between.calls().filter(isWrite).length
  const answers = USERS.map((name) => mint(`postgres-orders.${name}`, '{}'))
  await expect.poll(() => between.calls().filter(isWrite).length, SOON).toBe(before + USERS.length)
  const ended = aggregated.entry.stop()
  await expect.poll(aggregated.entry.output, SOON).toContain('"event":"draining"')
  goOn()
  const minted = await Promise.all(answers)
  expect(minted.map(({ status }) => status)).toEqual(USERS.map(() => 201))
  for (const [index, { text }] of minted.entries()) {
    expect(await fits(`postgres-orders.${USERS[index]}`, text)).toBe(true)
  }
  await ended
})
