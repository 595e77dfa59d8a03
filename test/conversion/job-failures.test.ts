import { describe, expect, test } from 'vitest'
import type { JobOptions } from '../../src/conversion/job-options.ts'
import { shortSkips } from '../../src/conversion/record.ts'
import { fail } from '../../src/core/result.ts'
import { type Rule, statusBody } from '../helpers/faults.ts'
import { fileDefinitions, PLATFORM, TENANT } from './hook-place.ts'
import { type JobPlace, jobPlace } from './job-place.ts'

async function fleet(): Promise<JobPlace> {
  const place = await jobPlace()
  await place.order('orders', { web: 'hunter2' })
  await place.order('shop', { root: 'of-old' }, { kind: 'MariaDB', values: { users: {} } })
  await place.flux()
  await place.before.convert()
  await place.switchCharts()
  await place.flux()
  return place
}

const spoiled = (place: JobPlace, rules: readonly Rule[], options: Partial<JobOptions> = {}) =>
  place.run(options, place.servicesWith(undefined, rules))

const get = (name: string) => (call: { readonly method: string; readonly path: string }) =>
  call.method === 'GET' && call.path.endsWith(`/${name}`)

const away = { answer: 503, body: statusBody(503, 'ServiceUnavailable', 'hunter2 is busy') }
const forbidden = { answer: 403, body: statusBody(403, 'Forbidden', 'no hunter2') }

describe('what concerns one release', () => {
  test('is tried again when it may pass', async () => {
    const place = await fleet()
    const rules = [{ when: get('postgres-orders-credentials'), fault: away, times: 3 }]
    expect(await spoiled(place, rules)).toMatchObject({ is: 'finished', skipped: [] })
  })

  test('is listed when it does not, and stops no other', async () => {
    const place = await fleet()
    const outcome = await spoiled(place, [{ when: get('postgres-orders-credentials'), fault: away }])
    expect(outcome).toMatchObject({
      is: 'finished',
      skipped: [{ release: 'postgres-orders', cause: 'ReadFailed' }],
    })
    expect(outcome).toMatchObject({ releases: [{}, { release: 'mariadb-shop', rotated: ['root'] }] })
    expect(JSON.stringify([outcome, place.logged])).not.toContain('hunter2')
  })

  test('is not tried again when it is refused', async () => {
    const place = await fleet()
    let asked = 0
    const when: Rule['when'] = ({ method, path }) => {
      if (method !== 'DELETE' || !path.includes('/postgres-orders-credentials')) return false
      asked += 1
      return true
    }
    expect(await spoiled(place, [{ when, fault: forbidden }])).toMatchObject({
      skipped: [{ release: 'postgres-orders', cause: 'WriteRefused' }],
    })
    expect(asked).toBe(1)
  })

  test('is a rotation that failed when commands are forbidden, with the release resumed', async () => {
    const place = await fleet()
    const services = place.servicesWith()
    const exec = async () => fail({ reason: 'kube_forbidden', call: 'create pods/exec' })
    const outcome = await place.run({}, { ...services, exec })
    expect(outcome).toMatchObject({
      skipped: [
        {
          release: 'mariadb-shop',
          cause: 'RotationFailed',
          message: expect.stringContaining('kube_forbidden (create pods/exec)'),
        },
      ],
    })
    expect((await place.release('mariadb-shop')).spec.suspend).toBeUndefined()
  })
})

describe('what concerns all of them ends the job', () => {
  test.each([
    ['ask who we are', [{ when: ({ path }) => path.includes('selfsubjectreviews'), fault: forbidden }]],
    ['read the record', [{ when: ({ path }) => path.includes('/configmaps/'), fault: forbidden }]],
    [
      'list the definitions',
      [{ when: ({ path }) => path.includes('applicationdefinitions'), fault: forbidden }],
    ],
    [
      'write the record',
      [{ when: ({ method, path }) => method === 'PUT' && path.includes('/configmaps/'), fault: forbidden }],
    ],
    [
      'call the Kubernetes API',
      [
        {
          when: ({ path }) => path.includes('/helmreleases/'),
          fault: { answer: 401, body: statusBody(401, 'Unauthorized', '') },
        },
      ],
    ],
  ] as readonly [string, readonly Rule[]][])('%s', async (what, rules) => {
    const place = await fleet()
    expect(await spoiled(place, rules)).toMatchObject({ is: 'failed', what })
    expect(await place.job()).toMatchObject({ is: 'finished', skipped: [] })
  })

  test('a block that cannot be read, of a kind that is recorded', async () => {
    const place = await fleet()
    await place.admin.change('/apis/cozystack.io/v1alpha1/applicationdefinitions/redis', ({ spec }) => {
      spec.credentials = { format: 7 }
    })
    await place.admin.change('/apis/cozystack.io/v1alpha1/applicationdefinitions/mariadb', ({ spec }) => {
      spec.credentials = { format: 7 }
    })
    expect(await place.run()).toMatchObject({
      is: 'failed',
      what: 'read the definitions',
      failure: { reason: 'definition_wrong', definition: 'mariadb in the cluster' },
    })
  })

  test('a file that disagrees with the cluster', async () => {
    const place = await fleet()
    await place.admin.change('/apis/cozystack.io/v1alpha1/applicationdefinitions/mariadb', ({ spec }) => {
      spec.credentials.accounts = []
    })
    expect(await place.run({ files: fileDefinitions('MariaDB') })).toMatchObject({ is: 'failed' })
  })

  test('a record that somebody has edited', async () => {
    const place = await fleet()
    await place.admin.change(
      `/api/v1/namespaces/${PLATFORM}/configmaps/credential-conversion`,
      ({ data }) => {
        data[`${TENANT}.postgres-orders`] = 'done, I think'
      },
    )
    expect(await place.run()).toEqual({
      is: 'unreadable',
      keys: [`credential-conversion/${TENANT}.postgres-orders`],
    })
  })
})

