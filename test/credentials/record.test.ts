import { expect, test } from 'vitest'
import {
  addEntry,
  type HistoryEntry,
  mayBeKnown,
  readRecord,
  writeRecord,
} from '../../src/credentials/record.ts'

const ORIGIN = 'credentials.cozystack.io/origin'
const HISTORY = 'credentials.cozystack.io/history'

const entry = (second: number, more: Partial<HistoryEntry> = {}): HistoryEntry => ({
  operation: 'Mint',
  at: `2026-10-02T09:14:${String(second % 60).padStart(2, '0')}Z`,
  by: `user-${second}`,
  ...more,
})
const annotated = (history: string | undefined, origin = 'Minted') => ({
  [ORIGIN]: origin,
  ...(history === undefined ? {} : { [HISTORY]: history }),
})

test.each(['NotIssued', 'Migrated', 'Minted', 'Revoked'] as const)(
  'a record of origin %s comes back as written',
  (origin) => {
    const record = {
      origin,
      history: [entry(2, { impersonator: 'root' }), entry(1, { operation: 'Create' })],
    }
    expect(readRecord(writeRecord(record))).toEqual(record)
  },
)

test('the annotations are the two that the documentation names, readable by a person', () => {
  const written = writeRecord({ origin: 'Minted', history: [entry(7, { by: 'jane@example.org' })] })
  expect(written).toEqual({
    'credentials.cozystack.io/origin': 'Minted',
    'credentials.cozystack.io/history':
      '[{"operation":"Mint","at":"2026-10-02T09:14:07Z","by":"jane@example.org"}]',
  })
})

test.each([
  undefined,
  {},
  { [HISTORY]: '[]' },
  annotated('[]', ''),
  annotated('[]', 'minted'),
  annotated('[]', 'constructor'),
])('the annotations %j are no record', (annotations) => {
  expect(readRecord(annotations)).toBeUndefined()
})

test('an inherited property is no annotation', () => {
  expect(readRecord(Object.create(annotated('[]')))).toBeUndefined()
})

test.each([
  undefined,
  '',
  'null',
  '{}',
  '"Mint"',
  '[',
  '[null,1,"x",[],{}]',
  '[{"operation":"Delete","at":"2026-10-02T09:14:07Z","by":"x"}]',
  '[{"operation":"Mint","at":"yesterday","by":"x"}]',
  '[{"operation":"Mint","at":"2026-10-02T09:14:07.123Z","by":"x"}]',
  '[{"operation":"Mint","at":"2026-10-02T09:14:07Z"}]',
  '[{"operation":"Mint","at":"2026-10-02T09:14:07Z","by":7}]',
])('a history that a person has spoilt (%j) reads as an empty one, with the origin as found', (history) => {
  expect(readRecord(annotated(history, 'Migrated'))).toEqual({ origin: 'Migrated', history: [] })
})

test('of an entry only its own four fields are read', () => {
  const history = JSON.stringify([{ ...entry(1), password: 'P', verifier: 'V' }])
  expect(readRecord(annotated(history))?.history).toEqual([entry(1)])
})

test('NAM-08: a history of 2,000 entries is cut to ten by the next write, newest first', () => {
  const found = readRecord(
    annotated(JSON.stringify(Array.from({ length: 2000 }, (_, index) => entry(index)))),
  )
  const history = addEntry(found?.history ?? [], entry(59, { by: 'jane' }))
  expect(history).toHaveLength(10)
  expect(history[0]).toEqual(entry(59, { by: 'jane' }))
  expect(history.slice(1)).toEqual(Array.from({ length: 9 }, (_, index) => entry(index)))
})

test('NAM-08: 500 writes by people with the longest names stay far below what annotations may hold', () => {
  let history: readonly HistoryEntry[] = []
  for (let i = 0; i < 500; i += 1) {
    // A control character takes six bytes in JSON, which is the worst that a name can do.
    history = addEntry(history, entry(i, { by: '\u0001'.repeat(5000), impersonator: '\u0001'.repeat(5000) }))
  }
  const written = writeRecord({ origin: 'Minted', history })
  const bytes = Object.entries(written).reduce((sum, pair) => sum + Buffer.byteLength(pair.join('')), 0)
  // TotalAnnotationSizeLimitB of k8s.io/apimachinery/pkg/api/validation.
  expect(bytes).toBeLessThan(262_144 / 4)
  expect(readRecord(written)?.history).toEqual(history)
})

test('a name is cut at 256 bytes, at a whole character, when written and when read', () => {
  const name = `${'a'.repeat(254)}😀`
  const cut = entry(1, { by: 'a'.repeat(254), impersonator: 'a'.repeat(254) })
  expect(addEntry([], entry(1, { by: name, impersonator: name }))).toEqual([cut])
  const found = readRecord(annotated(JSON.stringify([entry(1, { by: name, impersonator: name })])))
  expect(found?.history).toEqual([cut])
})

test('OBS-06: whatever an entry carries beside, a written one has operation, time, actor and impersonator only', () => {
  const spoilt = { ...entry(1, { impersonator: 'root' }), password: 'Zq3xN8vT1mKc7LrW', salt: 'AAEC' }
  const written = writeRecord({ origin: 'Minted', history: addEntry([], spoilt) })
  expect(JSON.parse(written[HISTORY] ?? '')).toEqual([entry(1, { impersonator: 'root' })])
})

test('a password that was shown or carried over may be known; one that was thrown away may not', () => {
  expect((['Minted', 'Migrated', 'NotIssued', 'Revoked'] as const).map(mayBeKnown)).toEqual([
    true,
    true,
    false,
    false,
  ])
})
