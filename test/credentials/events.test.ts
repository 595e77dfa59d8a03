import { describe, expect, test } from 'vitest'
import type { NamedAccount } from '../../src/credentials/declared.ts'
import { foreignEvent, warningEvents } from '../../src/credentials/events.ts'
import type { Warning } from '../../src/credentials/plan.ts'
import type { KubeEvent } from '../../src/k8s/objects.ts'
import { NAMESPACE, RELEASE_UID, release } from '../helpers/orders.ts'

const account: NamedAccount = {
  username: 'Web_1',
  name: { release: 'postgres-orders', account: 'web-1' },
  secretName: 'postgres-orders.web-1.account',
}

const WARNINGS: { readonly [Is in Warning['is']]: Extract<Warning, { is: Is }> } = {
  missing: { is: 'missing', account },
  leftover: { is: 'leftover', account },
  foreign: { is: 'foreign', account, why: 'its type is Opaque' },
  unsound: { is: 'unsound', account },
  kept: { is: 'kept', secretName: account.secretName, why: 'its path has changed' },
  unwired: { is: 'unwired' },
  refused: { is: 'refused', message: 'spec.values.users: must be a map of users, and is a list' },
}

/** Of a single thing that was found. */
function warningEvent(warning: Warning): KubeEvent {
  const [event, ...more] = warningEvents(release, [warning])
  if (event === undefined || more.length > 0) throw new Error('one Event for one warning')
  return event
}

describe('what a sync found', () => {
  const all = Object.entries(WARNINGS)

  test.each(all)('is a standing warning on the release: %s', (_, warning) => {
    expect(warningEvent(warning)).toMatchObject({
      type: 'Warning',
      isStanding: true,
      regarding: {
        apiVersion: 'helm.toolkit.fluxcd.io/v2',
        kind: 'HelmRelease',
        namespace: NAMESPACE,
        name: 'postgres-orders',
        uid: RELEASE_UID,
      },
    })
  })

  /** `k8s.io/kubernetes/pkg/apis/core/validation/events.go`: reason and action have at most 128 characters. */
  test.each(all)('has a reason in one word and an action: %s', (_, warning) => {
    const { reason, action } = warningEvent(warning)
    expect(reason).toMatch(/^[A-Z][A-Za-z]{2,60}$/)
    expect(action).toMatch(/^[A-Z][a-z]{2,20}$/)
  })

  test('has a reason of its own each', () => {
    expect(new Set(all.map(([, warning]) => warningEvent(warning).reason)).size).toBe(all.length)
  })

  test.each(all.filter(([, warning]) => 'account' in warning))('names the Secret: %s', (_, warning) => {
    expect(warningEvent(warning).note).toContain(account.secretName)
  })

  test('says what to do', () => {
    const noteOf = (warning: Warning) => warningEvent(warning).note
    expect(noteOf(WARNINGS.missing)).toMatch(/user Web_1 .*mint its password, or convert/)
    expect(noteOf(WARNINGS.leftover)).toMatch(/mint or revoke .*Web_1.*, or adopt it/)
    expect(noteOf(WARNINGS.unsound)).toMatch(/mint the password of user Web_1 again/)
    expect(noteOf(WARNINGS.kept)).toMatch(
      /web-1\.account .* its path has changed; delete it when the user is gone/,
    )
    expect(noteOf(WARNINGS.unwired)).toMatch(/spec\.valuesFrom/)
    expect(noteOf(WARNINGS.refused)).toBe(WARNINGS.refused.message)
  })

  test('of what is foreign is what a mint says of it, but standing', () => {
    const { isStanding, ...event } = warningEvent(WARNINGS.foreign)
    expect(isStanding).toBe(true)
    expect(event).toEqual(foreignEvent(release, account.secretName, 'its type is Opaque'))
  })
})

describe('of many accounts', () => {
  const numbered = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      ...account,
      username: `u${index}`,
      secretName: `postgres-orders.u${index}.account`,
    }))
  const missing = (count: number) =>
    numbered(count).map((each): Warning => ({ is: 'missing', account: each }))

  test('is one Event for each reason', () => {
    const [unsound] = numbered(1).map((each): Warning => ({ is: 'unsound', account: each }))
    const events = warningEvents(release, [...missing(252), WARNINGS.unwired, ...(unsound ? [unsound] : [])])
    expect(events.map(({ reason }) => reason)).toEqual([
      'AccountSecretMissing',
      'ValuesNotWired',
      'AccountSecretUnsound',
    ])
  })

  test('names the first few, and says how many there are more', () => {
    const noteOf = (count: number) => warningEvents(release, missing(count))[0]?.note
    expect(noteOf(2)).toMatch(/^user u0 has no Secret .*; likewise: postgres-orders\.u1\.account$/)
    expect(noteOf(4)).toMatch(/u1\.account; postgres-orders\.u2\.account; postgres-orders\.u3\.account$/)
    expect(noteOf(252)).toMatch(/u3\.account and 248 more$/)
  })

  test('names the Secrets that are kept', () => {
    const kept = ['a', 'b'].map((name): Warning => ({ is: 'kept', secretName: name, why: 'so' }))
    expect(warningEvents(release, kept)).toMatchObject([
      { reason: 'AccountSecretKept', note: expect.stringMatching(/^Secret a .*; likewise: b$/) },
    ])
  })

  test('has each message that was refused, as far as there is room', () => {
    const refused = ['a', 'b'].map((message): Warning => ({ is: 'refused', message: `${message}: wrong` }))
    expect(warningEvents(release, refused)).toMatchObject([{ note: 'a: wrong; likewise: b: wrong' }])
  })

  test('and of none there is none', () => {
    expect(warningEvents(release, [])).toEqual([])
  })
})
