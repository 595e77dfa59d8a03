import { describe, expect, test } from 'vitest'
import {
  hasLanded,
  takesUnreadValues,
  takesValuesFrom,
  wasDeployed,
} from '../../src/credentials/release-state.ts'
import type { HelmRelease } from '../../src/k8s/objects.ts'
import { release } from '../helpers/orders.ts'

const withStatus = (status: unknown): HelmRelease => ({ ...release, status }) as HelmRelease

const statuses = (given: Readonly<Record<string, string>>) =>
  Object.entries(given).map(([type, status]) => ({ type, status }))

/** `github.com/fluxcd/helm-controller/api/v2`, HelmReleaseStatus.History: a list of Snapshots. */
describe('a release was deployed', () => {
  test.each([
    ['without a status', undefined, false],
    ['with an empty status', {}, false],
    ['with a null history', { history: null }, false],
    ['with an empty history', { history: [] }, false],
    ['with one snapshot', { history: [{ version: 1, status: 'deployed' }] }, true],
    ['with a failed one', { history: [{ version: 1, status: 'failed' }] }, true],
    ['with an uninstalled one', { history: [{ version: 1, status: 'uninstalled' }] }, true],
    ['with an entry that says nothing', { history: [null] }, true],
    // Of no version that is known: somebody wrote it, and nothing is seeded on a guess.
    ['with a map', { history: {} }, true],
    ['with a text', { history: 'deployed' }, true],
    ['with a number', { history: 1 }, true],
    ['with a history that it inherits', Object.create({ history: [{}] }), false],
    // Only an applied release has these, whatever became of its history.
    ['Ready and without a history', { conditions: [{ type: 'Ready', status: 'True' }] }, true],
    [
      'Ready and with an empty history',
      { history: [], conditions: [{ type: 'Ready', status: 'True' }] },
      true,
    ],
    ['Released', { conditions: [{ type: 'Released', status: 'True' }] }, true],
    ['Released once, and not ready', { conditions: statuses({ Ready: 'False', Released: 'True' }) }, true],
    ['neither Ready nor Released', { conditions: statuses({ Ready: 'False', Released: 'False' }) }, false],
    ['of which nobody knows', { conditions: statuses({ Ready: 'Unknown' }) }, false],
    ['that is reconciled the first time', { conditions: statuses({ Reconciling: 'True' }) }, false],
    ['with conditions that are no list', { conditions: { Ready: 'True' } }, false],
    ['with a revision', { lastReleaseRevision: 1 }, true],
    ['with revision 0', { lastReleaseRevision: 0 }, false],
    ['with a null revision', { lastReleaseRevision: null }, false],
  ])('%s: %#', (_, status, expected) => {
    expect(wasDeployed(withStatus(status))).toBe(expected)
  })
})

/** What helm-controller writes when it has dealt with generation 3. */
const landed = {
  metadata: { ...release.metadata, generation: 3 },
  spec: {},
  status: {
    observedGeneration: 3,
    conditions: [
      { type: 'Ready', status: 'True', observedGeneration: 3 },
      { type: 'Released', status: 'True', observedGeneration: 3 },
    ],
  },
} as const satisfies HelmRelease

const ready = (more: object) => ({
  status: {
    ...landed.status,
    conditions: [{ type: 'Ready', status: 'True', observedGeneration: 3, ...more }],
  },
})
const beside = (condition: object) => ({
  status: { ...landed.status, conditions: [...landed.status.conditions, condition] },
})

describe('a release has landed', () => {
  test('when Flux has dealt with this generation and says so', () => {
    expect(hasLanded(landed)).toBe(true)
  })

  test.each([
    ['a condition that says no generation', ready({ observedGeneration: undefined })],
    ['Reconciling False', beside({ type: 'Reconciling', status: 'False' })],
    ['suspend false', { spec: { suspend: false } }],
  ])('with %s', (_, change) => {
    expect(hasLanded({ ...landed, ...change })).toBe(true)
  })

  test.each([
    ['it is suspended', { spec: { suspend: true } }],
    ['it has no generation', { metadata: release.metadata }],
    [
      'nothing says a generation',
      {
        metadata: release.metadata,
        status: { conditions: ready({}).status.conditions.map(({ observedGeneration: _, ...each }) => each) },
      },
    ],
    ['it has a later generation', { metadata: { ...release.metadata, generation: 4 } }],
    ['it has no status', { status: undefined }],
    ['it has an empty status', { status: {} }],
    ['an earlier generation was observed', { status: { ...landed.status, observedGeneration: 2 } }],
    ['the generation is a text', { status: { ...landed.status, observedGeneration: '3' } }],
    ['no generation was observed', { status: { conditions: landed.status.conditions } }],
    ['no generation was ever observed', { status: { ...landed.status, observedGeneration: -1 } }],
    ['there are no conditions', { status: { observedGeneration: 3 } }],
    ['conditions are no list', { status: { observedGeneration: 3, conditions: { Ready: 'True' } } }],
    [
      'there is no Ready',
      { status: { observedGeneration: 3, conditions: [{ type: 'Released', status: 'True' }] } },
    ],
    ['Ready is False', ready({ status: 'False' })],
    ['Ready is Unknown', ready({ status: 'Unknown' })],
    ['Ready is true, and no text', ready({ status: true })],
    ['Ready is of an earlier generation', ready({ observedGeneration: 2 })],
    ['Ready is of a generation in text', ready({ observedGeneration: '3' })],
    ['it is Reconciling', beside({ type: 'Reconciling', status: 'True' })],
  ])('not when %s', (_, change) => {
    expect(hasLanded({ ...landed, ...change } as HelmRelease)).toBe(false)
  })

  test('not by what its status inherits', () => {
    expect(hasLanded({ ...landed, status: Object.create(landed.status) })).toBe(false)
  })
})

