import { beforeEach, describe, expect, test } from 'vitest'
import type { Anything } from '../contract/kube.ts'
import { GRACE_MS } from '../helpers/sync-cluster.ts'
import {
  NOTHING,
  RELEASE,
  RELEASES,
  type SyncPlace,
  syncPlace,
  UNDECLARED_SINCE,
  users,
} from '../helpers/sync-place.ts'

let place: SyncPlace
beforeEach(async () => {
  place = await syncPlace()
})

/** A deployed release with `web` and `old`, both minted, that now declares these. */
async function declareOnly(...names: readonly string[]): Promise<void> {
  await place.orders(users('web', 'old'))
  await place.put('web')
  await place.put('old')
  await declare(users(...names))
}

async function declare(values: object): Promise<void> {
  await place.changeRelease((release) => {
    release.spec.values = values
  })
  await place.deployed()
}

const stands = async (account = 'old') => (await place.secret(account)) !== undefined

describe('an account that is no longer declared', () => {
  test('is marked, and deleted ten minutes later, and nothing else is touched', async () => {
    await declareOnly('web')
    const before = await place.secret('web')
    const old = await place.secret('old')
    expect(await place.sync()).toEqual({ ...NOTHING, marked: [`${RELEASE}.old`] })
    expect(await place.secret('old')).toMatchObject({
      data: old.data,
      metadata: {
        uid: old.metadata.uid,
        annotations: { ...old.metadata.annotations, [UNDECLARED_SINCE]: '2026-10-02T09:14:07Z' },
      },
    })
    place.pass(GRACE_MS - 1000)
    expect(await place.sync()).toEqual(NOTHING)
    place.pass(1000)
    expect(await place.sync()).toEqual({ ...NOTHING, deleted: [`${RELEASE}.old`] })
    expect(await stands()).toBe(false)
    expect(await place.sync()).toEqual(NOTHING)
    expect(await place.secret('web')).toEqual(before)
    expect(place.writes()).toEqual([
      `PUT secrets/${RELEASE}.old.account`,
      `DELETE secrets/${RELEASE}.old.account`,
    ])
    expect(place.events).toEqual([])
  })

  test('is deleted as exactly the object that was read', async () => {
    await declareOnly('web')
    await place.sync()
    place.pass(GRACE_MS)
    await place.sync()
    const { uid, resourceVersion } = JSON.parse(
      place.way.calls().find(({ method }) => method === 'DELETE')?.body ?? '{}',
    ).preconditions
    expect([typeof uid, Number(resourceVersion) > 0]).toEqual(['string', true])
  })

  test('is looked at anew when the clock was set back', async () => {
    await declareOnly('web')
    await place.sync()
    place.pass(-3_600_000)
    expect(await place.sync()).toEqual({ ...NOTHING, marked: [`${RELEASE}.old`] })
    place.pass(GRACE_MS - 1000)
    expect(await place.sync()).toEqual(NOTHING)
    expect(await stands()).toBe(true)
  })
})

describe('put back', () => {
  test('before anybody looked: nothing happens', async () => {
    await declareOnly('web')
    await declare(users('web', 'old'))
    expect(await place.sync()).toEqual(NOTHING)
  })

  test.each([
    ['at once', 0],
    ['after ten minutes, before the second look', GRACE_MS],
    ['after a day', 86_400_000],
  ])('%s it loses its mark, and its value and record are what they were', async (_, milliseconds) => {
    await declareOnly('web')
    const before = await place.secret('old')
    await place.sync()
    place.pass(milliseconds)
    await declare(users('web', 'old'))
    expect(await place.sync()).toEqual({ ...NOTHING, adopted: [`${RELEASE}.old`] })
    const after = await place.secret('old')
    expect(after.data).toEqual(before.data)
    expect(after.metadata.annotations).toEqual(before.metadata.annotations)
    // The ten minutes begin again.
    await declare(users('web'))
    expect(await place.sync()).toEqual({ ...NOTHING, marked: [`${RELEASE}.old`] })
    expect(await place.sync()).toEqual(NOTHING)
    expect(await stands()).toBe(true)
  })

  test('after the second look it is missing, and nobody makes a new one in silence', async () => {
    await declareOnly('web')
    await place.sync()
    place.pass(GRACE_MS)
    await place.sync()
    await declare(users('web', 'old'))
    expect(await place.sync()).toEqual({ ...NOTHING, warnings: 1 })
    expect(place.reasons()).toEqual(['AccountSecretMissing'])
  })

  test('while Flux has not dealt with it yet, it loses its mark all the same', async () => {
    await declareOnly('web')
    await place.sync()
    await place.changeRelease((release) => {
      release.spec.values = users('web', 'old')
    })
    expect((await place.sync()).adopted).toEqual([`${RELEASE}.old`])
  })
})

