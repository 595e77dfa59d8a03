import { describe, expect, test } from 'vitest'
import { TENANT } from './hook-place.ts'
import { type JobPlace, jobPlace, switchedDefinitions, takes } from './job-place.ts'

const ROOT_OLD = 'root-of-old'
const BACKUP_OLD = 'backup-of-old'

/** One of each kind, with the hook done. */
async function fleet(): Promise<JobPlace> {
  const place = await jobPlace()
  await place.order('orders', { web: 'hunter2', report: 'hunter3' })
  await place.order(
    'shop',
    { app: 'hunter4', root: ROOT_OLD },
    { kind: 'MariaDB', values: { users: { app: { password: 'hunter4', maxUserConnections: 5 } } } },
  )
  await place.order(
    'events',
    { etl: 'hunter5', backup: BACKUP_OLD },
    { kind: 'ClickHouse', values: { users: { etl: {} } } },
  )
  await place.flux()
  await place.before.convert()
  return place
}

const record = (place: JobPlace) => place.before.record()

describe('the job', () => {
  test('leaves no password in the clear that a tenant could read', async () => {
    const place = await fleet()
    await place.switchCharts()
    const outcome = await place.job()
    expect(outcome).toMatchObject({ is: 'finished', total: 3, doneBefore: 0, skipped: [] })
    expect(await place.secret('postgres-orders-credentials')).toBeUndefined()
    expect((await place.release('mariadb-shop')).spec.values).toEqual({
      users: { app: { maxUserConnections: 5 } },
    })
    const shop = (await place.data('mariadb-shop-credentials')) ?? {}
    expect(Object.keys(shop)).toEqual(['root'])
    expect(shop.root).not.toBe(ROOT_OLD)
    const events = (await place.data('clickhouse-events-credentials')) ?? {}
    expect(Object.keys(events)).toEqual(['backup'])
    expect(events.backup).not.toBe(BACKUP_OLD)
    expect(await engineStates(place)).toEqual({
      'mariadb-shop': { takesSecret: true, changes: 1 },
      'clickhouse-events': { takesSecret: true, changes: 1 },
    })
    for (const entry of Object.values(await record(place))) {
      expect(entry).toMatchObject({ done: expect.stringMatching(/^2026-/) })
      expect(entry.skipped).toBeUndefined()
    }
    expect(await pendings(place)).toEqual([])
    expect((await place.release('mariadb-shop')).spec.suspend).toBeUndefined()
    expect(JSON.stringify([place.logged, outcome])).not.toMatch(/hunter|of-old/)
  })

  test('does nothing the second time', async () => {
    const place = await fleet()
    await place.switchCharts()
    await place.job()
    const before = await place.before.stored()
    const again = await place.job()
    expect(again).toMatchObject({ is: 'finished', releases: [], total: 0, doneBefore: 3, skipped: [] })
    expect(await place.before.stored()).toEqual(before)
  })

  test('waits for each release until its deadline, and lists what has not switched with the time of the run', async () => {
    const place = await fleet()
    const outcome = await place.job({ timeoutMs: 60_000, files: switchedDefinitions() })
    expect(outcome.skipped.map(({ release, cause }) => [release, cause])).toEqual(
      ['postgres-orders', 'mariadb-shop', 'clickhouse-events'].map((name) => [name, 'NotSwitched']),
    )
    expect(outcome.skipped[0]?.message).toContain('recorded 1.0.0, now 1.0.0')
    const { skipped } = (await record(place))[`${TENANT}.mariadb-shop`]
    expect(skipped).toEqual([
      { cause: 'NotSwitched', message: expect.any(String), at: '2026-10-02T09:16:07Z' },
    ])
    expect(await place.data('mariadb-shop-credentials')).toEqual({ app: 'hunter4', root: ROOT_OLD })
    await place.switchCharts()
    expect((await place.job()).skipped).toEqual([])
  })

  test('goes on with the others while one release does not switch', async () => {
    const place = await fleet()
    await place.changeRelease('postgres-orders', (release) => {
      release.metadata.labels.stuck = 'true'
    })
    await place.switchCharts()
    const outcome = await place.job({ concurrency: 1, timeoutMs: 60_000 })
    expect(outcome.skipped).toMatchObject([{ release: 'postgres-orders', cause: 'NotSwitched' }])
    expect(outcome.releases.filter(({ skips }) => skips.length === 0)).toHaveLength(2)
  })

  test('writes a missing account Secret first, from the password while it is there', async () => {
    const place = await fleet()
    await place.admin.remove(`/api/v1/namespaces/${TENANT}/secrets/postgres-orders.web.account`)
    const { releases } = await place.job({ timeoutMs: 0, files: switchedDefinitions() })
    const orders = releases.find(({ release }) => release === 'postgres-orders')
    const results = orders?.accounts.map(({ username, result }) => [username, result])
    expect(new Map(results as [string, string][])).toEqual(
      new Map([
        ['report', 'unchanged'],
        ['web', 'converted'],
      ]),
    )
    expect(await place.secret('postgres-orders.web.account')).toMatchObject({
      metadata: { annotations: { 'credentials.cozystack.io/origin': 'Migrated' } },
    })
  })
})