describe('a release takes values from a Secret', () => {
  const SECRET = 'postgres-orders.web.account'
  const takes = (valuesFrom: unknown) => takesValuesFrom({ ...release, spec: { valuesFrom } }, SECRET)

  test.each([
    ['by its name', [{ kind: 'Secret', name: SECRET }], true],
    [
      'whatever the key and the path',
      [{ kind: 'Secret', name: SECRET, valuesKey: 'x', targetPath: 'y' }],
      true,
    ],
    ['optional or not', [{ kind: 'Secret', name: SECRET, optional: true }], true],
    [
      'among others',
      [
        { kind: 'ConfigMap', name: 'a' },
        { kind: 'Secret', name: SECRET },
      ],
      true,
    ],
    ['not from a ConfigMap of that name', [{ kind: 'ConfigMap', name: SECRET }], false],
    ['not from another', [{ kind: 'Secret', name: 'cozystack-values' }], false],
    ['not with an empty list', [], false],
    ['not with none', undefined, false],
    ['not with null', null, false],
    ['not from entries that are none', [null, SECRET, [SECRET]], false],
    ['maybe, when what it takes from is no list', { 0: { kind: 'Secret', name: SECRET } }, true],
  ])('%s', (_, valuesFrom, expected) => {
    expect(takes(valuesFrom)).toBe(expected)
  })
})

/** `github.com/fluxcd/helm-controller/api/v2`, ValuesReference: kinds are Secret and ConfigMap. */
describe('a release takes values that nobody here reads', () => {
  const takes = (valuesFrom: unknown) => takesUnreadValues({ ...release, spec: { valuesFrom } })
  const secret = (name: unknown, more: object = {}) => ({ kind: 'Secret', name, ...more })
  const WEB = secret('postgres-orders.web.account', { targetPath: '_accounts.u0' })

  test.each<[string, unknown, boolean]>([
    ['not with none', undefined, false],
    ['not with null', null, false],
    ['not with an empty list', [], false],
    ['not from its account Secrets', [WEB], false],
    ['not from what the platform gives', [secret('cozystack-values')], false],
    ['not from both', [secret('cozystack-values', { optional: true }), WEB], false],
    ['from a Secret', [secret('users')], true],
    ['from a Secret beside its own', [WEB, secret('users')], true],
    ['from a ConfigMap', [{ kind: 'ConfigMap', name: 'users' }], true],
    ['from a ConfigMap that is called like an account Secret', [{ ...WEB, kind: 'ConfigMap' }], true],
    [
      'from a ConfigMap that is called like the values of the platform',
      [{ kind: 'ConfigMap', name: 'cozystack-values' }],
      true,
    ],
    [
      'from the values of the platform, at a path',
      [secret('cozystack-values', { targetPath: 'users' })],
      true,
    ],
    ['from an account Secret of another release', [secret('postgres-ledger.web.account')], true],
    ['from one whose name begins like its own', [secret('postgres-orders-2.web.account')], true],
    ['from one that ends like none', [secret('postgres-orders.web.accounts')], true],
    ['from a kind that is to come', [{ kind: 'Vault', name: 'postgres-orders.web.account' }], true],
    ['from an entry without a name', [{ kind: 'Secret' }], true],
    ['from entries that are none', [null], true],
    ['maybe, when what it takes from is no list', { 0: WEB }, true],
  ])('%s', (_, valuesFrom, expected) => {
    expect(takes(valuesFrom)).toBe(expected)
  })
})