const status = (more: object) => () => place.deployed(more)
const ready = (more: object, ...others: readonly object[]) =>
  status({ conditions: [{ type: 'Ready', status: 'True', observedGeneration: 2, ...more }, ...others] })
const spec = (change: (spec: Anything) => void) => async () => {
  await place.changeRelease((release) => change(release.spec))
  await place.deployed()
}
const values = (given: unknown) => spec((each) => Object.assign(each, { values: given }))

/** Each row alone takes away one of the things that must be so. */
const KEPT: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['Flux has not seen this generation', status({ observedGeneration: 1 })],
  ['the generation that it saw is a text', status({ observedGeneration: '2' })],
  ['Flux has said nothing', status({ observedGeneration: undefined })],
  ['the last action failed', ready({ status: 'False' })],
  ['nobody knows how the last action went', ready({ status: 'Unknown' })],
  ['it was ready in an earlier generation', ready({ observedGeneration: 1 })],
  ['an action is under way', ready({}, { type: 'Reconciling', status: 'True' })],
  ['there are no conditions', status({ conditions: [] })],
  ['the release is suspended', spec((each) => Object.assign(each, { suspend: true }))],
  [
    'the release takes values from it',
    spec((each) => Object.assign(each, { valuesFrom: [{ kind: 'Secret', name: `${RELEASE}.old.account` }] })),
  ],
  ['a sibling is malformed', values({ users: { web: 'x' } })],
  ['a sibling is a list', values({ users: { web: [] } })],
  ['the users are a list', values({ users: ['web'] })],
  ['the values are a text', values('users')],
  ['a sibling has a name of 64 bytes', values({ users: { ['x'.repeat(64)]: {} } })],
  ['there are more than 256 accounts', values(users(...Array.from({ length: 253 }, (_, n) => `u${n}`)))],
  ['a user of another case is declared', values(users('OLD'))],
  ['two users of its name are declared', values(users('OLD', 'Old'))],
]

describe('stays, unmarked and undeleted, while', () => {
  test.each(KEPT)('%s', async (_, given) => {
    await declareOnly('web')
    await given()
    const before = await place.secret('old')
    place.pass(GRACE_MS)
    await place.sync()
    expect(await place.secret('old')).toEqual(before)
  })

  test.each(KEPT)('%s, also when it was marked long ago', async (_, given) => {
    await declareOnly('web')
    await place.sync()
    place.pass(GRACE_MS)
    await given()
    const before = await place.secret('old')
    await place.sync()
    expect(await place.secret('old')).toEqual(before)
  })
})

test('what the malformed one keeps from a delete it does not keep from its siblings', async () => {
  await place.orders({ users: { web: {}, bad: [], report: {} } })
  await place.put('web', { owner: null })
  expect(await place.sync()).toEqual({
    ...NOTHING,
    adopted: [`${RELEASE}.web`],
    created: [`${RELEASE}.report`],
    warnings: 1,
  })
  expect(place.events).toMatchObject([
    { reason: 'AccountRefused', note: 'spec.values.users["bad"]: must be a map, and is a list' },
  ])
})

