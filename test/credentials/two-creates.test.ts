import { beforeEach, describe, expect, test } from 'vitest'
import { encodeData } from '../../src/core/text.ts'
import { validate } from '../../src/credentials/admit.ts'
import { sweep } from '../../src/credentials/sweep.ts'
import { type SyncServices, sync } from '../../src/credentials/sync.ts'
import { type Cluster, createOf, newRelease, startCluster } from '../helpers/admission.ts'
import { putLosersSeed } from '../helpers/definition-edits.ts'
import { NOW } from '../helpers/orders.ts'
import { BY, GRACE_MS, syncServicesOver } from '../helpers/sync-cluster.ts'
import {
  DECLARED_BY,
  declaredByNow,
  NOTHING,
  RELEASE,
  SECRETS,
  type SyncPlace,
  syncPlace,
  users,
} from '../helpers/sync-place.ts'

/** Two creates of one name at once: both are admitted, one is stored, and the seed may carry the UID of the other. */

describe('by admission', () => {
  let cluster: Cluster
  beforeEach(() => {
    cluster = startCluster()
  })
  const seedOf = () => cluster.secret('postgres-billing.web.account')
  const billing = () => newRelease('Postgres', 'billing', { users: { web: {} } })
  const later = (): SyncServices => {
    const { randomBytes } = cluster.services.deps
    return syncServicesOver(cluster.fetch, { now: () => NOW + GRACE_MS, randomBytes, graceMs: GRACE_MS })
      .services
  }

  test.each(['the first', 'the second'])('the seed is of %s that is stored, after a sync', async (which) => {
    const first = billing()
    const second = billing()
    await validate(cluster.services, createOf(first), {})
    await validate(cluster.services, createOf(second), {})
    const before = await seedOf()
    const { metadata } = await cluster.store(which === 'the first' ? first : second)
    const target = { namespace: metadata.namespace ?? '', release: 'postgres-billing' }
    expect(await sync(later(), target, { by: BY })).toMatchObject({
      value: { report: { created: [], adopted: ['postgres-billing.web'], warnings: 0 } },
    })
    expect(await sweep(later(), { by: BY })).toMatchObject({ value: { orphansDeleted: 0 } })
    const after = await seedOf()
    expect(after?.data).toEqual(before?.data)
    expect(after?.metadata).toMatchObject({
      uid: before?.metadata.uid,
      ownerReferences: [{ uid: metadata.uid }],
      annotations: { 'credentials.cozystack.io/release-uid': metadata.uid },
    })
  })

  test('a tick that comes before any sync does not take it for an orphan', async () => {
    await validate(cluster.services, createOf(billing()), {})
    const before = await seedOf()
    const { metadata } = await cluster.store(billing())
    expect(await sweep(later(), { by: BY })).toMatchObject({ value: { orphansDeleted: 0, adopted: 1 } })
    const after = await seedOf()
    expect([after?.metadata.uid, after?.data]).toEqual([before?.metadata.uid, before?.data])
    expect(after?.metadata.ownerReferences).toMatchObject([{ uid: metadata.uid }])
  })
})

