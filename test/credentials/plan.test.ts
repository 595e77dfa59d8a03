import { describe, expect, test } from 'vitest'
import { encodeData } from '../../src/core/text.ts'
import { type PlanInput, planOf, type Step, stepsOf } from '../../src/credentials/plan.ts'
import type { Declarations } from '../../src/definitions/resolve.ts'
import type { HelmRelease, StoredSecret } from '../../src/k8s/objects.ts'
import {
  accountAnnotations,
  accountSecret,
  NOW,
  OTHER_RELEASE_UID,
  ownerReference,
  release,
  rules,
} from '../helpers/orders.ts'

const GRACE_MS = 600_000
const SOUND = `reversed:${'a'.repeat(32)}`
const SINCE = 'credentials.cozystack.io/undeclared-since'

type Change = Parameters<typeof accountSecret>[0]

/** The account Secret of `web`, adopted and sound, with these fields changed. */
const held = (change: Change = {}): StoredSecret =>
  accountSecret({ data: { username: encodeData('web'), password: encodeData(SOUND) }, ...change })

const annotated = (more: Record<string, string>, change: Change = {}) =>
  held({ ...change, metadata: { annotations: accountAnnotations(more), ...change.metadata } })

const ORIGIN = 'credentials.cozystack.io/origin'
const unknown = (origin: string, change: Change = {}) => annotated({ [ORIGIN]: origin }, change)

const declares = (...usernames: readonly string[]): Declarations => ({
  accounts: usernames.map((username) => ({ username, owner: 'tenant' })),
  malformed: [],
  causes: [],
  complete: true,
  valuesFrom: [],
})

/** Flux has installed it, and has dealt with what it is now. */
const landed: HelmRelease = {
  ...release,
  metadata: { ...release.metadata, generation: 1 },
  status: {
    observedGeneration: 1,
    conditions: [{ type: 'Ready', status: 'True', observedGeneration: 1 }],
    history: [{ version: 1 }],
  },
}

const inputOf = (secrets: readonly StoredSecret[], change: Partial<PlanInput> = {}): PlanInput => ({
  release,
  rules,
  declared: declares('web'),
  secrets: new Map(secrets.map((secret) => [secret.metadata.name, secret])),
  now: NOW,
  graceMs: GRACE_MS,
  ...change,
})

/** What is to be done, and about what, in short. */
function short(step: Step): string {
  if (step.do === 'warn') {
    const { about } = step
    return `warn ${about.is}${'account' in about ? ` ${about.account.username}` : ''}`
  }
  return `${step.do} ${'name' in step ? step.name.account : step.account.username}`
}

const plan = (secrets: readonly StoredSecret[], change?: Partial<PlanInput>) =>
  planOf(inputOf(secrets, change)).map(short)

describe('where no Secret is', () => {
  test('a release that was never deployed is seeded, each account', () => {
    expect(plan([], { declared: declares('web', 'report') })).toEqual(['seed web', 'seed report'])
  })

  test('a deployed one only warns: the old password may work', () => {
    expect(plan([], { release: landed })).toEqual(['warn missing web'])
  })

  test.each<[string, NonNullable<HelmRelease['status']>]>([
    ['failed to install', { history: [{ status: 'failed' }] }],
    ['has a history that is no list', { history: 'v1' }],
  ])('a release that %s was deployed', (_, status) => {
    expect(plan([], { release: { ...release, status } })).toEqual(['warn missing web'])
  })

  test('a suspended release that was never deployed is seeded like any other', () => {
    expect(plan([], { release: { ...release, spec: { suspend: true } } })).toEqual(['seed web'])
  })
})

