import { describe, expect, test } from 'vitest'
import { RECORD_NAMES } from '../../src/conversion/record-store.ts'
import type { Anything } from '../contract/kube.ts'
import { accountSecret, type HookPlace, PLATFORM, TENANT } from './hook-place.ts'
import { type JobPlace, jobPlace, switchedDefinitions } from './job-place.ts'

const RELEASES = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${TENANT}/helmreleases`
const SECRETS = `/api/v1/namespaces/${TENANT}/secrets`
const SHOP = 'mariadb-shop'
const VALUES = { users: { app: {} } }

/** One MariaDB that the hook has converted, and whose chart has switched. */
async function switched(): Promise<JobPlace> {
  const place = await jobPlace()
  await place.order('shop', { app: 'hunter2', root: 'of-old' }, { kind: 'MariaDB', values: VALUES })
  await place.flux()
  await place.before.convert()
  await place.switchCharts()
  await place.flux()
  return place
}

/** As the switched chart makes one: no password of a tenant in the clear. */
async function orderNew(place: JobPlace, name: string, more: Parameters<HookPlace['order']>[2] = {}) {
  const passwords = { root: 'made-by-the-chart' }
  const release = await place.order(name, passwords, {
    kind: 'MariaDB',
    values: VALUES,
    chartVersion: '2.0.0',
    ...more,
  })
  await place.flux()
  await place.admin.create(SECRETS, accountSecret(release, 'app'))
  return release
}

const entry = async (place: JobPlace, name: string) =>
  (await place.before.record())[`${TENANT}.${name}`] as Anything | undefined

/** The same under its name, as a restore makes it. */
async function recreate(place: JobPlace, name: string): Promise<Anything> {
  const { metadata, spec, status } = await place.release(name)
  await place.admin.remove(`${RELEASES}/${name}`)
  const created = await place.admin.create(RELEASES, {
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    metadata: { name, labels: metadata.labels },
    spec,
  })
  await place.admin.change(`${RELEASES}/${name}/status`, (release) => {
    release.status = status
  })
  await place.flux()
  return created
}

describe('a release that came with the chart that has switched', () => {
  test('is not recorded by another run of the hook, for which the job would wait in vain', async () => {
    const place = await switched()
    await orderNew(place, 'new')
    expect(await place.before.convert()).toMatchObject([{ skips: [] }, { skips: [] }])
    expect(await entry(place, 'mariadb-new')).toBeUndefined()
    expect((await place.job()).skipped).toEqual([])
  })

  test.each([
    ['has a password in the clear', { app: 'hunter3' }, {}, VALUES],
    ['has one in its values', {}, {}, { users: { app: { password: 'hunter3' } } }],
    ['shows the Secret to tenants', {}, { 'internal.cozystack.io/tenantresource': 'true' }, VALUES],
  ])('is recorded all the same when it %s', async (_what, passwords, labels, values) => {
    const place = await switched()
    await orderNew(place, 'new', { values })
    await place.before.changeSecret('mariadb-new-credentials', (secret) => {
      for (const [user, password] of Object.entries(passwords)) secret.data[user] = btoa(String(password))
      secret.metadata.labels = labels
    })
    await place.before.convert()
    expect(await entry(place, 'mariadb-new')).toMatchObject({ chartVersion: '2.0.0' })
  })

  test('is recorded when an account has no account Secret, when it has no account, and when none was tried', async () => {
    const place = await switched()
    await orderNew(place, 'new', { values: { users: { app: {}, web: {} } } })
    await orderNew(place, 'bare', { values: { users: {} } })
    await orderNew(place, 'tried')
    await place.admin.change(`${RELEASES}/mariadb-tried/status`, (release) => {
      release.status = {}
    })
    await place.before.convert()
    for (const name of ['new', 'bare', 'tried']) expect(await entry(place, `mariadb-${name}`)).toBeDefined()
  })

  test('is recorded when that cannot be read', async () => {
    const place = await switched()
    await orderNew(place, 'new')
    place.before.way.add({
      when: ({ path }) => path.startsWith(`${SECRETS}/mariadb-new-credentials`),
      fault: { answer: 500, body: '{}' },
      times: 1,
    })
    await place.before.convert()
    expect(await entry(place, 'mariadb-new')).toBeDefined()
  })
})

describe('a release that another one has replaced between the hook and the job', () => {
  test('is said and listed, and nothing of the other one is touched', async () => {
    const place = await switched()
    await recreate(place, SHOP)
    const { skipped, releases } = await place.job()
    expect(skipped).toMatchObject([{ namespace: TENANT, release: SHOP, cause: 'ReleaseReplaced' }])
    expect(releases).toMatchObject([{ is: 'looked', keys: [], rotated: [] }])
    expect(await place.data(`${SHOP}-credentials`)).toEqual({ app: 'hunter2', root: 'of-old' })
    expect(await entry(place, SHOP)).toMatchObject({ skipped: [{ cause: 'ReleaseReplaced' }] })
    const { uid } = (await place.release(SHOP)).metadata
    expect(await place.before.events()).toMatchObject([
      {
        reason: 'ConversionSkipped',
        note: expect.stringMatching(/^ReleaseReplaced: /),
        regarding: { name: SHOP, uid },
      },
    ])
  })

  test('is recorded anew by the hook, when something of it is in the clear', async () => {
    const place = await switched()
    const { metadata } = await recreate(place, SHOP)
    await place.job()
    await place.before.convert()
    expect(await entry(place, SHOP)).toMatchObject({ uid: metadata.uid })
  })

  test('is taken out by the hook, when nothing of it is', async () => {
    const place = await switched()
    const release = await recreate(place, SHOP)
    await place.admin.remove(`${SECRETS}/${SHOP}-credentials`)
    await place.admin.create(SECRETS, accountSecret(release, 'app'))
    expect((await place.job()).skipped).toMatchObject([{ cause: 'ReleaseReplaced' }])
    await place.before.convert()
    expect(await entry(place, SHOP)).toBeUndefined()
    expect((await place.job()).skipped).toEqual([])
  })
})

describe('a release that Flux had tried no chart for when it was recorded', () => {
  async function early(): Promise<JobPlace> {
    const place = await jobPlace()
    await place.order('shop', { app: 'hunter2', root: 'of-old' }, { kind: 'MariaDB', values: VALUES })
    await place.admin.change(`${RELEASES}/${SHOP}/status`, (release) => {
      release.status = {}
    })
    await place.before.convert()
    expect(await entry(place, SHOP)).toMatchObject({ chartVersion: '' })
    await place.flux()
    return place
  }

  test('has not switched when it is on some chart: it may be the one from before', async () => {
    const place = await early()
    const { skipped } = await place.job({ files: switchedDefinitions(), timeoutMs: 60_000 })
    expect(skipped).toMatchObject([
      { cause: 'NotSwitched', message: expect.stringContaining('run the hook while it is on the old chart') },
    ])
    expect(await place.data(`${SHOP}-credentials`)).toEqual({ app: 'hunter2', root: 'of-old' })
  })

  test('has its version recorded by the next run of the hook, and is done after the switch', async () => {
    const place = await early()
    await place.before.convert()
    expect(await entry(place, SHOP)).toMatchObject({ chartVersion: '1.0.0' })
    await place.switchCharts()
    expect((await place.job()).skipped).toEqual([])
  })
})

test('a release with a dot in its name is recorded, and listed by the job', async () => {
  const place = await jobPlace()
  await place.order('shop.eu', { app: 'hunter2', root: 'of-old' }, { kind: 'MariaDB', values: VALUES })
  await place.flux()
  await place.before.convert()
  await place.switchCharts()
  const { skipped } = await place.job()
  expect(skipped).toMatchObject([{ release: 'mariadb-shop.eu', cause: 'NameInvalid' }])
  expect(await place.data('mariadb-shop.eu-credentials')).toMatchObject({ app: 'hunter2' })
  const map = await place.admin.get(`/api/v1/namespaces/${PLATFORM}/configmaps/${RECORD_NAMES[0]}`)
  expect(Object.keys(map.data)).toEqual([`${TENANT}.mariadb-shop.eu`])
})

describe('an entry of the record that somebody edits by hand', () => {
  const edit = (place: JobPlace, change: (entry: Anything) => object) =>
    place.admin.change(`/api/v1/namespaces/${PLATFORM}/configmaps/${RECORD_NAMES[0]}`, ({ data }) => {
      const key = `${TENANT}.${SHOP}`
      data[key] = JSON.stringify(change(JSON.parse(data[key])))
    })

  test('says of a release that was first seen after its switch that it has switched', async () => {
    const place = await jobPlace()
    await place.order('shop', { app: 'hunter2', root: 'of-old' }, { kind: 'MariaDB', values: VALUES })
    await place.flux()
    await place.switchCharts()
    await place.flux()
    await place.before.convert()
    expect((await place.job({ timeoutMs: 60_000 })).skipped).toMatchObject([{ cause: 'NotSwitched' }])
    await edit(place, (each) => ({ ...each, chartVersion: 'before' }))
    expect((await place.job()).skipped).toEqual([])
    expect(Object.keys((await place.data(`${SHOP}-credentials`)) ?? {})).toEqual(['root'])
  })

  test('has a release looked at again that was done, and whose chart went back and forward', async () => {
    const place = await switched()
    await place.job()
    const rotated = (await place.data(`${SHOP}-credentials`))?.root ?? ''
    await place.before.changeSecret(`${SHOP}-credentials`, (secret) => {
      secret.data = { root: btoa(rotated), app: btoa('hunter3') }
      secret.metadata.annotations = {}
    })
    expect(await place.job()).toMatchObject({ total: 0, skipped: [] })
    await edit(place, ({ done: _done, ...each }) => each)
    expect((await place.job()).skipped).toMatchObject([{ cause: 'PasswordChanged' }])
    expect(await place.data(`${SHOP}-credentials`)).toEqual({
      app: 'hunter3',
      root: expect.not.stringContaining(rotated),
    })
    expect(place.engines.get(SHOP)?.changes).toBe(2)
  })
})
