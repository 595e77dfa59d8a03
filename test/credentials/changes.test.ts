import { expect, test } from 'vitest'
import { describeChange } from '../../src/credentials/changes.ts'
import type { HistoryEntry, Operation } from '../../src/credentials/record.ts'
import { accountAnnotations, accountSecret, CREDENTIAL } from '../helpers/orders.ts'

const withHistory = (history: string) =>
  accountSecret({
    metadata: { annotations: accountAnnotations({ 'credentials.cozystack.io/history': history }) },
  })

const entry = (operation: Operation): HistoryEntry => ({
  operation,
  at: '2026-10-02T09:14:07Z',
  by: 'jane@example.org',
})

test.each<[operation: Operation, message: string]>([
  [
    'Mint',
    'credential postgres-orders.web changed: password issued by jane@example.org at 2026-10-02T09:14:07Z',
  ],
  [
    'Revoke',
    'credential postgres-orders.web changed: password revoked by jane@example.org at 2026-10-02T09:14:07Z',
  ],
  [
    'Migrate',
    'credential postgres-orders.web changed: password migrated by jane@example.org at 2026-10-02T09:14:07Z',
  ],
  ['Create', 'credential postgres-orders.web created at 2026-10-02T09:14:07Z'],
])('after a %s the message names who and when', (operation, message) => {
  const secret = withHistory(JSON.stringify([entry(operation), entry('Create')]))
  expect(describeChange(CREDENTIAL, secret)).toBe(message)
  const before = accountSecret({ data: { password: 'b2xk' } })
  expect(describeChange(CREDENTIAL, secret, before)).toBe(message)
})

test('a credential that is gone no longer exists', () => {
  expect(describeChange(CREDENTIAL, undefined)).toBe('credential postgres-orders.web no longer exists')
})

test('when the stored value is the one that was read, only metadata has moved', () => {
  const secret = withHistory(JSON.stringify([entry('Mint')]))
  expect(describeChange(CREDENTIAL, secret, accountSecret())).toBe(
    'credential postgres-orders.web changed: read it again',
  )
})

test('a mint of the same person in the same second is another one all the same', () => {
  const before = withHistory(JSON.stringify([entry('Mint')]))
  const now = { ...before, data: { ...before.data, password: 'bmV3' } }
  expect(describeChange(CREDENTIAL, now, before)).toContain('issued by jane@example.org')
})

test.each(['', '[]', '{', 'null'])('a history that cannot be read (%j) names nobody', (history) => {
  expect(describeChange(CREDENTIAL, withHistory(history))).toBe(
    'credential postgres-orders.web changed: read it again',
  )
})

test('a Secret that is not ours names nobody', () => {
  const foreign = accountSecret({
    metadata: { annotations: { 'credentials.cozystack.io/history': JSON.stringify([entry('Mint')]) } },
  })
  expect(describeChange(CREDENTIAL, foreign)).toBe('credential postgres-orders.web changed: read it again')
})
