import { describe, expect, test } from 'vitest'
import type { JobServices } from '../../src/conversion/job-options.ts'
import { accountSecret, TENANT } from './hook-place.ts'
import { type JobPlace, jobPlace, mysqlHash } from './job-place.ts'

const SHOP = 'mariadb-shop'
const CREDENTIALS = `${SHOP}-credentials`
const ACCOUNT = `${SHOP}.app.account`
const SECRETS = `/api/v1/namespaces/${TENANT}/secrets`

/** One release whose hook has run. */
async function shop(values: object = { users: { app: {} } }): Promise<JobPlace> {
  const place = await jobPlace()
  await place.order('shop', { app: 'hunter2', root: 'of-old' }, { kind: 'MariaDB', values })
  await place.flux()
  await place.before.convert()
  return place
}

/** By an old chart, which writes what the tenant has set. */
const setPassword = (place: JobPlace, password: string) =>
  place.before.changeSecret(CREDENTIALS, ({ data }) => {
    data.app = btoa(password)
  })

const stored = async (place: JobPlace) => (await place.data(ACCOUNT))?.password

describe('a password that is changed between the hook and the switch', () => {
  test('is said by another run of the hook, which writes nothing over', async () => {
    const place = await shop()
    await setPassword(place, 'hunter3')
    const releases = await place.before.convert()
    expect(releases).toMatchObject([
      {
        accounts: [],
        skips: [{ cause: 'PasswordChanged', message: expect.stringMatching(/^user "app": /) }],
      },
    ])
    expect(await stored(place)).toBe(mysqlHash('hunter2'))
    expect(await place.before.record()).toMatchObject({
      [`${TENANT}.${SHOP}`]: { skipped: [{ cause: 'PasswordChanged' }] },
    })
  })

  test('keeps its plaintext in the job, wherever it stands, until it is carried over', async () => {
    const place = await shop({ users: { app: { password: 'hunter2' } } })
    await setPassword(place, 'hunter3')
    await place.switchCharts()
    expect((await place.job()).skipped).toMatchObject([{ release: SHOP, cause: 'PasswordChanged' }])
    const left = await place.data(CREDENTIALS)
    expect(left).toMatchObject({ app: 'hunter3' })
    expect((await place.release(SHOP)).spec.values).toEqual({ users: { app: { password: 'hunter2' } } })
    expect(place.engines.get(SHOP)?.changes).toBe(1)
    expect(await stored(place)).toBe(mysqlHash('hunter2'))

    await place.admin.remove(`${SECRETS}/${ACCOUNT}`)
    expect((await place.job()).skipped).toEqual([])
    expect(await stored(place)).toBe(mysqlHash('hunter3'))
    expect(await place.data(CREDENTIALS)).toEqual({ root: left?.root })
    expect((await place.release(SHOP)).spec.values).toEqual({ users: { app: {} } })
  })

  test('is none when it was minted since: then that counts, and the plaintext goes', async () => {
    const place = await shop()
    await setPassword(place, 'hunter3')
    const release = await place.release(SHOP)
    const history = [{ operation: 'Mint', at: '2026-10-02T10:00:00Z', by: 'jane' }]
    const minted = accountSecret(release, 'app', {
      origin: 'Minted',
      annotations: { 'credentials.cozystack.io/history': JSON.stringify(history) },
    })
    await place.admin.remove(`${SECRETS}/${ACCOUNT}`)
    await place.admin.create(SECRETS, minted)
    await place.switchCharts()
    expect((await place.job()).skipped).toEqual([])
    expect(Object.keys((await place.data(CREDENTIALS)) ?? {})).toEqual(['root'])
    expect(await stored(place)).toBe('value-of-nobody')
  })

  test('is seen in the values, too, where the Secret has no key for it any more', async () => {
    const place = await shop({ users: { app: { password: 'hunter2' } } })
    await place.before.changeSecret(CREDENTIALS, ({ data }) => {
      delete data.app
    })
    expect(await place.before.convert()).toMatchObject([{ skips: [] }])
    await place.changeRelease(SHOP, ({ spec }) => {
      spec.values.users.app.password = 'hunter3'
    })
    expect(await place.before.convert()).toMatchObject([
      {
        skips: [
          { cause: 'PasswordChanged', message: expect.stringContaining('the values have another one') },
        ],
      },
    ])
    await place.switchCharts()
    expect((await place.job()).skipped).toMatchObject([{ cause: 'PasswordChanged' }])
    expect((await place.release(SHOP)).spec.values.users.app.password).toBe('hunter3')
  })

  test.each(['hunter3', 'nul\0nul'])(
    'to %j at the very moment that it is deleted is kept',
    async (password) => {
      const place = await shop()
      await place.switchCharts()
      await place.flux()
      const services = place.servicesWith()
      let writes = 0
      const raced: JobServices = {
        ...services,
        kube: {
          ...services.kube,
          updateSecret: async (secret, options) => {
            if (secret.metadata.name === CREDENTIALS) {
              writes += 1
              if (writes === 1) await setPassword(place, password)
            }
            return services.kube.updateSecret(secret, options)
          },
        },
      }
      expect(await place.run({}, raced)).toMatchObject({ skipped: [{ cause: 'PasswordChanged' }] })
      expect(await place.data(CREDENTIALS)).toMatchObject({ app: password })
    },
  )

  test('and one that only its account Secret has lost: a value that nobody can read is of no password', async () => {
    const place = await shop()
    await place.before.changeSecret(ACCOUNT, ({ data }) => {
      data.password = '/w=='
    })
    await place.switchCharts()
    expect((await place.job()).skipped).toMatchObject([{ cause: 'PasswordChanged' }])
    expect(await place.data(CREDENTIALS)).toMatchObject({ app: 'hunter2' })
  })
})

test('a password that nobody has changed is compared, and goes', async () => {
  const place = await jobPlace()
  for (const [name, kind] of [
    ['orders', 'Postgres'],
    ['shop', 'MariaDB'],
    ['events', 'ClickHouse'],
  ] as const) {
    await place.order(name, { web: `p\u00e4ss ${name}\n` }, { kind })
  }
  await place.flux()
  await place.before.convert()
  expect((await place.before.convert()).flatMap(({ skips }) => skips)).toEqual([])
  await place.switchCharts()
  expect((await place.job()).skipped).toEqual([])
  for (const name of ['postgres-orders', 'mariadb-shop', 'clickhouse-events']) {
    expect(await place.secret(`${name}-credentials`)).toBeUndefined()
  }
})
