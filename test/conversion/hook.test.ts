import { describe, expect, test } from 'vitest'
import { decode } from '../contract/kube.ts'
import { accountSecret, BY, type HookPlace, hookPlace, NEIGHBOUR, STARTED_AT, TENANT } from './hook-place.ts'

const SECRETS = `/api/v1/namespaces/${TENANT}/secrets`
const ETL = 'clickhouse-events.etl.account'

/** `echo -n hunter2 | sha256sum`. */
const HUNTER2 = 'f52fbd32b2b3b86ff88ef6c490628285f482af15ddcb29541f94bcf526a3f6c7'

describe('the hook', () => {
  test('gives each tenant account the value of its password from before, and records the chart version', async () => {
    const place = hookPlace()
    const release = await place.order(
      'events',
      { etl: 'hunter2' },
      { kind: 'ClickHouse', chartVersion: '0.9.1' },
    )
    expect(await place.convert()).toEqual([
      {
        namespace: TENANT,
        release: 'clickhouse-events',
        kind: 'ClickHouse',
        chartVersion: '0.9.1',
        isDone: false,
        accounts: [{ username: 'etl', secret: 'clickhouse-events.etl.account', result: 'converted' }],
        skips: [],
        notes: [],
      },
    ])
    const { metadata, type, data } = await place.secret('clickhouse-events.etl.account')
    expect({ type, username: decode(data.username), password: decode(data.password) }).toEqual({
      type: 'kubernetes.io/basic-auth',
      username: 'etl',
      password: HUNTER2,
    })
    expect(metadata.annotations).toMatchObject({
      'credentials.cozystack.io/origin': 'Migrated',
      'credentials.cozystack.io/history': JSON.stringify([{ operation: 'Migrate', at: STARTED_AT, by: BY }]),
      'credentials.cozystack.io/release-uid': release.metadata.uid,
    })
    expect(metadata.labels).toMatchObject({ 'reconcile.fluxcd.io/watch': 'Enabled' })
    expect(metadata.ownerReferences).toMatchObject([{ kind: 'HelmRelease', uid: release.metadata.uid }])
    expect(await place.record()).toEqual({
      'tenant-acme.clickhouse-events': {
        uid: release.metadata.uid,
        kind: 'ClickHouse',
        chartVersion: '0.9.1',
        at: STARTED_AT,
      },
    })
    expect(await place.events()).toEqual([])
  })

  test('touches nothing else', async () => {
    const place = hookPlace()
    await fleet(place)
    const before = await place.stored()
    await place.convert()
    expect(await place.stored()).toMatchObject(before)
    const added = Object.keys(await place.stored()).filter((each) => !Object.hasOwn(before, each))
    expect(added.sort()).toEqual([
      'ConfigMapList cozy-system/credential-conversion',
      `SecretList ${TENANT}/clickhouse-events.etl.account`,
      `SecretList ${TENANT}/postgres-orders.report.account`,
      `SecretList ${TENANT}/postgres-orders.web.account`,
      `SecretList ${TENANT}/redis-cache.default.account`,
      `SecretList ${NEIGHBOUR}/mariadb-shop.till.account`,
    ])
  })

  test('run again changes nothing, whatever it says of time and chart', async () => {
    const place = hookPlace()
    await fleet(place)
    await place.order('broken', { web: '' })
    await place.convert()
    const once = await place.stored()
    place.pass(86_400_000)
    const releases = await place.convert()
    expect(await place.stored()).toEqual(once)
    expect(releases.flatMap(({ accounts }) => accounts.map(({ result }) => result))).toEqual(
      Array(5).fill('unchanged'),
    )
  })

  test('run again after the switch keeps the chart version from before', async () => {
    const place = hookPlace()
    await place.order('events', { etl: 'hunter2' }, { kind: 'ClickHouse' })
    await place.convert()
    await place.admin.change(`${releasesOf(TENANT)}/clickhouse-events/status`, (release) => {
      release.status.history.unshift({ version: 2, status: 'deployed', chartVersion: '2.0.0' })
    })
    expect(await place.convert()).toMatchObject([{ chartVersion: '2.0.0' }])
    expect(await place.record()).toMatchObject({
      [`${TENANT}.clickhouse-events`]: { chartVersion: '1.0.0' },
    })
  })

  test('records a release of the same name that is another one anew', async () => {
    const place = hookPlace()
    await place.order('events', {}, { kind: 'ClickHouse' })
    await place.convert()
    await place.admin.remove(`${releasesOf(TENANT)}/clickhouse-events`)
    await place.admin.remove(`${SECRETS}/clickhouse-events-credentials`)
    const { metadata } = await place.order('events', {}, { kind: 'ClickHouse', chartVersion: '1.1.0' })
    await place.convert()
    expect(await place.record()).toMatchObject({
      [`${TENANT}.clickhouse-events`]: { uid: metadata.uid, chartVersion: '1.1.0' },
    })
  })

  test.each([
    ['of its newest Helm release', { history: [{ chartVersion: '3' }, { chartVersion: '2' }] }, '3'],
    ['that was tried last', { history: [], lastAttemptedRevision: '4' }, '4'],
    ['that nobody has tried yet', undefined, ''],
    ['of a history that is none', { history: 'x', lastAttemptedRevision: 5 }, ''],
  ])('records the chart version %s', async (_which, status, chartVersion) => {
    const place = hookPlace()
    await place.order('events', {}, { kind: 'ClickHouse' })
    await place.admin.change(`${releasesOf(TENANT)}/clickhouse-events/status`, (release) => {
      release.status = status
    })
    await place.convert()
    expect(await place.record()).toMatchObject({ [`${TENANT}.clickhouse-events`]: { chartVersion } })
  })

  test('leaves accounts of the platform alone, and has no word for them', async () => {
    const place = hookPlace()
    await place.order(
      'shop',
      { root: 'hunter2', till: 'hunter2' },
      { kind: 'MariaDB', values: { users: { till: {} } } },
    )
    expect(await place.convert()).toMatchObject([{ accounts: [{ username: 'till' }], skips: [], notes: [] }])
    expect(await place.secret('mariadb-shop.root.account')).toBeUndefined()
  })

  test('asks about one namespace alone when it is told so', async () => {
    const place = hookPlace()
    await fleet(place)
    const releases = await place.convert({ namespace: NEIGHBOUR })
    expect(releases.map(({ release }) => release)).toEqual(['mariadb-shop'])
    expect(Object.keys(await place.record())).toEqual([`${NEIGHBOUR}.mariadb-shop`])
  })

  test('leaves releases alone that are being deleted, or are no applications', async () => {
    const place = hookPlace()
    const { metadata } = await place.order('events', { etl: 'x' }, { kind: 'ClickHouse' })
    await place.admin.change(`${releasesOf(TENANT)}/${metadata.name}`, (release) => {
      release.metadata.finalizers = ['finalizers.fluxcd.io']
    })
    await place.admin.remove(`${releasesOf(TENANT)}/${metadata.name}`)
    expect(await place.convert()).toEqual([])
  })
})

