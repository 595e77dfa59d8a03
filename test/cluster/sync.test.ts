import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type SyncReport, sync } from '../../src/credentials/sync.ts'
import { type RealApiServer, startRealApiServer } from '../contract/backends/real-api-server.ts'
import { type Admin, adminOf } from '../contract/kube.ts'
import { withFaults } from '../helpers/faults.ts'
import { BY, GRACE_MS, syncServicesOver, TENANT } from '../helpers/sync-cluster.ts'
import {
  aboutToDelete,
  type Place,
  placeOn,
  RELEASE,
  RELEASES,
  SECRETS,
  UNDECLARED_SINCE,
  users,
} from '../helpers/sync-place.ts'
import { eventually } from './eventually.ts'

/** Syncs of one release by a real API server, with its garbage collector, with the rights that are shipped. */

const NOTHING: SyncReport = { created: [], adopted: [], marked: [], deleted: [], warnings: 0 }
/** The collector takes what has a stale owner within a second or two. */
const COLLECTED_MS = 3000

let api: RealApiServer
let admin: Admin
let place: Place

beforeAll(async () => {
  api = await startRealApiServer()
  admin = adminOf(api.admin)
  await admin.create('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: TENANT },
  })
})
afterAll(() => api?.stop())

beforeEach(async () => {
  for (const path of [RELEASES, SECRETS]) {
    for (const { metadata } of (await admin.get(path)).items) {
      // The collector may have been faster.
      await admin.remove(`${path}/${metadata.name}`).catch(() => undefined)
    }
  }
  let passed = 0
  const way = withFaults(api.asFunction)
  const watched = syncServicesOver(way.fetch, {
    now: () => Date.now() + passed,
    randomBytes: (length) => new Uint8Array(randomBytes(length)),
    graceMs: GRACE_MS,
  })
  place = placeOn({
    ...watched,
    admin,
    way,
    pass: (milliseconds) => {
      passed += milliseconds
    },
  })
})

const both = () =>
  Promise.all([1, 2].map(() => sync(place.services, { namespace: TENANT, release: RELEASE }, { by: BY })))

describe('a release that was never deployed', () => {
  test('is seeded once, and the collector and a second sync find nothing to do', async () => {
    await place.orders(users('report', 'web'))
    expect(await place.sync()).toEqual({ ...NOTHING, created: [`${RELEASE}.report`, `${RELEASE}.web`] })
    const before = await place.secrets()
    await sleep(COLLECTED_MS)
    expect(await place.sync()).toEqual(NOTHING)
    expect(await place.secrets()).toEqual(before)
    expect(place.writes()).toHaveLength(2)
  })

  test('with as many accounts as there may be is seeded whole, by two syncs at once, each once', async () => {
    const names = Array.from({ length: 252 }, (_, index) => `u${index}`)
    await place.orders(users(...names))
    const created = (await both()).flatMap((each) =>
      each.ok && each.value.is === 'synced' ? each.value.report.created : ['failed'],
    )
    expect(created.toSorted()).toEqual(names.map((name) => `${RELEASE}.${name}`).toSorted())
    expect(await place.secrets()).toHaveLength(252)
    expect(await place.sync()).toEqual(NOTHING)
  })

  test('has a leftover replaced whose password nobody knows, and no other', async () => {
    await place.orders(users('report', 'web'))
    const change = { owner: null, annotation: 'b5b2f5ab-0000-4000-8000-000000000000' }
    const report = await place.put('report', change)
    const web = await place.put('web', { ...change, origin: 'NotIssued' })
    expect(await place.sync()).toEqual({ ...NOTHING, created: [`${RELEASE}.web`], warnings: 1 })
    expect((await place.secret('web')).metadata.uid).not.toBe(web.metadata.uid)
    expect(await place.secret('report')).toEqual(report)
  })
})

