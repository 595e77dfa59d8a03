import { describe, expect, test } from 'vitest'
import { encodeData } from '../../src/core/text.ts'
import { type PlanInput, planOf } from '../../src/credentials/plan.ts'
import type { Declarations } from '../../src/definitions/resolve.ts'
import type { HelmRelease, StoredSecret } from '../../src/k8s/objects.ts'
import {
  accountAnnotations,
  accountSecret,
  DECLARED_BY,
  NOW,
  NOW_TEXT,
  release,
  rules,
} from '../helpers/orders.ts'

/** Of accounts that a release no longer declares: two looks, ten minutes apart. */

const GRACE_MS = 600_000
const SINCE = 'credentials.cozystack.io/undeclared-since'
/** Ten minutes before now, to the second, and a second later. */
const LONG_AGO = '2026-10-02T09:04:07Z'
const TOO_LATE = '2026-10-02T09:04:08Z'

type Change = Parameters<typeof accountSecret>[0]

const old = (since?: string, { metadata, ...change }: Change = {}): StoredSecret =>
  accountSecret({
    data: { username: encodeData('old'), password: encodeData(`reversed:${'a'.repeat(32)}`) },
    ...change,
    metadata: {
      name: 'postgres-orders.old.account',
      annotations: accountAnnotations(since === undefined ? {} : { [SINCE]: since }),
      ...metadata,
    },
  })

const nothing: Declarations = { accounts: [], malformed: [], causes: [], complete: true, valuesFrom: [] }
const tenant = (username: string) => ({ username, owner: 'tenant' }) as const

/** Everything that must be so for a delete. */
const landed = {
  ...release,
  metadata: { ...release.metadata, generation: 4 },
  spec: { values: { users: {} } },
  status: {
    observedGeneration: 4,
    conditions: [{ type: 'Ready', status: 'True', observedGeneration: 4 }],
    history: [{ version: 1 }],
  },
} as const satisfies HelmRelease

const plan = (secret: StoredSecret, change: Partial<PlanInput> = {}): readonly string[] =>
  planOf({
    release: landed,
    rules,
    declared: nothing,
    secrets: new Map([[secret.metadata.name, secret]]),
    now: NOW,
    graceMs: GRACE_MS,
    ...change,
  }).map((step) => ('name' in step ? `${step.do} ${step.name.account}` : step.do))

describe('the first look', () => {
  test.each(['NotIssued', 'Migrated', 'Minted', 'Revoked'])(
    'marks, whoever knows the password: %s',
    (origin) => {
      const annotations = accountAnnotations({ 'credentials.cozystack.io/origin': origin })
      expect(plan(old(undefined, { metadata: { annotations } }))).toEqual(['mark old'])
    },
  )

  test.each([
    ['is empty', ''],
    ['is no time', 'yesterday'],
    ['is a number', '1759396447'],
    ['has a fraction of a second', '2026-10-02T09:04:07.000Z'],
    ['has an offset', '2026-10-02T09:04:07+00:00'],
    ['is in the thirteenth month', '2026-13-02T09:04:07Z'],
    ['is a year of five digits', '12026-10-02T09:04:07Z'],
    // The clock was set back, or somebody wrote it.
    ['is still to come', '2026-10-02T09:14:08Z'],
    ['is of another century', '2126-10-02T09:04:07Z'],
  ])('is now when the mark %s', (_, since) => {
    expect(plan(old(since))).toEqual(['mark old'])
  })
})

describe('the second look', () => {
  test.each([
    ['nothing before ten minutes have passed', TOO_LATE, []],
    ['nothing in the very second of the mark', NOW_TEXT, []],
    ['deletes after ten minutes', LONG_AGO, ['delete old']],
    ['deletes after a year', '2025-10-02T09:04:07Z', ['delete old']],
  ])('%s', (_, since, expected) => {
    expect(plan(old(since))).toEqual(expected)
  })

  test('waits as long as it is told', () => {
    expect(plan(old(LONG_AGO), { graceMs: GRACE_MS + 1000 })).toEqual([])
    expect(plan(old(TOO_LATE), { graceMs: 0 })).toEqual(['delete old'])
  })
})

