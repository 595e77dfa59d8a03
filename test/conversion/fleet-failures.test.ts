import { describe, expect, test } from 'vitest'
import { fail } from '../../src/core/result.ts'
import { type Rule, statusBody } from '../helpers/faults.ts'
import { hookPlace, PLATFORM, TENANT } from './hook-place.ts'

const RECORD = `/api/v1/namespaces/${PLATFORM}/configmaps/credential-conversion`
const SECRETS = `/api/v1/namespaces/${TENANT}/secrets`
const FORBIDDEN = { answer: 403, body: statusBody(403, 'Forbidden', 'no') } as const
const FAILS = { answer: 500, body: statusBody(500, 'InternalError', 'no leader') } as const

/** What concerns every release, and is no tenant's doing. */
describe('the hook fails as a whole', () => {
  const failing = async (...rules: readonly Rule[]) => {
    const place = hookPlace()
    for (const name of ['orders', 'books']) await place.order(name, { web: 'hunter2' })
    for (const rule of rules) place.way.add(rule)
    return { place, outcome: await place.run() }
  }

  test.each([
    ['cannot ask who it is', 'selfsubjectreviews', 'ask who we are'],
    ['cannot list releases', 'helmreleases', 'list HelmReleases'],
    ['cannot read the record', 'configmaps/credential-conversion', 'read the record'],
  ])('when it %s, and has written nothing', async (_what, part, what) => {
    const { place, outcome } = await failing({ when: ({ path }) => path.includes(part), fault: FAILS })
    expect(outcome).toMatchObject({ is: 'failed', what, failure: { reason: 'kube_error' } })
    expect(place.way.calls().filter(({ method, path }) => method !== 'GET' && !path.includes(part))).toEqual(
      part === 'selfsubjectreviews' ? [] : [expect.objectContaining({ method: 'POST' })],
    )
    expect(await place.secret('postgres-orders.web.account')).toBeUndefined()
  })

  test('when it cannot write the record, before any account Secret', async () => {
    const { place, outcome } = await failing({
      when: ({ method, path }) => method === 'POST' && path.includes('/configmaps'),
      fault: FORBIDDEN,
    })
    expect(outcome).toMatchObject({ is: 'failed', what: 'write the record' })
    expect(await place.secret('postgres-orders.web.account')).toBeUndefined()
  })

  test('when the platform has no namespace to keep the record in', async () => {
    const place = hookPlace()
    await place.order('orders', { web: 'hunter2' })
    const over = { ...place.services, platformNamespace: TENANT }
    expect(await place.run({ over })).toMatchObject({ is: 'failed', failure: { reason: 'kube_forbidden' } })
  })

  test('when its credentials are refused under way, and goes no further', async () => {
    const { place, outcome } = await failing({
      when: ({ path }) => path.startsWith(SECRETS),
      fault: { answer: 401, body: statusBody(401, 'Unauthorized', 'Unauthorized') },
    })
    expect(outcome).toMatchObject({ is: 'failed', failure: { reason: 'kube_unauthenticated' } })
    expect(place.way.calls().filter(({ path }) => path.startsWith(SECRETS)).length).toBeLessThan(3)
  })

  test.each([
    ['read', 'GET'],
    ['write', 'POST'],
  ])('when it may not %s any account Secret: that is no tenant’s doing', async (_what, verb) => {
    const { place, outcome } = await failing({
      when: ({ method, path }) => method === verb && path.startsWith(SECRETS),
      fault: FORBIDDEN,
    })
    expect(outcome).toMatchObject({
      is: 'failed',
      what: 'read and write account Secrets',
      failure: { reason: 'kube_forbidden' },
    })
    // What it has seen of each is kept all the same.
    expect(Object.values(await place.record()).map(({ skipped }) => skipped.length)).toEqual([1, 1])
  })

  test.each([true, false])(
    'when something changes what is stored on its way, dry run: %s',
    async (dryRun) => {
      const place = hookPlace()
      for (const name of ['orders', 'books', 'ledger']) await place.order(name, { web: 'hunter2' })
      const { kube } = place.services
      let written = 0
      const createSecret: typeof kube.createSecret = async (secret, options) => {
        written += 1
        return kube.createSecret({ ...secret, data: { ...secret.data, password: btoa('vault:x') } }, options)
      }
      const over = { ...place.services, kube: { ...kube, createSecret } }
      const outcome = await place.run({ over, dryRun, concurrency: 1 })
      const failure = { reason: 'value_altered', secret: 'postgres-books.web.account', dryRun }
      expect(outcome).toMatchObject({ is: 'failed', failure })
      expect(written).toBe(1)
      expect(place.logged.at(-1)).toMatchObject({
        event: 'conversion_failed',
        fields: { release: 'postgres-books' },
      })
    },
  )

  test('when an entry of the record cannot be read any more, rather than guess what it said', async () => {
    const { place } = await failing()
    await place.admin.change(RECORD, (map) => {
      map.data[`${TENANT}.postgres-orders`] = 'edited'
    })
    const before = await place.stored()
    expect(await place.run()).toEqual({
      is: 'unreadable',
      keys: [`credential-conversion/${TENANT}.postgres-orders`],
    })
    expect(await place.stored()).toEqual(before)
  })

  test('not by what concerns one release, and tries again what may pass', async () => {
    const { outcome } = await failing(
      { when: ({ path }) => path.startsWith(SECRETS), fault: FAILS, times: 2 },
      { when: ({ path }) => path.startsWith(SECRETS), fault: { breaks: 'after' }, times: 2 },
    )
    expect(outcome).toMatchObject({ is: 'finished', total: 2 })
    expect(outcome).toMatchObject({ releases: [{ skips: [] }, { skips: [] }] })
  })
})