describe('a seed without an owner', () => {
  test('is adopted with its value, and goes with its release', async () => {
    await place.orders(users('web'))
    const before = await place.put('web', { owner: null, origin: 'NotIssued', more: { immutable: true } })
    expect(await place.sync()).toEqual({ ...NOTHING, adopted: [`${RELEASE}.web`] })
    expect((await place.secret('web')).data).toEqual(before.data)
    await sleep(COLLECTED_MS)
    expect((await place.secret('web')).metadata.uid).toBe(before.metadata.uid)
    await admin.remove(`${RELEASES}/${RELEASE}`)
    await eventually('it is collected', async () => (await place.secrets()).length === 0)
    expect(await place.outcome()).toEqual({ is: 'absent' })
  })
})

describe('an account that is no longer declared', () => {
  test('is marked, and deleted ten minutes later', async () => {
    await aboutToDelete(place)
    await place.changeSecret('old', ({ metadata }) => delete metadata.annotations[UNDECLARED_SINCE])
    expect(await place.sync()).toEqual({ ...NOTHING, marked: [`${RELEASE}.old`] })
    expect(await place.sync()).toEqual(NOTHING)
    place.pass(GRACE_MS + 1000)
    expect(await place.sync()).toEqual({ ...NOTHING, deleted: [`${RELEASE}.old`] })
    expect((await place.secrets()).map(({ metadata }) => metadata.name)).toEqual([`${RELEASE}.web.account`])
  })

  test('and is put back is what it was, without its mark', async () => {
    await aboutToDelete(place)
    const before = await place.secret('old')
    await place.changeRelease(({ spec }) => Object.assign(spec, { values: users('old', 'web') }))
    expect(await place.sync()).toEqual({ ...NOTHING, adopted: [`${RELEASE}.old`] })
    const after = await place.secret('old')
    expect({ data: after.data, uid: after.metadata.uid }).toEqual({
      data: before.data,
      uid: before.metadata.uid,
    })
    expect(after.metadata.annotations).not.toHaveProperty([UNDECLARED_SINCE])
  })

  test('is not deleted once its release is being deleted', async () => {
    await aboutToDelete(place)
    await place.changeRelease(({ metadata }) => Object.assign(metadata, { finalizers: ['example.org/keep'] }))
    const { metadata } = await admin.get(`${RELEASES}/${RELEASE}`)
    await admin.remove(`${RELEASES}/${RELEASE}`)
    // As `rest.BeforeDelete` does it: what read the release before sees that it was written.
    expect((await admin.get(`${RELEASES}/${RELEASE}`)).metadata.generation).toBe(metadata.generation + 1)
    expect(await place.sync()).toEqual(NOTHING)
    expect(place.writes()).toEqual([])
    await place.changeRelease((release) => Object.assign(release.metadata, { finalizers: [] }))
  })
})

describe('a write whose answer is lost', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['POST', () => place.orders(users('web'))],
    ['DELETE', () => aboutToDelete(place)],
    [
      'PUT',
      async () => {
        await place.orders(users('web'))
        await place.put('web', { owner: null })
      },
    ],
  ])('is found done by the next sync: %s', async (method, given) => {
    await given()
    place.way.add({ when: (call) => call.method === method, fault: { breaks: 'after' }, times: 1 })
    await expect(place.sync()).rejects.toThrow('kube_unreachable')
    const after = await place.secrets()
    expect(await place.sync()).toEqual(NOTHING)
    expect(await place.secrets()).toEqual(after)
  })
})

test('what stands is one Event, however often it is said, and another when something else is', async () => {
  await place.orders(users('web'))
  await place.deployed()
  await place.sync()
  await place.sync()
  await place.changeRelease(({ spec }) => Object.assign(spec, { values: users('report', 'web') }))
  await place.sync()
  // The third names both.
  expect(place.events).toHaveLength(3)
  for (const event of place.events) {
    expect(await place.services.kube.createEvent(event, Date.now())).toEqual({ ok: true, value: undefined })
  }
  const stored: readonly { readonly note: string }[] = (
    await admin.get(`/apis/events.k8s.io/v1/namespaces/${TENANT}/events`)
  ).items
  expect(stored.map(({ note }) => /user (\w+)/.exec(note)?.[1]).toSorted()).toEqual(['report', 'web'])
})
