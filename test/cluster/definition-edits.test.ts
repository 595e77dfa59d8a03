import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sweep } from '../../src/credentials/sweep.ts'
import { type RealApiServer, startRealApiServer } from '../contract/backends/real-api-server.ts'
import { type Admin, type Anything, adminOf } from '../contract/kube.ts'
import { both, EDITS, edited, putLosersSeed, setPath } from '../helpers/definition-edits.ts'
import { withFaults } from '../helpers/faults.ts'
import { BY, GRACE_MS, syncServicesOver, TENANT } from '../helpers/sync-cluster.ts'
import {
  DECLARED_BY,
  DEFINITION,
  declaredByNow,
  NOTHING,
  type Place,
  placeOn,
  RELEASE,
  RELEASES,
  SECRETS,
  UNDECLARED_SINCE,
  users,
} from '../helpers/sync-place.ts'

/** Definitions and releases that are edited on a real API server, with the rights that are shipped: who is taken away. */

let api: RealApiServer
let admin: Admin
let place: Place
let definition: Anything

beforeAll(async () => {
  api = await startRealApiServer()
  admin = adminOf(api.admin)
  await admin.create('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: TENANT },
  })
  definition = await admin.get(DEFINITION)
})
afterAll(() => api?.stop())

beforeEach(async () => {
  for (const path of [RELEASES, SECRETS]) {
    for (const { metadata } of (await admin.get(path)).items) {
      // The collector may have been faster.
      await admin.remove(`${path}/${metadata.name}`).catch(() => undefined)
    }
  }
  await admin.change(DEFINITION, (stored) => {
    stored.spec = definition.spec
  })
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

const swept = async () => {
  const done = await sweep(place.services, { by: BY })
  if (!done.ok) throw new Error(done.failure.reason)
  return done.value
}

/** A call and a tick, and both again after the grace period: what they have marked and deleted. */
async function lookTwice(): Promise<number> {
  let taken = 0
  for (let look = 1; look <= 2; look += 1) {
    const { marked, deleted } = await place.sync()
    const tick = await swept()
    expect(tick.failures).toBe(0)
    taken += marked.length + deleted.length + tick.marked + tick.deleted + tick.orphansDeleted
    place.pass(GRACE_MS + 1000)
  }
  return taken
}

const declare = async (values: object): Promise<void> => {
  await place.changeRelease(({ spec }) => Object.assign(spec, { values }))
  await place.deployed()
}

describe('nobody is taken away when', () => {
  test.each(EDITS)('$what', async (edit) => {
    await edited(place, edit)
    const before = await both(place)
    expect(await lookTwice()).toBe(0)
    expect(await both(place)).toEqual(before)
    expect(place.writes()).toEqual([])
    expect([...new Set(place.reasons())]).toEqual(edit.says === undefined ? [] : ['AccountSecretKept'])
  })

  test('a definition is edited after the mark, and before the delete', async () => {
    await place.orders(users('web', 'old'))
    await place.put('web')
    await place.put('old')
    await declare(users('web'))
    expect((await place.sync()).marked).toEqual([`${RELEASE}.old`])
    await setPath(place, 'usres')
    const before = await both(place)
    place.pass(GRACE_MS + 1000)
    expect(await lookTwice()).toBe(0)
    expect(await both(place)).toEqual(before)
    // Put right, it is the release again that has left it out.
    await setPath(place, 'users')
    expect((await place.sync()).deleted).toEqual([`${RELEASE}.old`])
  })
})

test('a definition that is edited, with its releases, is written down once, and goes by its new rules then', async () => {
  await place.orders(users('web', 'old'))
  await place.put('web')
  await place.put('old')
  await place.deployed()
  const before = await both(place)
  await setPath(place, 'accounts')
  await declare({ accounts: { web: {}, old: {} } })
  expect(await place.sync()).toMatchObject({ adopted: [`${RELEASE}.old`, `${RELEASE}.web`] })
  expect(await place.sync()).toEqual(NOTHING)
  expect(place.writes()).toHaveLength(2)
  const now = await declaredByNow(admin)
  for (const [index, { data, metadata }] of (await both(place)).entries()) {
    expect([metadata.uid, data]).toEqual([before[index]?.metadata.uid, before[index]?.data])
    expect(metadata.annotations[DECLARED_BY]).toBe(now)
  }
  await declare({ accounts: { web: {} } })
  expect((await place.sync()).marked).toEqual([`${RELEASE}.old`])
  place.pass(GRACE_MS + 1000)
  expect((await place.sync()).deleted).toEqual([`${RELEASE}.old`])
})

test('one that is put right again has changed nothing', async () => {
  await place.orders(users('web', 'old'))
  await place.put('web')
  await place.put('old')
  await place.deployed()
  const before = await both(place)
  await setPath(place, 'usres')
  expect(await place.sync()).toEqual({ ...NOTHING, warnings: 2 })
  await setPath(place, 'users')
  expect(await place.sync()).toEqual(NOTHING)
  expect(await both(place)).toEqual(before)
  expect(place.writes()).toEqual([])
})

test('a Secret from before is adopted once while it is declared, and kept while it is not', async () => {
  await place.orders(users('web'))
  await place.deployed()
  const web = await place.put('web', { declaredBy: null })
  const old = await place.put('old', {
    declaredBy: null,
    annotations: { [UNDECLARED_SINCE]: '2026-01-01T00:00:00Z' },
  })
  expect(await place.sync()).toEqual({ ...NOTHING, adopted: [`${RELEASE}.web`], warnings: 1 })
  expect(await lookTwice()).toBe(0)
  expect(place.writes()).toHaveLength(1)
  const [after, kept] = await both(place)
  expect([after?.metadata.uid, after?.data]).toEqual([web.metadata.uid, web.data])
  expect(kept).toEqual(old)
})

test('the seed of a create that lost to another of its name is the living release’s, and no orphan', async () => {
  await place.orders(users('web'))
  await place.deployed()
  const before = await putLosersSeed(place)
  expect(await place.sync()).toEqual({ ...NOTHING, adopted: [`${RELEASE}.web`] })
  expect(await lookTwice()).toBe(0)
  const after = await place.secret('web')
  expect([after.metadata.uid, after.data]).toEqual([before.metadata.uid, before.data])
  const { metadata } = await admin.get(`${RELEASES}/${RELEASE}`)
  expect(after.metadata.ownerReferences).toMatchObject([{ uid: metadata.uid }])
})

test('nothing is seeded for a release that is ready without a history', async () => {
  await place.orders(users('web'))
  await place.deployed({ history: [] })
  expect(await place.sync()).toEqual({ ...NOTHING, warnings: 1 })
  expect(place.reasons()).toEqual(['AccountSecretMissing'])
  expect(await place.secrets()).toEqual([])
})