describe("the loser's seed", () => {
  let place: SyncPlace
  beforeEach(async () => {
    place = await syncPlace()
    await place.orders(users('web'))
  })

  const swept = () => sweep(place.services, { by: BY })
  const change = (metadata: object, more: object = {}) =>
    place.changeSecret('web', (secret) => {
      secret.metadata.annotations = {
        ...secret.metadata.annotations,
        ...Reflect.get(metadata, 'annotations'),
      }
      secret.metadata.labels = { ...secret.metadata.labels, ...Reflect.get(metadata, 'labels') }
      Object.assign(secret.data, more)
    })

  test.each([
    ['before Helm has applied it', async () => undefined],
    ['after Helm has applied it, with that very value', () => place.deployed()],
  ])('is the living release’s, value unchanged, %s', async (_, given) => {
    await given()
    const before = await putLosersSeed(place)
    expect(await place.sync()).toEqual({ ...NOTHING, adopted: [`${RELEASE}.web`] })
    place.pass(GRACE_MS)
    expect(await swept()).toMatchObject({ value: { orphansDeleted: 0, warnings: 0 } })
    expect(await place.sync()).toEqual(NOTHING)
    const { data, metadata } = await place.secret('web')
    expect([metadata.uid, data]).toEqual([before.metadata.uid, before.data])
    expect(metadata.annotations[DECLARED_BY]).toBe(await declaredByNow(place.admin))
    expect(place.events).toEqual([])
  })

  test('is not taken while a chart from before keeps a password that works', async () => {
    const before = await putLosersSeed(place)
    await place.admin.create('/api/v1/namespaces/tenant-acme/secrets', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${RELEASE}-credentials` },
      data: { web: encodeData('hunter2') },
    })
    expect(await place.sync()).toEqual({ ...NOTHING, warnings: 1 })
    expect(await place.secret('web')).toEqual(before)
  })

  const HISTORY = 'credentials.cozystack.io/history'
  const ORIGIN = 'credentials.cozystack.io/origin'
  const LOSER = 'b5b2f5ab-0000-4000-8000-000000000000'
  const minted = JSON.stringify([{ operation: 'Mint', at: '2026-10-01T08:00:00Z', by: 'jane@example.org' }])

  /** Each row alone makes it more, or less, than such a seed. */
  test.each<[string, object, object?]>([
    ['was minted', { annotations: { [ORIGIN]: 'Minted' } }],
    ['was revoked', { annotations: { [ORIGIN]: 'Revoked' } }],
    ['was converted', { annotations: { [ORIGIN]: 'Migrated' } }],
    ['was once minted', { annotations: { [HISTORY]: minted } }],
    ['has no history', { annotations: { [HISTORY]: '[]' } }],
    ['is of another kind', { labels: { 'apps.cozystack.io/application.kind': 'MariaDB' } }],
    ['holds no verifier', {}, { password: btoa('hunter2') }],
    ['is empty', {}, { password: '' }],
    ['is of another user', {}, { username: btoa('Web') }],
  ])('is left alone by a deployed release when it %s', async (_, metadata, data) => {
    await place.deployed()
    await putLosersSeed(place)
    const before = await change(metadata, data)
    expect(await place.sync()).toEqual({ ...NOTHING, warnings: 1 })
    expect(place.reasons()).toEqual(['AccountSecretLeftover'])
    expect(await place.secret('web')).toEqual(before)
  })

  test.each<[string, Parameters<SyncPlace['put']>[1]]>([
    ['has an owner, another release', { owner: LOSER, annotation: LOSER }],
    ['says of no release', { owner: null, annotation: null }],
  ])('is left alone when it %s', async (_, marks) => {
    await place.deployed()
    const created = JSON.stringify([{ operation: 'Create', at: '2026-10-01T08:00:00Z', by: BY }])
    const before = await place.put('web', {
      ...marks,
      origin: 'NotIssued',
      annotations: { [HISTORY]: created },
    })
    expect(await place.sync()).toEqual({ ...NOTHING, warnings: 1 })
    expect(await place.secret('web')).toEqual(before)
  })

  test('is not deleted by a tick whose sync cannot adopt it', async () => {
    const before = await putLosersSeed(place)
    place.pass(GRACE_MS)
    place.way.add({ when: ({ method }) => method === 'PUT', fault: { answer: 500 } })
    expect(await swept()).toMatchObject({ value: { orphansDeleted: 0, failures: 1 } })
    expect(await place.secret('web')).toEqual(before)
  })

  test('goes by a tick where the living release does not declare its account', async () => {
    await putLosersSeed(place)
    await place.changeRelease(({ spec }) => Object.assign(spec, { values: users() }))
    place.pass(GRACE_MS)
    expect(await swept()).toMatchObject({ value: { orphansDeleted: 1, failures: 0 } })
    expect(await place.secret('web')).toBeUndefined()
  })

  test('is left to go when it is going away', async () => {
    await place.deployed()
    await putLosersSeed(place)
    await place.changeSecret('web', ({ metadata }) => {
      metadata.finalizers = ['example.org/slow']
    })
    await place.admin.remove(`${SECRETS}/${RELEASE}.web.account`)
    expect(await place.sync()).toEqual({ ...NOTHING, warnings: 1 })
    expect(place.writes()).toEqual([])
  })
})