test.each(['mariadb-shop', `.${TENANT}`, `${TENANT}.`])(
  'a key of the record that is of no release ends the job, and is named: %j',
  async (key) => {
    const place = await fleet()
    await place.admin.change(
      `/api/v1/namespaces/${PLATFORM}/configmaps/credential-conversion`,
      ({ data }) => {
        data[key] = data[`${TENANT}.mariadb-shop`]
      },
    )
    const unreadable = { is: 'unreadable', keys: [`credential-conversion/${key}`] }
    expect(await place.run()).toEqual(unreadable)
    expect(await place.before.run()).toEqual(unreadable)
  },
)

test('of releases of other namespaces it is said how many are not done', async () => {
  const place = await fleet()
  expect(await place.job({ namespace: 'tenant-umbrella' })).toMatchObject({ total: 0, elsewhere: 2 })
  expect(await place.job({ namespace: TENANT })).toMatchObject({ total: 2, elsewhere: 0 })
  expect(await place.job({ namespace: 'tenant-umbrella' })).toMatchObject({ total: 0, elsewhere: 0 })
})

test('a call that ends because the job is told to end is no failure', async () => {
  const place = await fleet()
  const services = place.servicesWith()
  const cutOff = async () => fail({ reason: 'kube_timeout', call: 'list ApplicationDefinitions' })
  const kube = { ...services.kube, listDefinitions: cutOff }
  const run = (signal: AbortSignal) => place.run({ signal }, { ...services, kube })
  expect(await run(AbortSignal.abort())).toMatchObject({ is: 'interrupted', releases: [], total: 0 })
  expect(await run(new AbortController().signal)).toMatchObject({ is: 'failed' })
})

describe('more skips of a release than an entry holds', () => {
  test('are all told, and counted in the record', async () => {
    const place = await jobPlace()
    const users = Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((user) => [user, {}]))
    await place.order('shop', { root: 'of-old' }, { kind: 'MariaDB', values: { users } })
    await place.flux()
    const messages = Object.keys(users).map((user) => expect.stringMatching(new RegExp(`^user "${user}": `)))
    const [hooked] = await place.before.convert()
    expect(hooked?.skips.map(({ message }) => message)).toEqual(messages)
    const entry = async () => (await place.before.record())[`${TENANT}.mariadb-shop`]
    const recorded = (await entry()).skipped.map(({ message }: { message: string }) => message)
    expect(recorded).toEqual([
      ...messages.slice(0, 2),
      expect.stringMatching(/^user "c": .* \(and 3 more\)$/),
    ])
    place.before.pass(60_000)
    const before = await entry()
    await place.before.convert()
    expect(await entry()).toEqual(before)

    await place.switchCharts()
    const { skipped } = await place.job()
    expect(skipped.map(({ message }) => message)).toEqual(messages)
    const elsewhere = await place.job({ namespace: 'tenant-umbrella' })
    expect(elsewhere.skipped.map(({ message }) => message)).toEqual([
      ...messages.slice(0, 2),
      expect.stringMatching(/\(and 3 more\)$/),
    ])
  })

  test('are counted beside those that are left out of what was short already', () => {
    const skips = (...messages: readonly string[]) =>
      messages.map((message) => ({ cause: 'PasswordMissing', message }) as const)
    const short = shortSkips(skips('a', 'b', 'c', 'd', 'e'))
    expect(short).toEqual(skips('a', 'b', 'c (and 2 more)'))
    expect(shortSkips(short)).toEqual(short)
    const added = [{ cause: 'NotSwitched', message: 'x' } as const, ...short]
    expect(shortSkips(added)).toEqual([added[0], ...skips('a', 'b (and 3 more)')])
    const [, , last] = shortSkips(skips('a', 'b', '"'.repeat(500), 'd'))
    expect(last?.message).toMatch(/^"+ \(and 1 more\)$/)
    expect(JSON.stringify(last?.message).length).toBeLessThanOrEqual(200)
  })
})

test('of another namespace nothing is done, and what is left there still counts', async () => {
  const place = await fleet()
  await place.changeRelease('mariadb-shop', ({ spec }) => {
    spec.suspend = true
  })
  await place.job()
  expect(await place.job({ namespace: 'tenant-umbrella' })).toMatchObject({
    total: 0,
    releases: [],
    skipped: [{ namespace: TENANT, release: 'mariadb-shop', cause: 'SuspendedElsewhere' }],
  })
})
