import { describe, expect, test } from 'vitest'
import type { NamedAccount } from '../../src/credentials/declared.ts'
import { foreignEvent, warningEvent } from '../../src/credentials/events.ts'
import type { Warning } from '../../src/credentials/plan.ts'
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
  unwired: { is: 'unwired' },
  refused: { is: 'refused', message: 'spec.values.users: must be a map of users, and is a list' },
}

describe('what a sync found', () => {
  const all = Object.entries(WARNINGS)

  test.each(all)('is a standing warning on the release: %s', (_, warning) => {
    expect(warningEvent(release, warning)).toMatchObject({
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
    const { reason, action } = warningEvent(release, warning)
    expect(reason).toMatch(/^[A-Z][A-Za-z]{2,60}$/)
    expect(action).toMatch(/^[A-Z][a-z]{2,20}$/)
  })

  test('has a reason of its own each', () => {
    expect(new Set(all.map(([, warning]) => warningEvent(release, warning).reason)).size).toBe(all.length)
  })

  test.each(all.filter(([, warning]) => 'account' in warning))('names the Secret: %s', (_, warning) => {
    expect(warningEvent(release, warning).note).toContain(account.secretName)
  })

  test('says what to do', () => {
    const noteOf = (warning: Warning) => warningEvent(release, warning).note
    expect(noteOf(WARNINGS.missing)).toMatch(/user Web_1 .*mint its password, or convert/)
    expect(noteOf(WARNINGS.leftover)).toMatch(/mint or revoke .*Web_1.*, or adopt it/)
    expect(noteOf(WARNINGS.unsound)).toMatch(/mint the password of user Web_1 again/)
    expect(noteOf(WARNINGS.unwired)).toMatch(/spec\.valuesFrom/)
    expect(noteOf(WARNINGS.refused)).toBe(WARNINGS.refused.message)
  })

  test('of what is foreign is what a mint says of it, but standing', () => {
    const { isStanding, ...event } = warningEvent(release, WARNINGS.foreign)
    expect(isStanding).toBe(true)
    expect(event).toEqual(foreignEvent(release, account.secretName, 'its type is Opaque'))
  })
})