describe('what the job skips', () => {
  test.each([
    [
      'by its label',
      async (place: JobPlace) => {
        await place.before.changeSecret('mariadb-shop-credentials', (secret) => {
          secret.metadata.labels = { 'internal.cozystack.io/tenantresource': 'true' }
        })
      },
    ],
    [
      'by a definition',
      async ({ admin }: JobPlace) => {
        await admin.change('/apis/cozystack.io/v1alpha1/applicationdefinitions/redis', (definition) => {
          definition.spec.secrets = { include: [{ resourceNames: ['mariadb-{{ .name }}-credentials'] }] }
        })
      },
    ],
    [
      'by a Role',
      async ({ admin }: JobPlace) => {
        await admin.create(`/apis/rbac.authorization.k8s.io/v1/namespaces/${TENANT}/roles`, {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'Role',
          metadata: { name: 'mariadb-shop-dashboard-resources' },
          rules: [
            {
              apiGroups: [''],
              resources: ['secrets'],
              resourceNames: ['mariadb-shop-credentials'],
              verbs: ['get'],
            },
          ],
        })
      },
    ],
  ])('a Secret that tenants can still read %s', async (_how, open) => {
    const place = await fleet()
    await place.switchCharts()
    await open(place)
    const { skipped } = await place.job()
    expect(skipped).toMatchObject([{ release: 'mariadb-shop', cause: 'StillTenantReadable' }])
    expect(await place.data('mariadb-shop-credentials')).toEqual({ app: 'hunter4', root: ROOT_OLD })
    expect((await place.release('mariadb-shop')).spec.values.users.app.password).toBe('hunter4')
    expect(place.engines.get('mariadb-shop')?.changes).toBe(0)
    expect(await place.before.events()).toMatchObject([{ reason: 'ConversionSkipped', type: 'Warning' }])
  })

  test('a release that somebody else has suspended', async () => {
    const place = await fleet()
    await place.switchCharts()
    await place.flux()
    await place.changeRelease('mariadb-shop', (release) => {
      release.spec.suspend = true
    })
    const { skipped } = await place.job()
    expect(skipped).toMatchObject([{ release: 'mariadb-shop', cause: 'SuspendedElsewhere' }])
    expect((await place.release('mariadb-shop')).spec.suspend).toBe(true)
    expect(place.engines.get('mariadb-shop')?.changes).toBe(0)
    await place.changeRelease('mariadb-shop', (release) => {
      release.spec.suspend = false
    })
    expect((await place.job()).skipped).toEqual([])
    expect(place.engines.get('mariadb-shop')?.changes).toBe(1)
  })

  test('a kind of which nobody says how its credentials are made', async () => {
    const place = await fleet()
    await place.switchCharts()
    await place.admin.change('/apis/cozystack.io/v1alpha1/applicationdefinitions/mariadb', (definition) => {
      delete definition.spec.credentials
    })
    expect((await place.job()).skipped).toMatchObject([
      { release: 'mariadb-shop', cause: 'DefinitionMissing' },
    ])
    expect(await place.data('mariadb-shop-credentials')).toEqual({ app: 'hunter4', root: ROOT_OLD })
  })

  test('what the hook has left out, as long as it is not tried again', async () => {
    const place = await jobPlace()
    await place.order('orders', { web: 'hunter2', odd: 'nul\0nul' })
    await place.flux()
    await place.before.convert()
    const { skipped } = await place.job()
    expect(skipped.map(({ cause }) => cause)).toEqual(['DefinitionMissing', 'PasswordUnconvertible'])
  })

  test('the password of an account that could not be converted, until it is minted', async () => {
    const place = await jobPlace()
    await place.order(
      'shop',
      { app: 'hunter4', root: ROOT_OLD, odd: 'nul\0nul' },
      {
        kind: 'MariaDB',
        values: { users: { app: {}, odd: {} } },
      },
    )
    await place.flux()
    await place.before.convert()
    await place.switchCharts()
    expect((await place.job()).skipped).toMatchObject([{ cause: 'PasswordUnconvertible' }])
    const left = await place.data('mariadb-shop-credentials')
    expect(left).toEqual({ odd: 'nul\0nul', root: expect.not.stringMatching(ROOT_OLD) })
    const app = await place.secret('mariadb-shop.app.account')
    await place.admin.create(`/api/v1/namespaces/${TENANT}/secrets`, {
      ...app,
      metadata: {
        name: 'mariadb-shop.odd.account',
        labels: app.metadata.labels,
        annotations: { ...app.metadata.annotations, 'credentials.cozystack.io/origin': 'Minted' },
      },
      data: { ...app.data, username: btoa('odd') },
    })
    expect((await place.job()).skipped).toEqual([])
    expect(await place.data('mariadb-shop-credentials')).toEqual({ root: left?.root })
    expect(place.engines.get('mariadb-shop')?.changes).toBe(1)
  })
})

async function engineStates(place: JobPlace) {
  const states: Record<string, { takesSecret: boolean; changes: number }> = {}
  for (const [name, engine] of place.engines) {
    const data = (await place.data(`${name}-credentials`)) ?? {}
    const takesSecret = Object.values(data).some((password) => takes(engine, password))
    states[name] = { takesSecret, changes: engine.changes }
  }
  return states
}

const pendings = async (place: JobPlace): Promise<readonly string[]> =>
  Object.keys(await place.before.stored()).filter((name) => name.includes('credential-rotation-'))
