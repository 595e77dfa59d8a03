import { expect, test } from 'vitest'
import type { HookServices } from '../../src/conversion/hook.ts'
import type { Fetch } from '../../src/core/deps.ts'
import type { Anything } from '../contract/kube.ts'
import {
  accountSecret,
  type HookPlace,
  hookPlace,
  hookServicesOver,
  NEIGHBOUR,
  TENANT,
} from './hook-place.ts'

/** Of formats without a salt: then two runs store the same. */
async function fleet(): Promise<HookPlace> {
  const place = hookPlace()
  const seeded = await place.order('events', { etl: 'one', app: 'two' }, { kind: 'ClickHouse' })
  await place.admin.create(`/api/v1/namespaces/${TENANT}/secrets`, accountSecret(seeded, 'etl'))
  await place.order(
    'shop',
    { till: 'three', 'a.b': 'x', 'a-b': 'x' },
    { kind: 'MariaDB', namespace: NEIGHBOUR },
  )
  await place.order('books', { clerk: '', owner: 'four\n' }, { kind: 'MariaDB' })
  await place.order('lost', { web: 'five' }, { kind: 'MariaDB', before: false })
  return place
}

/** A process that dies at its nth call: the API server has done it, or never got it. Nothing follows. */
function dyingAt(fetch: Fetch, last: number, isDone: boolean): Fetch {
  let calls = 0
  return async (request) => {
    calls += 1
    if (calls === last && isDone) await fetch(request)
    if (calls >= last) throw Object.assign(new Error('killed'), { code: 'ECONNRESET' })
    return fetch(request)
  }
}

const over = (place: HookPlace, fetch: Fetch): HookServices => hookServicesOver(fetch, place.services.deps)

/** Without what is another each time: UIDs become names, and versions go. */
async function endState(place: HookPlace): Promise<unknown> {
  const stored = await place.stored()
  const uids = Object.entries(stored).map(([name, { metadata }]) => [metadata.uid, name] as const)
  const text = JSON.stringify(stored, (key, value) =>
    ['resourceVersion', 'creationTimestamp', 'managedFields'].includes(key) ? undefined : value,
  )
  const named = uids.reduce((all, [uid, name]) => all.replaceAll(uid, name), text)
  const objects: readonly Anything[] = Object.values(JSON.parse(named))
  // An Event's name comes from a UID.
  const unnamed = objects.map((each) =>
    each.reason === undefined ? each : { ...each, metadata: { ...each.metadata, name: '', uid: '' } },
  )
  return unnamed.map((each) => JSON.stringify(each)).sort()
}

async function callsOfOneRun(): Promise<number> {
  const place = await fleet()
  await place.convert({ concurrency: 1 })
  return place.way.calls().length
}

const calls = await callsOfOneRun()
const whole = await fleet()
await whole.convert({ concurrency: 1 })
const expected = await endState(whole)

test('a run makes calls enough to be killed at', () => {
  expect(calls).toBeGreaterThan(25)
})

test.each(Array.from({ length: calls }, (_, index) => index + 1))(
  'killed at its call %i, done or not, a run ends where one ends that nobody kills',
  async (last) => {
    for (const isDone of [false, true]) {
      const place = await fleet()
      await place.run({ concurrency: 1, over: over(place, dyingAt(place.way.fetch, last, isDone)) })
      await place.convert({ concurrency: 1 })
      expect(await endState(place)).toEqual(expected)
    }
  },
)

test('killed again and again, several releases at a time, it ends there too', async () => {
  const place = await fleet()
  for (let last = 2; last < calls; last += 3) {
    await place.run({ over: over(place, dyingAt(place.way.fetch, last, last % 2 === 0)) })
  }
  await place.convert()
  expect(await endState(place)).toEqual(expected)
})

test('two runs at the same time end there too', async () => {
  const place = await fleet()
  const outcomes = await Promise.all([place.run(), place.run()])
  expect(outcomes.map(({ is }) => is)).toEqual(['finished', 'finished'])
  await place.convert()
  expect(await endState(place)).toEqual(expected)
})