describe('an account Secret that is there already', () => {
  const holding = async (change: Parameters<typeof accountSecret>[2]) => {
    const place = hookPlace()
    const release = await place.order('events', { etl: 'hunter2' }, { kind: 'ClickHouse' })
    const created = await place.admin.create(SECRETS, accountSecret(release, 'etl', change))
    return { place, created }
  }

  test.each(['Minted', 'Revoked', 'Migrated'])('and is %s is left alone', async (origin) => {
    const { place, created } = await holding({ origin })
    expect(await place.convert()).toMatchObject([{ accounts: [{ result: 'unchanged' }], skips: [] }])
    expect(await place.secret(ETL)).toEqual(created)
  })

  test('and was never minted is given the value of the password that works', async () => {
    const { place } = await holding({})
    expect(await place.convert()).toMatchObject([{ accounts: [{ result: 'replaced' }], skips: [] }])
    const { metadata, data } = await place.secret(ETL)
    expect(decode(data.password)).toBe(HUNTER2)
    expect(metadata.annotations['credentials.cozystack.io/origin']).toBe('Migrated')
    const history = JSON.parse(metadata.annotations['credentials.cozystack.io/history'])
    expect(history.map(({ operation }: { operation: string }) => operation)).toEqual(['Migrate', 'Create'])
  })

  test('and says NotIssued, and was minted once, is left alone', async () => {
    const history = [
      { operation: 'Revoke', at: STARTED_AT, by: 'jane' },
      { operation: 'Mint', at: STARTED_AT, by: 'jane' },
    ]
    const { place, created } = await holding({
      annotations: { 'credentials.cozystack.io/history': JSON.stringify(history) },
    })
    await place.convert()
    expect(await place.secret(ETL)).toEqual(created)
  })

  test('and was never minted stays where there is no password from before', async () => {
    const place = hookPlace()
    const release = await place.order('events', { etl: '' }, { kind: 'ClickHouse', before: false })
    const created = await place.admin.create(SECRETS, accountSecret(release, 'etl'))
    expect(await place.convert()).toMatchObject([{ accounts: [{ result: 'unchanged' }], skips: [] }])
    expect(await place.secret(ETL)).toEqual(created)
  })

  test('by a mint that comes between look and write counts', async () => {
    const place = hookPlace()
    const release = await place.order('events', { etl: 'hunter2' }, { kind: 'ClickHouse' })
    const { kube } = place.services
    const createSecret: typeof kube.createSecret = async (secret, options) => {
      await place.admin.create(SECRETS, accountSecret(release, 'etl', { origin: 'Minted' }))
      return kube.createSecret(secret, options)
    }
    const over = { ...place.services, kube: { ...kube, createSecret } }
    expect(await place.convert({ over })).toMatchObject([{ accounts: [{ result: 'unchanged' }], skips: [] }])
    expect(decode((await place.secret(ETL)).data.password)).toBe('value-of-nobody')
  })
})

describe('a dry run', () => {
  test('says what would become of each account, and writes nothing', async () => {
    const place = hookPlace()
    await fleet(place)
    await place.order('broken', { web: '' })
    const before = await place.stored()
    const dry = await place.convert({ dryRun: true })
    expect(await place.stored()).toEqual(before)
    expect(dry).toEqual(await place.convert())
  })
})

/** One release of each kind of the example, all of which can be converted. */
async function fleet(place: HookPlace): Promise<void> {
  await place.order('orders', { web: 'hunter2', report: 'tr0ub4dor&3' })
  await place.order('shop', { till: 'hunter2' }, { kind: 'MariaDB', namespace: NEIGHBOUR })
  await place.order('events', { etl: 'hunter2' }, { kind: 'ClickHouse' })
  await place.order('cache', { default: 'hunter2' }, { kind: 'Redis', values: { authEnabled: true } })
}

const releasesOf = (namespace: string) =>
  `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases`
