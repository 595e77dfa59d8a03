import { expect, test } from 'vitest'
import { decode } from '../contract/kube.ts'
import { PLATFORM } from './hook-place.ts'
import { type Around, type JobPlace, jobPlace, takes } from './job-place.ts'

/** One release of each kind, its chart switched, and the job not run. */
async function switched(): Promise<JobPlace> {
  const place = await jobPlace()
  await place.order('orders', { web: 'hunter2' })
  await place.order(
    'shop',
    { app: 'hunter4', root: 'root-of-old' },
    { kind: 'MariaDB', values: { users: { app: { password: 'hunter4' } } } },
  )
  await place.order(
    'events',
    { etl: 'hunter5', backup: 'backup-of-old' },
    { kind: 'ClickHouse', values: { users: { etl: {} } } },
  )
  await place.flux()
  await place.before.convert()
  await place.switchCharts()
  return place
}

/** A process that is killed before its nth call, which is after the one before: nothing of it ever goes on. */
function killedBefore(nth: number): { readonly around: Around; readonly killed: Promise<void> } {
  const { promise: killed, resolve: kill } = Promise.withResolvers<void>()
  let calls = 0
  const around: Around = async (call) => {
    calls += 1
    if (calls < nth) return call()
    kill()
    return new Promise(() => {})
  }
  return { around, killed }
}

async function countCalls(): Promise<number> {
  const place = await switched()
  let calls = 0
  const services = place.servicesWith((call) => {
    calls += 1
    return call()
  })
  await place.run({ concurrency: 1 }, services)
  return calls
}

/** What an engine takes stands somewhere: where its readers look, or in what is pending. */
async function expectNoLockout(place: JobPlace): Promise<void> {
  const pending = (await secretsOf(place))
    .filter(({ metadata }) => metadata.namespace === PLATFORM && /^credential-rotation-/.test(metadata.name))
    .flatMap(({ data }) => JSON.parse(decode(data.rotation)).accounts)
    .flatMap(({ password, previous }) => [password, decode(previous)])
  for (const [name, engine] of place.engines) {
    const shown = Object.values((await place.data(`${name}-credentials`)) ?? {})
    expect([...shown, ...pending].some((password) => takes(engine, password))).toBe(true)
  }
}

async function secretsOf({ before }: JobPlace) {
  const stored = await before.stored()
  return Object.entries(stored).flatMap(([name, object]) => (name.startsWith('Secret') ? [object] : []))
}

/** All that does not depend on chance or the clock. */
async function endState(place: JobPlace) {
  const stored = await place.before.stored()
  const record = Object.entries(await place.before.record()).map(([key, { done, skipped, notRotated }]) => ({
    key,
    isDone: done !== undefined,
    skipped,
    notRotated,
  }))
  return {
    objects: Object.entries(stored)
      .filter(([name]) => !name.startsWith('Event'))
      .map(([name, { metadata, data, spec }]) => ({
        name,
        spec,
        annotations: Object.keys(metadata.annotations ?? {}).toSorted(),
        keys: Object.keys(data ?? {}).toSorted(),
      })),
    record,
    engines: await Promise.all(
      [...place.engines].map(async ([name, engine]) => ({
        name,
        changes: engine.changes,
        takes: Object.entries((await place.data(`${name}-credentials`)) ?? {}).flatMap(([key, password]) =>
          takes(engine, password) ? [key] : [],
        ),
      })),
    ),
  }
}

test('a job that is killed at any of its calls and run again rotates once, locks nobody out, and ends the same', async () => {
  const whole = await switched()
  await whole.job({ concurrency: 1 })
  const expected = await endState(whole)
  expect(expected.engines).toEqual([
    { name: 'mariadb-shop', changes: 1, takes: ['root'] },
    { name: 'clickhouse-events', changes: 1, takes: ['backup'] },
  ])
  expect(expected.objects.some(({ spec }) => spec?.suspend !== undefined)).toBe(false)

  const calls = await countCalls()
  expect(calls).toBeGreaterThan(40)
  for (let nth = 1; nth <= calls; nth += 1) {
    const place = await switched()
    const { around, killed } = killedBefore(nth)
    await Promise.race([place.run({ concurrency: 1 }, place.servicesWith(around)), killed])
    await expectNoLockout(place)
    await place.flux()
    await expectNoLockout(place)
    const again = await place.job({ concurrency: 1 })
    const state = { again: again.skipped, ...(await endState(place)) }
    expect(state, `killed before call ${nth} of ${calls}`).toEqual({ again: [], ...expected })
  }
}, 120_000)

test('two jobs at a time rotate once', async () => {
  const place = await switched()
  const outcomes = await Promise.all([place.job(), place.job()])
  expect(outcomes.map(({ skipped }) => skipped)).toEqual([[], []])
  const { engines, record } = await endState(place)
  expect(engines).toEqual([
    { name: 'mariadb-shop', changes: 1, takes: ['root'] },
    { name: 'clickhouse-events', changes: 1, takes: ['backup'] },
  ])
  expect(record.map(({ isDone }) => isDone)).toEqual([true, true, true])
})