describe('names that collide', () => {
  test('are seeded for neither, and the Secret that one of them has is not taken away', async () => {
    await place.orders(users('web', 'WEB', 'report'))
    const before = await place.put('web')
    expect(await place.sync()).toEqual({ ...NOTHING, created: [`${RELEASE}.report`], warnings: 1 })
    await place.deployed()
    for (let look = 1; look <= 2; look += 1) {
      expect(await place.sync()).toEqual({ ...NOTHING, warnings: 1 })
      place.pass(GRACE_MS)
    }
    expect(await place.secret('web')).toEqual(before)
    expect(place.events[0]?.note).toContain('"WEB" and "web"')
  })

  test.each(['postgres', 'Postgres', 'STREAMING-replica', 'app'])(
    'with an account of the platform: %s',
    async (name) => {
      await place.orders(users(name, 'web'))
      expect((await place.sync()).created).toEqual([`${RELEASE}.web`])
      expect(await place.secrets()).toHaveLength(1)
    },
  )
})

describe('a Secret of a release that is no more', () => {
  type Change = Parameters<SyncPlace['put']>[1]

  /** Ordered, deleted and ordered again; what the collector has not come to yet is still there. */
  async function recreated(names: readonly string[], change: Change): Promise<Anything> {
    const { metadata } = await place.orders(users('web'))
    await place.admin.remove(`${RELEASES}/${RELEASE}`)
    await place.orders(users(...names))
    return place.put('web', { owner: metadata.uid, annotation: metadata.uid, ...change })
  }

  test.each([
    ['NotIssued', true],
    ['Revoked', true],
    ['Minted', false],
    ['Migrated', false],
  ])('is replaced for its successor when nobody can know its password: %s, %s', async (origin, replaced) => {
    const before = await recreated(['web'], { origin })
    expect(await place.sync()).toEqual(
      replaced ? { ...NOTHING, created: [`${RELEASE}.web`] } : { ...NOTHING, warnings: 1 },
    )
    const after = await place.secret('web')
    expect(after.metadata.uid !== before.metadata.uid).toBe(replaced)
    expect(after.data.password !== before.data.password).toBe(replaced)
    expect(place.reasons()).toEqual(replaced ? [] : ['AccountSecretLeftover'])
    // The collector finds no owner for the old one, and leaves the new one.
    place.sandbox.collect()
    expect(await stands('web')).toBe(replaced)
  })

  test('is replaced by nobody once its successor was deployed', async () => {
    const before = await recreated(['web'], { origin: 'NotIssued' })
    await place.deployed()
    expect(await place.sync()).toEqual({ ...NOTHING, warnings: 1 })
    expect(await place.secret('web')).toEqual(before)
  })

  test('is not deleted by its successor, which does not declare it', async () => {
    await recreated([], { annotations: { [UNDECLARED_SINCE]: '2026-01-01T00:00:00Z' } })
    await place.deployed()
    expect(await place.sync()).toEqual(NOTHING)
    expect(await stands('web')).toBe(true)
  })

  test('is of a user in another case: replaced before a deployment, left with a warning after it', async () => {
    await place.orders(users('Web', 'Report'))
    await place.put('web', { origin: 'NotIssued' })
    await place.put('report')
    expect(await place.sync()).toEqual({ ...NOTHING, created: [`${RELEASE}.web`], warnings: 1 })
    expect((await place.secret('web')).data.username).toBe(btoa('Web'))
    expect((await place.secret('report')).data.username).toBe(btoa('report'))
  })

  test('is left alone while there is no release, and while it is being deleted', async () => {
    await place.orders(users('web'), {
      metadata: { finalizers: ['finalizers.fluxcd.io'], name: RELEASE, labels: labels() },
    })
    await place.put('web', { owner: null })
    await place.put('old', { annotations: { [UNDECLARED_SINCE]: '2026-01-01T00:00:00Z' } })
    await place.deployed()
    await place.admin.remove(`${RELEASES}/${RELEASE}`)
    expect(await place.sync()).toEqual(NOTHING)
    await place.changeRelease(({ metadata }) => {
      metadata.finalizers = []
    })
    expect(await place.outcome()).toEqual({ is: 'absent' })
    expect(place.writes()).toEqual([])
  })
})

const labels = () => ({
  'apps.cozystack.io/application.group': 'apps.cozystack.io',
  'apps.cozystack.io/application.kind': 'Postgres',
  'apps.cozystack.io/application.name': 'orders',
})