describe('the Secret of this release', () => {
  test.each(['NotIssued', 'Migrated', 'Minted', 'Revoked'])(
    'adopted and sound needs nothing: %s',
    (origin) => {
      expect(plan([unknown(origin)])).toEqual([])
      expect(plan([unknown(origin)], { release: landed })).toEqual([])
    },
  )

  const onlyAnnotation = held({ metadata: { ownerReferences: [] } })
  const { 'credentials.cozystack.io/release-uid': _uid, ...unmarked } = accountAnnotations()
  const onlyOwner = held({ metadata: { annotations: unmarked } })
  const adoptable = held({
    metadata: { ownerReferences: [], annotations: { ...unmarked, 'credentials.cozystack.io/adopt': 'true' } },
  })
  const stillMarked = annotated({ 'credentials.cozystack.io/adopt': 'true' })
  test.each<[string, StoredSecret]>([
    ['with the annotation only, as a seed before its release is stored', onlyAnnotation],
    ['with the owner only', onlyOwner],
    ["with an operator's mark instead of both", adoptable],
    ["with an operator's mark beside both", stillMarked],
    ['with a mark of being undeclared', annotated({ [SINCE]: '2026-10-01T00:00:00Z' })],
    ['with a mark of being undeclared that is no time', annotated({ [SINCE]: '' })],
  ])('is adopted: %s', (_, secret) => {
    expect(plan([secret])).toEqual(['adopt web'])
    expect(plan([secret], { release: landed })).toEqual(['adopt web'])
  })

  test('is filled again when its value is empty or missing, whoever minted it, deployed or not', () => {
    const username = encodeData('web')
    for (const data of [{ username, password: '' }, { username }]) {
      expect(plan([held({ data })])).toEqual(['refill web'])
      expect(plan([held({ data })], { release: landed })).toEqual(['refill web'])
    }
  })

  test.each<[string, string]>([
    ['another format', encodeData('SCRAM-SHA-256$4096:x')],
    ['a line break', encodeData(`${SOUND}\n`)],
    ['one space', encodeData(' ')],
    // No UTF-8.
    ['bytes that are no text', '/w=='],
  ])('is left alone with a warning when the engine would not take its value: %s', (_, password) => {
    const data = { username: encodeData('web'), password }
    expect(plan([held({ data })])).toEqual(['warn unsound web'])
    expect(plan([held({ data, metadata: { ownerReferences: [] } })])).toEqual([
      'adopt web',
      'warn unsound web',
    ])
  })

  test('that is immutable and empty cannot be filled', () => {
    const data = { username: encodeData('web'), password: '' }
    expect(plan([held({ data, immutable: true })])).toEqual(['warn unsound web'])
  })

  test('that is immutable is adopted: only its data is fixed', () => {
    expect(plan([held({ immutable: true, metadata: { ownerReferences: [] } })])).toEqual(['adopt web'])
  })

  test('that is going away is left to go, whatever it holds', () => {
    const metadata = { deletionTimestamp: '2026-10-02T09:00:00Z', ownerReferences: [] }
    expect(plan([held({ metadata })])).toEqual([])
    expect(plan([held({ metadata, data: {} })])).toEqual(['warn leftover web'])
  })
})

/** Of another release or user, or with no mark at all. */
describe('a leftover', () => {
  const metadata = { ownerReferences: [ownerReference(OTHER_RELEASE_UID)] }
  const ofOther = (origin: string) =>
    held({
      metadata: {
        ...metadata,
        annotations: accountAnnotations({
          [ORIGIN]: origin,
          'credentials.cozystack.io/release-uid': OTHER_RELEASE_UID,
        }),
      },
    })

  test.each([
    ['NotIssued', 'replace web'],
    ['Revoked', 'replace web'],
    ['Minted', 'warn leftover web'],
    ['Migrated', 'warn leftover web'],
  ])('%s, of a release that was never deployed: %s', (origin, expected) => {
    expect(plan([ofOther(origin)])).toEqual([expected])
    expect(plan([ofOther(origin)], { release: landed })).toEqual(['warn leftover web'])
  })

  test.each<[string, StoredSecret]>([
    [
      'half of another release',
      unknown('NotIssued', { metadata: { ownerReferences: [ownerReference(OTHER_RELEASE_UID)] } }),
    ],
    [
      'of the user in another case',
      unknown('NotIssued', { data: { username: encodeData('Web'), password: encodeData(SOUND) } }),
    ],
    [
      'of a user that is no text',
      unknown('NotIssued', { data: { username: '/w==', password: encodeData(SOUND) } }),
    ],
    ['without a mark', held({ metadata: { ownerReferences: [], annotations: { [ORIGIN]: 'NotIssued' } } })],
  ])('is %s', (_, secret) => {
    expect(plan([secret])).toEqual(['replace web'])
    expect(plan([secret], { release: landed })).toEqual(['warn leftover web'])
  })

  test('that is going away is not replaced', () => {
    const secret = unknown('NotIssued', {
      metadata: { ...metadata, deletionTimestamp: '2026-10-02T09:00:00Z' },
    })
    expect(plan([secret])).toEqual(['warn leftover web'])
  })
})

