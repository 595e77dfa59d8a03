import { describe, expect, test } from 'vitest'
import { CAUSES, type CauseName } from '../../src/conversion/causes.ts'
import { chartVersionOf } from '../../src/conversion/chart-version.ts'
import {
  MAX_ENTRY_BYTES,
  type RecordedRelease,
  recordKeyOf,
  releaseOfKey,
  writeEntry,
} from '../../src/conversion/record.ts'
import {
  changeRecord,
  type EntryChange,
  MAX_ENTRIES,
  RECORD_NAMES,
  readRecord,
} from '../../src/conversion/record-store.ts'
import { hookPlace, PLATFORM } from './hook-place.ts'

const MAPS = `/api/v1/namespaces/${PLATFORM}/configmaps`
const entry = (chartVersion = '1.0.0'): RecordedRelease => ({
  uid: crypto.randomUUID(),
  kind: 'Postgres',
  chartVersion,
  at: '2026-10-02T09:14:07Z',
})

const set =
  (value: RecordedRelease): EntryChange =>
  () =>
    value

/** So many releases, each with an entry of its own. */
const fleet = (count: number, of: () => RecordedRelease = entry): ReadonlyMap<string, EntryChange> =>
  new Map(
    Array.from({ length: count }, (_, index) => [
      recordKeyOf('tenant-acme', `postgres-r${index}`),
      set(of()),
    ]),
  )

/** As long as anything may be: what people write, and what marks of JSON make of it. */
function longest(): RecordedRelease {
  const text = '"'.repeat(2000)
  const [first, second, third] = Object.keys(CAUSES)
    .sort((a, b) => b.length - a.length)
    .map((cause) => ({ cause: cause as CauseName, message: text, at: '2026-10-02T09:14:07Z' }))
  return {
    ...entry(chartVersionOf({ status: { lastAttemptedRevision: '\u0001'.repeat(500) } })),
    kind: 'K'.repeat(63),
    skipped: [first, second, third].flatMap((each) => each ?? []),
    done: '2026-10-02T09:14:07Z',
    notRotated: Array(20).fill('\u00fc"'.repeat(15)),
  }
}

async function recordOf(place = hookPlace()) {
  const read = await readRecord(place.services)
  if (!read.ok) throw new Error(read.failure.reason)
  return read.value
}