const status = (change: object) => ({ release: { ...landed, status: { ...landed.status, ...change } } })
const condition = (change: object, ...more: readonly object[]) =>
  status({ conditions: [{ ...landed.status.conditions[0], ...change }, ...more] })
const takes = (reference: object) => ({ release: { ...landed, spec: { valuesFrom: [reference] } } })
const NAME = 'postgres-orders.old.account'

/** Each row takes one of the conditions away: no mark, and no delete. */
describe('nothing is marked or deleted', () => {
  test('unless everything is so', () => {
    expect(plan(old())).toEqual(['mark old'])
    expect(plan(old(LONG_AGO))).toEqual(['delete old'])
  })

  test.each<[string, Partial<PlanInput>]>([
    ['while the release is suspended', { release: { ...landed, spec: { suspend: true } } }],
    ['before Flux has seen this generation', status({ observedGeneration: 3 })],
    ['when the generation is a text', status({ observedGeneration: '4' })],
    ['without a status', { release: { ...landed, status: {} } }],
    ['while the release is not ready', condition({ status: 'False' })],
    ['while nobody knows whether it is', condition({ status: 'Unknown' })],
    ['when it was ready in an earlier generation', condition({ observedGeneration: 3 })],
    ['while an action is under way', condition({}, { type: 'Reconciling', status: 'True' })],
    ['without conditions', status({ conditions: [] })],
    [
      'while the release takes values from it',
      takes({ kind: 'Secret', name: NAME, targetPath: '_accounts.x' }),
    ],
    ['while it takes values from it, maybe', takes({ kind: 'Secret', name: NAME, optional: true })],
    ['when what it takes values from is no list', { release: { ...landed, spec: { valuesFrom: {} } } }],
    [
      'while the release is being deleted',
      { release: { ...landed, metadata: { ...landed.metadata, deletionTimestamp: NOW_TEXT } } },
    ],
    ['while the account is declared', { declared: { ...nothing, accounts: [tenant('old')] } }],
    ['while a user of another case is', { declared: { ...nothing, accounts: [tenant('OLD')] } }],
    [
      'while two users of that name are',
      { declared: { ...nothing, accounts: [tenant('OLD'), tenant('Old')] } },
    ],
    [
      'while it is the platform’s',
      { declared: { ...nothing, accounts: [{ username: 'old', owner: 'platform' }] } },
    ],
    [
      'while one of the platform’s has its name',
      { declared: { ...nothing, accounts: [{ username: 'OLD', owner: 'platform' }] } },
    ],
    [
      'while an entry is malformed, another one at that',
      {
        declared: {
          ...nothing,
          complete: false,
          malformed: [{ username: 'x', cause: { reason: 'r', message: 'm' } }],
        },
      },
    ],
    [
      'when a source failed',
      { declared: { ...nothing, complete: false, causes: [{ reason: 'r', message: 'm' }] } },
    ],
  ])('%s', (_, change) => {
    const taken = [old(), old(LONG_AGO)].flatMap((secret) => plan(secret, change))
    expect(taken.filter((step) => !/^(warn|adopt|replace)/.test(step))).toEqual([])
  })

  const stranger = (change: Change) => (since: string | undefined) => old(since, change)
  test.each<[string, (since?: string) => StoredSecret]>([
    ['of another type', stranger({ type: 'Opaque' })],
    [
      'of another owner',
      stranger({
        metadata: { ownerReferences: [{ ...accountSecret().metadata.ownerReferences?.[0], uid: 'other' }] },
      } as Change),
    ],
    ['without an origin', stranger({ metadata: { annotations: { [SINCE]: LONG_AGO } } })],
    [
      'without a mark of a release',
      stranger({
        metadata: {
          ownerReferences: [],
          annotations: { 'credentials.cozystack.io/origin': 'NotIssued', [SINCE]: LONG_AGO },
        },
      }),
    ],
    ['without a username', stranger({ data: { password: '' } })],
    ['of a user that does not make its name', stranger({ data: { username: encodeData('web') } })],
    [
      'that is no account Secret by its name',
      stranger({ metadata: { name: 'postgres-orders.old.accounts' } }),
    ],
    [
      'that has a second dot in its name',
      stranger({ metadata: { name: 'postgres-orders.old.old.account' } }),
    ],
    ['that is going away', stranger({ metadata: { deletionTimestamp: NOW_TEXT, finalizers: ['x/y'] } })],
  ])('%s', (_, secret) => {
    expect(plan(secret())).toEqual([])
    expect(plan(secret(LONG_AGO))).toEqual([])
  })
})

