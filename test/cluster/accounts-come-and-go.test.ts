import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type SweepReport, sweep } from '../../src/credentials/sweep.ts'
import { type Anything, decode } from '../contract/kube.ts'
import { createTenant, type Tenant } from '../contract/tenant.ts'
import { accepts } from '../contract/verify.ts'
import { BY, syncServicesOver, type Watched } from '../helpers/sync-cluster.ts'
import { eventually } from './eventually.ts'
import {
  type Answer,
  accountSecretsIn,
  collectorHasPassed,
  isAsked,
  landed,
  releasesIn,
  startWebhooked,
  type Webhooked,
} from './webhooked.ts'

/** An account that leaves a release, and comes back: by the webhooks, by sweeps, and with the collector at work. */

const GRACE_MS = 600_000
const UNDECLARED_SINCE = 'credentials.cozystack.io/undeclared-since'
const ORIGIN = 'credentials.cozystack.io/origin'

let webhooked: Webhooked
let tenant: Tenant
let watched: Watched
/** By how much the clock of sweeps is ahead. */
let passed = 0

beforeAll(async () => {
  webhooked = await startWebhooked()
  watched = syncServicesOver(webhooked.api.asFunction, {
    now: () => Date.now() + passed,
    randomBytes: (length) => new Uint8Array(randomBytes(length)),
    graceMs: GRACE_MS,
  })
})
afterAll(() => webhooked?.stop())
beforeEach(() => {
  passed = 0
})

async function swept(): Promise<SweepReport> {
  const done = await sweep(watched.services, { by: BY })
  if (!done.ok) throw new Error(done.failure.reason)
  expect(done.value.failures).toBe(0)
  return done.value
}

/** One with a verifier that an operator reads, and one whose verifiers are values of the chart. */
describe.each(['Postgres', 'MariaDB', 'ClickHouse'])('an account of a %s', (kind) => {
  const release = `${kind.toLowerCase()}-orders`
  let before: Anything
  let password: string

  const at = () => `${releasesIn(tenant.namespace)}/${release}`
  const stored = async () => (await webhooked.send('GET', at())).body
  const declare = (users: object): Promise<Answer> =>
    webhooked.send('PATCH', at(), { spec: { values: { users } } })
  const remove = () => declare({ web: null })
  const putBack = () => declare({ web: {} })
  const web = () => tenant.secret(`${release}.web`)
  const lands = async () => {
    const status = landed(await stored())
    expect((await webhooked.send('PATCH', `${at()}/status`, { status })).status).toBe(200)
  }
  const wiredTo = async (): Promise<readonly string[]> =>
    ((await stored()).spec.valuesFrom ?? []).map(({ name }: Anything) => name)

  /** A landed release with two accounts, one of which somebody holds the password of. */
  beforeEach(async () => {
    tenant = await createTenant(webhooked.backend)
    await tenant.release(kind, 'orders', { users: { web: {}, report: {} } })
    await swept()
    const { status, body } = await tenant.mint(`${release}.web`)
    expect(status).toBe(201)
    password = body.status.password
    await lands()
    before = await web()
    expect(await accountSecretsIn(webhooked, tenant.namespace)).toHaveLength(2)
  })

  // Sweeps are of all namespaces.
  afterEach(() => webhooked.send('DELETE', at()))

  /** Nothing is lost: it is the same object with the same value, of this release, and nothing waits to delete it. */
  async function expectKept(): Promise<void> {
    await collectorHasPassed(webhooked, tenant.namespace)
    const { metadata, data } = await web()
    expect(metadata.uid).toBe(before.metadata.uid)
    expect(data).toEqual(before.data)
    expect(accepts(decode(data.password), password)).toBe(true)
    expect(metadata.ownerReferences).toEqual(before.metadata.ownerReferences)
    expect(metadata.annotations).toEqual(before.metadata.annotations)
    const accounts = [`${release}.report.account`, `${release}.web.account`]
    expect(await wiredTo()).toEqual(kind === 'ClickHouse' ? accounts : [])
    // And so it stays, however much time passes.
    await lands()
    passed += 10 * GRACE_MS
    expect(await swept()).toMatchObject({ marked: 0, deleted: 0, created: 0 })
    expect((await web()).metadata.uid).toBe(before.metadata.uid)
  }

  test('that is removed keeps its Secret while the release has not landed, and for as long again as there is', async () => {
    expect((await remove()).status).toBe(200)
    expect(await wiredTo()).toEqual(kind === 'ClickHouse' ? [`${release}.report.account`] : [])
    // Flux has not dealt with it, however long that takes.
    passed += 10 * GRACE_MS
    expect(await swept()).toMatchObject({ synced: 0, marked: 0, deleted: 0 })
    expect(await web()).toEqual(before)
    passed = 0

    await lands()
    expect(await swept()).toMatchObject({ marked: 1, deleted: 0 })
    passed += GRACE_MS - 5000
    expect(await swept()).toMatchObject({ marked: 0, deleted: 0 })
    expect((await web()).data).toEqual(before.data)
    passed += 5000
    expect(await swept()).toMatchObject({ marked: 0, deleted: 1 })
    expect(await web()).toBeUndefined()
    expect(await tenant.secret(`${release}.report`)).toBeDefined()

    // After that it is another account: with a Secret again before the write returns, and no password of before.
    expect((await putBack()).status).toBe(200)
    const { metadata, data } = await web()
    expect(metadata.annotations[ORIGIN]).toBe('NotIssued')
    expect(accepts(decode(data.password), password)).toBe(false)
  })

  test('that is put back before Flux has looked has lost nothing', async () => {
    await remove()
    await swept()
    expect((await putBack()).status).toBe(200)
    await expectKept()
  })

  test('that is put back when the release has landed, before a sweep has seen it, has lost nothing', async () => {
    await remove()
    await lands()
    expect((await putBack()).status).toBe(200)
    await expectKept()
  })

  test('that is put back when it is marked has lost nothing, and its mark is gone before the write returns', async () => {
    await remove()
    await lands()
    expect(await swept()).toMatchObject({ marked: 1 })
    expect((await web()).metadata.annotations).toHaveProperty([UNDECLARED_SINCE])
    expect((await putBack()).status).toBe(200)
    expect((await web()).metadata.annotations).not.toHaveProperty([UNDECLARED_SINCE])
    await expectKept()
  })

  test('that is put back when its time is over, before the sweep that would delete it, has lost nothing', async () => {
    await remove()
    await lands()
    await swept()
    passed += GRACE_MS + 1000
    expect((await putBack()).status).toBe(200)
    expect(await swept()).toMatchObject({ deleted: 0 })
    await expectKept()
  })

  test('that is removed again after that has all of its time again', async () => {
    await remove()
    await lands()
    await swept()
    passed += GRACE_MS - 5000
    await putBack()
    await remove()
    await lands()
    expect(await swept()).toMatchObject({ marked: 1, deleted: 0 })
    passed += GRACE_MS - 5000
    expect(await swept()).toMatchObject({ marked: 0, deleted: 0 })
    expect((await web()).data).toEqual(before.data)
  })

  test('that is put back by a release whose webhooks nobody answers for is found by the next sweep', async () => {
    await remove()
    await lands()
    await swept()
    // As a restored or replicated object would come: values change without a review.
    const { body } = await webhooked.send('GET', `${CONFIGURATIONS}/mintonce`)
    await webhooked.send('DELETE', `${CONFIGURATIONS}/mintonce`)
    try {
      await eventually('nobody is asked', async () => !(await isAsked(webhooked)))
      expect((await putBack()).status).toBe(200)
    } finally {
      const { resourceVersion: _, uid: __, ...metadata } = body.metadata
      expect((await webhooked.send('POST', CONFIGURATIONS, { ...body, metadata })).status).toBe(201)
      await eventually('it is asked again', () => isAsked(webhooked))
    }
    passed += GRACE_MS + 1000
    expect(await swept()).toMatchObject({ adopted: 1, deleted: 0 })
    await expectKept()
  })
})