describe('the record', () => {
  test('of a few hundred releases is one ConfigMap, changed by one write', async () => {
    const place = hookPlace()
    expect(await changeRecord(place.services, fleet(500))).toMatchObject({ ok: true })
    expect(place.way.calls().map(({ method }) => method)).toEqual(['GET', 'POST'])
    expect((await recordOf(place)).releases.size).toBe(500)
  })

  test('of more goes on in the next, and each entry stays where it is', async () => {
    const place = hookPlace()
    await changeRecord(place.services, fleet(2 * MAX_ENTRIES + 1))
    expect(
      (await place.admin.get(MAPS)).items.map(
        ({ metadata }: { metadata: { name: string } }) => metadata.name,
      ),
    ).toEqual(RECORD_NAMES.slice(0, 3))
    expect((await recordOf(place)).releases.size).toBe(2 * MAX_ENTRIES + 1)
    const before = place.way.calls().length
    const last = recordKeyOf('tenant-acme', `postgres-r${2 * MAX_ENTRIES}`)
    await changeRecord(place.services, new Map([[last, set(entry('2.0.0'))]]))
    expect(
      place.way
        .calls()
        .slice(before)
        .filter(({ method }) => method !== 'GET')
        .map(({ method, path }) => `${method} ${path.split('?')[0]}`),
    ).toEqual([`PUT ${MAPS}/${RECORD_NAMES[2]}`])
    expect((await recordOf(place)).releases.get(last)?.chartVersion).toBe('2.0.0')
  })

  test('has room where something has gone', async () => {
    const place = hookPlace()
    await changeRecord(place.services, fleet(MAX_ENTRIES))
    await changeRecord(place.services, new Map([['tenant-acme.postgres-r7', () => undefined]]))
    await changeRecord(place.services, new Map([['tenant-acme.new', set(entry())]]))
    expect((await place.admin.get(MAPS)).items).toHaveLength(1)
  })

  test('fits into a ConfigMap whatever is said of every release', async () => {
    const place = hookPlace()
    expect(Buffer.byteLength(writeEntry(longest()))).toBeLessThanOrEqual(MAX_ENTRY_BYTES)
    expect(MAX_ENTRY_BYTES * MAX_ENTRIES).toBeLessThanOrEqual(1024 * 1024)
    expect(await changeRecord(place.services, fleet(MAX_ENTRIES, longest))).toMatchObject({ ok: true })
    expect((await place.admin.get(MAPS)).items).toHaveLength(1)
  })

  test('that would need more ConfigMaps than a Role names is not begun', async () => {
    const place = hookPlace()
    const most = RECORD_NAMES.length * MAX_ENTRIES
    expect(await changeRecord(place.services, fleet(most + 1))).toEqual({
      ok: false,
      failure: { reason: 'kube_invalid', call: `keep more than ${most} releases` },
    })
    expect((await place.admin.get(MAPS)).items).toEqual([])
    expect(await changeRecord(place.services, fleet(most))).toMatchObject({ ok: true })
    expect((await recordOf(place)).releases.size).toBe(most)
  })

  test('is changed from what it is at that moment, when others write too', async () => {
    const place = hookPlace()
    await changeRecord(place.services, fleet(1))
    const writers = Array.from({ length: 5 }, (_, index) =>
      changeRecord(place.services, new Map([[`tenant-acme.of-${index}`, set(entry())]])),
    )
    expect((await Promise.all(writers)).every(({ ok }) => ok)).toBe(true)
    expect((await recordOf(place)).releases.size).toBe(6)
  })

  test('keeps what somebody has edited, and names it', async () => {
    const place = hookPlace()
    await changeRecord(place.services, fleet(2))
    await place.admin.change(`${MAPS}/${RECORD_NAMES[0]}`, (map) => {
      map.data['tenant-acme.postgres-r1'] = '{"uid":1}'
    })
    await changeRecord(place.services, fleet(2))
    const { releases, unreadable } = await recordOf(place)
    expect(unreadable).toEqual(['credential-conversion/tenant-acme.postgres-r1'])
    expect([...releases.keys()]).toEqual(['tenant-acme.postgres-r0'])
  })

  test('keeps fields of an entry that a later version has added', async () => {
    const place = hookPlace()
    await changeRecord(place.services, fleet(1))
    const key = 'tenant-acme.postgres-r0'
    await place.admin.change(`${MAPS}/${RECORD_NAMES[0]}`, (map) => {
      map.data[key] = JSON.stringify({ ...JSON.parse(map.data[key]), later: 1 })
    })
    await changeRecord(
      place.services,
      new Map([[key, (current) => current && { ...current, done: '2026-10-03T00:00:00Z' }]]),
    )
    expect(await place.record()).toMatchObject({ [key]: { later: 1, done: '2026-10-03T00:00:00Z' } })
  })

  test('that has nothing to change is not written', async () => {
    const place = hookPlace()
    await changeRecord(place.services, fleet(1))
    const before = place.way.calls().length
    await changeRecord(place.services, new Map([['tenant-acme.postgres-r0', (current) => current]]))
    expect(
      place.way
        .calls()
        .slice(before)
        .every(({ method }) => method === 'GET'),
    ).toBe(true)
  })
})

test.each([
  ['tenant-acme.postgres-orders', { namespace: 'tenant-acme', release: 'postgres-orders' }],
  ['tenant-acme', undefined],
  ['.x', undefined],
  ['x.', undefined],
])('the key %j names %j', (key, release) => {
  expect(releaseOfKey(key)).toEqual(release)
})