describe('what is foreign', () => {
  test.each<[string, StoredSecret]>([
    ['of another type', held({ type: 'Opaque' })],
    ['of no type', held({ type: undefined } as never)],
    ['without an origin', held({ metadata: { annotations: {} } })],
    ['of an origin that is none', unknown('Stolen')],
  ])('is named and left alone: %s', (_, secret) => {
    for (const of of [release, landed]) expect(plan([secret], { release: of })).toEqual(['warn foreign web'])
    // Nor is it taken away when nobody declares the name.
    expect(plan([secret], { release: landed, declared: declares() })).toEqual([])
  })
})

describe('a source that failed', () => {
  const cause = {
    reason: 'FieldValueTypeInvalid',
    field: 'spec.values.users',
    message: 'must be a map of users, and is a list',
  }
  const failed: Declarations = { ...declares('web'), causes: [cause], complete: false }

  test('leaves everything as it is: nothing is seeded, adopted, filled, marked or deleted', () => {
    const secrets = [
      held({ metadata: { ownerReferences: [] }, data: { username: encodeData('web'), password: '' } }),
      annotated({ [SINCE]: '2026-01-01T00:00:00Z' }, { metadata: { name: 'postgres-orders.old.account' } }),
    ]
    for (const of of [release, landed]) {
      const steps = planOf(inputOf(secrets, { release: of, declared: failed }))
      expect(steps).toEqual([
        {
          do: 'warn',
          about: { is: 'refused', message: 'spec.values.users: must be a map of users, and is a list' },
        },
      ])
    }
  })

  test('says nothing about wiring: what should be there is not known', async () => {
    const input = inputOf([], { declared: failed, rules: { ...rules, valuesPath: '_accounts' } })
    expect((await stepsOf(input)).map(short)).toEqual(['warn refused'])
  })
})

test('a release that is being deleted is left alone altogether', async () => {
  const metadata = { ...landed.metadata, deletionTimestamp: '2026-10-02T09:00:00Z' }
  const input = inputOf([held({ metadata: { ownerReferences: [] } })], {
    release: { ...landed, metadata },
    rules: { ...rules, valuesPath: '_accounts' },
    declared: declares('web', 'report'),
  })
  expect(await stepsOf(input)).toEqual([])
})

test('usernames that collide, or make no name, are said and neither seeded nor taken away', () => {
  const secrets = [held({ metadata: { ownerReferences: [] } })]
  const declared = declares('web', 'Web', '-', 'report')
  expect(plan(secrets, { declared })).toEqual(['warn refused', 'warn refused', 'seed report'])
  const undeclared = [annotated({ [SINCE]: '2026-01-01T00:00:00Z' })]
  expect(plan(undeclared, { declared, release: landed })).toEqual([
    'warn refused',
    'warn refused',
    'warn missing report',
  ])
})

test('an account that became the platform’s is neither seeded nor taken away', () => {
  const declared: Declarations = { ...declares(), accounts: [{ username: 'web', owner: 'platform' }] }
  expect(plan([], { declared })).toEqual([])
  const secret = annotated({ [SINCE]: '2026-01-01T00:00:00Z' }, { metadata: { ownerReferences: [] } })
  expect(plan([secret], { declared, release: landed })).toEqual([])
})

test('whether the chart gets the values is said for kinds that pass them on', async () => {
  const wiring = { ...rules, valuesPath: '_accounts' }
  expect((await stepsOf(inputOf([held()]))).map(short)).toEqual([])
  expect((await stepsOf(inputOf([held()], { rules: wiring }))).map(short)).toEqual(['warn unwired'])
  const odd = { ...release, spec: { valuesFrom: 'x' } }
  expect((await stepsOf(inputOf([held()], { rules: wiring, release: odd }))).map(short)).toEqual([])
})

test('nothing is done for Secrets of other releases, by name or by UID', () => {
  const old = { [SINCE]: '2026-01-01T00:00:00Z' }
  const secrets = [
    annotated(old, { metadata: { name: 'postgres-order.web.account' } }),
    annotated(old, { metadata: { name: 'postgres-orders-2.web.account' } }),
    annotated({ ...old, 'credentials.cozystack.io/release-uid': OTHER_RELEASE_UID }),
  ]
  expect(plan(secrets, { declared: declares(), release: landed })).toEqual([])
})