const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'

/** Milliseconds by which the write is ahead of the sweep. */
const AHEAD = [500, 40, 20, 10, 0, -10, -20, -30, -40, -500]

test('an account put back at the moment of the sweep that would delete it is whole, 30 times', async () => {
  tenant = await createTenant(webhooked.backend)
  const path = `${releasesIn(tenant.namespace)}/postgres-orders`
  const declare = (users: object) => webhooked.send('PATCH', path, { spec: { values: { users } } })
  const lands = async () => {
    const status = landed((await webhooked.send('GET', path)).body)
    await webhooked.send('PATCH', `${path}/status`, { status })
  }
  await tenant.release('Postgres', 'orders', { users: { web: {} } })
  const outcomes: string[] = []
  for (const ahead of [...AHEAD, ...AHEAD, ...AHEAD]) {
    await swept()
    const { status, body } = await tenant.mint('postgres-orders.web')
    expect(status).toBe(201)
    const before = await tenant.secret('postgres-orders.web')
    await declare({ web: null })
    await lands()
    passed = 0
    expect(await swept()).toMatchObject({ marked: 1 })
    passed = GRACE_MS + 1000
    const [put, report] = await Promise.all([
      after(Math.max(0, -ahead), () => declare({ web: {} })),
      after(Math.max(0, ahead), swept),
    ])
    expect(put.status).toBe(200)
    const { metadata, data } = await tenant.secret('postgres-orders.web')
    const isKept = metadata.uid === before.metadata.uid
    // Either it came in time, and all is as it was; or it is a new account, of which nobody has a password.
    expect(report.deleted).toBe(isKept ? 0 : 1)
    expect(accepts(decode(data.password), body.status.password)).toBe(isKept)
    expect(metadata.annotations[ORIGIN]).toBe(isKept ? 'Minted' : 'NotIssued')
    outcomes.push(isKept ? 'kept' : 'new')
  }
  // Both sides have won.
  expect(new Set(outcomes)).toEqual(new Set(['kept', 'new']))
})

async function after<T>(milliseconds: number, work: () => Promise<T>): Promise<T> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds))
  return work()
}