describe('a release that the job was done with', () => {
  test('is left alone', async () => {
    const place = hookPlace()
    await place.order('orders', { web: 'hunter2' })
    await place.convert()
    await place.admin.change(RECORD, (map) => {
      const key = `${TENANT}.postgres-orders`
      map.data[key] = JSON.stringify({ ...JSON.parse(map.data[key]), done: '2026-10-03T00:00:00Z' })
    })
    await place.admin.remove(`${SECRETS}/postgres-orders.web.account`)
    const before = await place.stored()
    expect(await place.convert()).toMatchObject([{ isDone: true, accounts: [], skips: [] }])
    expect(await place.stored()).toEqual(before)
  })
})

describe('a hook that is told to end', () => {
  test.each(['whoAmI', 'listHelmReleases'] as const)(
    'while it has begun nothing is no failure: %s',
    async (name) => {
      const place = hookPlace()
      await place.order('orders', { web: 'hunter2' })
      const cutOff = async () => fail({ reason: 'kube_timeout', call: 'list HelmReleases' })
      const over = { ...place.services, kube: { ...place.services.kube, [name]: cutOff } }
      const ended = { is: 'interrupted', releases: [], total: 0 }
      expect(await place.run({ over, signal: AbortSignal.abort() })).toEqual(ended)
      expect(await place.run({ over })).toMatchObject({ is: 'failed' })
    },
  )

  test('ends what it has begun, says so, and goes on when it is run again', async () => {
    const place = hookPlace()
    const names = ['a', 'b', 'c', 'd', 'e']
    for (const name of names) await place.order(name, { web: name === 'a' ? '' : 'hunter2' })
    const ending = new AbortController()
    const seen: string[] = []
    const outcome = await place.run({
      concurrency: 1,
      signal: ending.signal,
      onProgress: (done, total) => {
        seen.push(`${done}/${total}`)
        if (done === 2) ending.abort()
      },
    })
    expect(seen).toEqual(['1/5', '2/5'])
    expect(outcome).toMatchObject({ is: 'interrupted', total: 5 })
    expect('releases' in outcome && outcome.releases).toHaveLength(2)
    expect(await place.record()).toMatchObject({ [`${TENANT}.postgres-a`]: { skipped: [{}] } })
    const releases = await place.convert()
    const results = releases.flatMap(({ accounts }) => accounts.map(({ result }) => result))
    expect(results.sort()).toEqual(['converted', 'converted', 'converted', 'unchanged'])
  })
})

test('what was left out once and is mended is in the record no more', async () => {
  const place = hookPlace()
  await place.order('orders', { web: '' })
  await place.convert()
  const key = `${TENANT}.postgres-orders`
  const { [key]: before } = await place.record()
  expect(before.skipped).toHaveLength(1)
  await place.changeSecret('postgres-orders-credentials', (secret) => {
    secret.data.web = btoa('hunter2')
  })
  place.pass(60_000)
  await place.convert()
  const { skipped: _mended, ...rest } = before
  expect(await place.record()).toEqual({ [key]: rest })
})