test('a user whose name is written in another way is the same when the Secret has its name', () => {
  const data = { username: encodeData('O_l.D'), password: '' }
  const secret = old(LONG_AGO, { data, metadata: { name: 'postgres-orders.o-l-d.account' } })
  expect(plan(secret)).toEqual(['delete o-l-d'])
})

test('a mark on an account that is declared again is taken away and says nothing any more', () => {
  expect(plan(old(LONG_AGO), { declared: { ...nothing, accounts: [tenant('old')] } })).toEqual(['adopt'])
})

test("an operator's mark alone makes it this release's, and it is looked at twice", () => {
  const adoptable = (more: Record<string, string>) =>
    old(undefined, {
      metadata: {
        ownerReferences: [],
        annotations: {
          'credentials.cozystack.io/origin': 'Minted',
          'credentials.cozystack.io/adopt': 'true',
          'credentials.cozystack.io/declared-by': DECLARED_BY,
          ...more,
        },
      },
    })
  expect(plan(adoptable({}))).toEqual(['mark old'])
  expect(plan(adoptable({ [SINCE]: LONG_AGO }))).toEqual(['delete old'])
})

/** Each of them alone: somebody may use the account, though the release does not declare it. */
describe('is kept, with a warning that says why', () => {
  const why = (secret: StoredSecret, change: Partial<PlanInput> = {}): readonly unknown[] =>
    planOf({
      release: landed,
      rules,
      declared: nothing,
      secrets: new Map([[secret.metadata.name, secret]]),
      now: NOW,
      graceMs: GRACE_MS,
      ...change,
    })
  const declaredBy = (value: string | undefined) => (since: string | undefined) => {
    const { 'credentials.cozystack.io/declared-by': _, ...annotations } = accountAnnotations(
      since === undefined ? {} : { [SINCE]: since },
    )
    const more = value === undefined ? {} : { 'credentials.cozystack.io/declared-by': value }
    return old(undefined, { metadata: { annotations: { ...annotations, ...more } } })
  }
  const labelled = (label: string, value: string) => (since: string | undefined) =>
    old(since, {
      metadata: {
        labels: { ...accountSecret().metadata.labels, [`apps.cozystack.io/application.${label}`]: value },
      },
    })
  const { declaredBy: _, ...unknown } = rules

  test.each<[string, (since?: string) => StoredSecret, Partial<PlanInput>, RegExp]>([
    ['declared by other rules', declaredBy('00000000000000f0'), {}, /postgres have changed/],
    ['from before', declaredBy(undefined), {}, /postgres have changed/],
    ['declared by none', declaredBy(''), {}, /postgres have changed/],
    ['by rules that nobody knows', declaredBy(undefined), { rules: unknown }, /postgres have changed/],
    ['of another kind', labelled('kind', 'MariaDB'), {}, /another kind or name/],
    ['of another name', labelled('name', 'ledger'), {}, /another kind or name/],
    ['while values are not read', old, takes({ kind: 'ConfigMap', name: 'users' }), /not read/],
  ])('%s', (_what, secret, change, expected) => {
    for (const since of [undefined, LONG_AGO]) {
      expect(why(secret(since), change)).toEqual([
        { do: 'warn', about: { is: 'kept', secretName: NAME, why: expect.stringMatching(expected) } },
      ])
    }
  })
})
