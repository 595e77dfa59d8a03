import { expect, test } from 'vitest'
import { viewOf } from '../../src/credentials/view.ts'
import { humanDuration, tableOf } from '../../src/handlers/table.ts'
import { accountSecret, NOW } from '../helpers/orders.ts'

const MINUTE = 60
const HOUR = 3600
const DAY = 24 * HOUR
const YEAR = 365 * DAY

// Times and texts of k8s.io/apimachinery/pkg/util/duration/duration_test.go, in whole seconds.
test.each<[seconds: number, text: string]>([
  [1, '1s'],
  [70, '70s'],
  [190, '3m10s'],
  [70 * MINUTE, '70m'],
  [47 * HOUR, '47h'],
  [49 * HOUR, '2d1h'],
  [(8 * 24 + 2) * HOUR, '8d'],
  [367 * DAY, '367d'],
  [2 * YEAR + 25 * HOUR, '2y1d'],
  [8 * YEAR + 2 * HOUR, '8y'],
  [-2, '<invalid>'],
  [-1, '0s'],
  [0, '0s'],
  [2 * MINUTE - 1, '119s'],
  [2 * MINUTE, '2m'],
  [2 * MINUTE + 1, '2m1s'],
  [10 * MINUTE - 1, '9m59s'],
  [10 * MINUTE, '10m'],
  [10 * MINUTE + 1, '10m'],
  [3 * HOUR - 1, '179m'],
  [3 * HOUR, '3h'],
  [3 * HOUR + MINUTE, '3h1m'],
  [8 * HOUR - 1, '7h59m'],
  [8 * HOUR, '8h'],
  [8 * HOUR + 59 * MINUTE, '8h'],
  [2 * DAY - 1, '47h'],
  [2 * DAY, '2d'],
  [2 * DAY + HOUR, '2d1h'],
  [8 * DAY - 1, '7d23h'],
  [8 * DAY, '8d'],
  [8 * DAY + 23 * HOUR, '8d'],
  [2 * YEAR - 1, '729d'],
  [2 * YEAR, '2y'],
  [2 * YEAR + 23 * HOUR + 59 * MINUTE, '2y'],
  [2 * YEAR + DAY - 1, '2y'],
  [2 * YEAR + DAY, '2y1d'],
  [3 * YEAR, '3y'],
  [7 * YEAR, '7y'],
  [8 * YEAR - 1, '7y364d'],
  [8 * YEAR, '8y'],
  [8 * YEAR + 364 * DAY, '8y'],
  [9 * YEAR, '9y'],
])('an age of %d seconds reads %s, as kubectl writes it', (seconds, text) => {
  expect(humanDuration(seconds)).toBe(text)
})

const options = { apiVersion: 'core.cozystack.io/v1alpha1', includeObject: 'Metadata', now: NOW } as const

/** A Table of one account Secret that was created at this time. */
function tableAt(
  creationTimestamp: string | undefined,
  includeObject: 'None' | 'Metadata' | 'Object' = 'Metadata',
) {
  const { creationTimestamp: _created, ...metadata } = accountSecret().metadata
  const secret = accountSecret({ metadata })
  const view = viewOf({
    ...secret,
    metadata: { ...metadata, ...(creationTimestamp === undefined ? {} : { creationTimestamp }) },
  })
  if (view === undefined) throw new Error('the fixture is no account Secret')
  return JSON.parse(JSON.stringify(tableOf([view], { resourceVersion: '7' }, { ...options, includeObject })))
}

test('AGG-04: a Table has a cell for every column, and no column for a password or a verifier', () => {
  const table = tableAt('2026-10-02T09:12:00Z')
  expect(table).toMatchObject({
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { resourceVersion: '7' },
  })
  const columns = table.columnDefinitions.map(({ name, priority }: { name: string; priority: number }) => [
    name,
    priority,
  ])
  expect(columns).toEqual([
    ['Name', 0],
    ['Application', 0],
    ['User', 0],
    ['Origin', 0],
    ['Age', 0],
    ['Kind', 1],
    ['Issued', 1],
    ['By', 1],
  ])
  expect(table.rows[0].cells).toEqual([
    'postgres-orders.web',
    'orders',
    'web',
    'Minted',
    '2m7s',
    'Postgres',
    '2026-10-01T08:00:00Z',
    'jane@example.org',
  ])
  expect(JSON.stringify(table)).not.toContain('cmV2ZXJzZWQ6b2xk')
})

test.each([
  // A clock that is one and a half seconds ahead is tolerated, two seconds are not.
  ['2026-10-02T09:14:08.600Z', '0s'],
  ['2026-10-02T09:14:09.200Z', '<invalid>'],
  [undefined, '<unknown>'],
  ['yesterday', '<unknown>'],
])('a creation at %s is %s old', (createdAt, age) => {
  expect(tableAt(createdAt).rows[0].cells[4]).toBe(age)
})

test('a row carries as much of its object as was asked for', () => {
  expect(tableAt(undefined, 'None').rows[0]).not.toHaveProperty('object')
  const { object } = tableAt(undefined, 'Metadata').rows[0]
  expect(object).toMatchObject({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' })
  expect(object.metadata.name).toBe('postgres-orders.web')
  expect(object).not.toHaveProperty('spec')
  expect(tableAt(undefined, 'Object').rows[0].object).toMatchObject({
    kind: 'Credential',
    apiVersion: 'core.cozystack.io/v1alpha1',
    spec: { user: 'web' },
  })
})
