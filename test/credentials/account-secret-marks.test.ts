import { describe, expect, test } from 'vitest'
import {
  adoptableSecret,
  adoptedSecret,
  hasOwner,
  holderOf,
  isAdopted,
  newSecret,
  newSeed,
  reassignedSeed,
  releaseUidIn,
  undeclaredSecret,
  undeclaredSince,
} from '../../src/credentials/account-secret.ts'
import type { AccountRecord } from '../../src/credentials/record.ts'
import type { OwnerReference, StoredSecret } from '../../src/k8s/objects.ts'
import {
  accountAnnotations,
  accountSecret,
  OTHER_RELEASE_UID,
  accountSecretOf as of,
  ownerReference,
  RELEASE_UID,
  release,
  SECRET,
} from '../helpers/orders.ts'

const UID = 'credentials.cozystack.io/release-uid'
const ADOPT = 'credentials.cozystack.io/adopt'
const SINCE = 'credentials.cozystack.io/undeclared-since'

const record: AccountRecord = { origin: 'NotIssued', history: [] }
const foreignOwner: OwnerReference = { apiVersion: 'example.org/v1', kind: 'Widget', name: 'w', uid: 'w-1' }

/** Everything that a Secret may carry and that no mark may change. */
const rich = (metadata: Partial<StoredSecret['metadata']> = {}): StoredSecret => ({
  ...accountSecret({ immutable: true }),
  metadata: {
    ...accountSecret().metadata,
    finalizers: ['example.org/keep'],
    labels: { team: 'a', ...accountSecret().metadata.labels },
    annotations: accountAnnotations({ note: 'kept' }),
    ownerReferences: [foreignOwner, ownerReference()],
    ...metadata,
  },
})

/** What is left of an object without the fields that marks are. */
const unmarked = ({ metadata: { annotations, ownerReferences, ...metadata }, ...secret }: StoredSecret) => {
  const { [UID]: _uid, [ADOPT]: _adopt, [SINCE]: _since, ...others } = annotations ?? {}
  const owners = (ownerReferences ?? []).filter(({ kind }) => kind !== 'HelmRelease')
  return { ...secret, metadata: { ...metadata, annotations: others, ownerReferences: owners } }
}

describe('each mark leaves value, record and everything of others as it is', () => {
  test.each<[string, StoredSecret]>([
    ['adopted', adoptedSecret(rich(), release)],
    [
      'adopted, with all marks before',
      adoptedSecret(
        rich({ annotations: accountAnnotations({ note: 'kept', [ADOPT]: 'true', [SINCE]: 'x' }) }),
        release,
      ),
    ],
    ['taken over', reassignedSeed(rich(), 'new')],
    ['undeclared', undeclaredSecret(rich(), '2026-10-02T09:14:07Z')],
    ['given up', adoptableSecret(rich())],
  ])('%s', (_, marked) => {
    expect(unmarked(marked)).toEqual(unmarked(rich()))
    // The write is guarded by what was read.
    expect(marked.metadata).toMatchObject({ uid: 'secret-uid-1', resourceVersion: '10' })
  })

  test('and the object that was read is not changed', () => {
    const before = rich()
    const copy = structuredClone(before)
    adoptedSecret(before, release)
    reassignedSeed(before, 'new')
    undeclaredSecret(before, 'x')
    adoptableSecret(before)
    expect(before).toEqual(copy)
  })
})

test('a seed is a new account Secret but for its owner, who is not stored yet', () => {
  const { metadata, ...seed } = newSeed(of, 'v', record)
  const { metadata: ofSecret, ...secret } = newSecret(of, 'v', record)
  const { ownerReferences, ...rest } = ofSecret
  expect(ownerReferences).toHaveLength(1)
  expect({ ...seed, metadata }).toEqual({ ...secret, metadata: rest })
  expect(metadata.annotations?.[UID]).toBe(RELEASE_UID)
  expect(metadata).not.toHaveProperty('ownerReferences')
})

describe('an adopted one', () => {
  const before: readonly (readonly [string, StoredSecret])[] = [
    ['a seed', rich({ ownerReferences: [foreignOwner] })],
    ['one with an owner only', rich({ annotations: {} })],
    ['one marked by an operator', rich({ annotations: { [ADOPT]: 'true' }, ownerReferences: [] })],
    ['one marked as undeclared', undeclaredSecret(rich(), '2026-10-02T09:14:07Z')],
    [
      'one without annotations and owners',
      { ...rich(), metadata: { name: SECRET, uid: 'u', resourceVersion: '1' } },
    ],
  ]
  test.each(before)('names its release twice and has no other mark: %s', (_, secret) => {
    const adopted = adoptedSecret(secret, release)
    expect(adopted.metadata.ownerReferences?.filter(({ kind }) => kind === 'HelmRelease')).toEqual([
      ownerReference(),
    ])
    expect(adopted.metadata.annotations?.[UID]).toBe(RELEASE_UID)
    expect(adopted.metadata.annotations).not.toHaveProperty([ADOPT])
    expect(undeclaredSince(adopted)).toBeUndefined()
    expect(isAdopted(adopted, RELEASE_UID)).toBe(true)
  })

  test.each<[string, Partial<StoredSecret['metadata']>, boolean]>([
    ['with both marks', {}, true],
    [
      'with an owner of another version',
      { ownerReferences: [{ ...ownerReference(), apiVersion: 'helm.toolkit.fluxcd.io/v2beta2' }] },
      true,
    ],
    ['without an owner', { ownerReferences: [] }, false],
    ['with an owner of another UID', { ownerReferences: [ownerReference(OTHER_RELEASE_UID)] }, false],
    [
      'with an owner of another group',
      { ownerReferences: [{ ...ownerReference(), apiVersion: 'example.org/v2' }] },
      false,
    ],
    [
      'with an owner of another kind',
      { ownerReferences: [{ ...ownerReference(), kind: 'Kustomization' }] },
      false,
    ],
    ['without annotations', { annotations: {} }, false],
    [
      'with the annotation of another',
      { annotations: accountAnnotations({ [UID]: OTHER_RELEASE_UID }) },
      false,
    ],
    ["with an operator's mark left", { annotations: accountAnnotations({ [ADOPT]: 'true' }) }, false],
    [
      "with an operator's mark that says no",
      { annotations: accountAnnotations({ [ADOPT]: 'false' }) },
      false,
    ],
  ])('is one %s: %#', (_, metadata, expected) => {
    expect(isAdopted(accountSecret({ metadata }), RELEASE_UID)).toBe(expected)
  })
})

describe('whose it says it is', () => {
  test.each<[string, Partial<StoredSecret['metadata']>, string | undefined]>([
    ['twice the same', {}, RELEASE_UID],
    ['by its owner', { annotations: {} }, RELEASE_UID],
    ['by its annotation', { ownerReferences: [] }, RELEASE_UID],
    ['nobody', { ownerReferences: [], annotations: {} }, undefined],
    ['two releases', { ownerReferences: [ownerReference(OTHER_RELEASE_UID)] }, undefined],
    ['two owners', { ownerReferences: [ownerReference(), ownerReference('third')] }, undefined],
    ['no HelmRelease', { ownerReferences: [foreignOwner], annotations: {} }, undefined],
  ])('%s', (_, metadata, expected) => {
    expect(releaseUidIn(accountSecret({ metadata }))).toBe(expected)
  })

  test.each<[string, Partial<StoredSecret['metadata']>, boolean]>([
    ['a HelmRelease', {}, true],
    ['one of another UID', { ownerReferences: [ownerReference(OTHER_RELEASE_UID)] }, true],
    ['somebody else', { ownerReferences: [foreignOwner] }, false],
    ['nobody', { ownerReferences: [] }, false],
    ['nobody at all', { ownerReferences: undefined } as never, false],
  ])('and who owns it, for the collector: %s', (_, metadata, expected) => {
    expect(hasOwner(accountSecret({ metadata }))).toBe(expected)
  })
})

test('a seed that is taken over belongs to the next release, and to nobody by reference', () => {
  const taken = reassignedSeed(rich({ ownerReferences: [] }), 'new')
  expect(holderOf(taken, 'web', 'new').is).toBe('ours')
  expect(holderOf(taken, 'web', RELEASE_UID).is).toBe('leftover')
  expect(hasOwner(taken)).toBe(false)
})

test('one that is given up is anybody’s of its name, by one mark, and its second look begins anew', () => {
  const given = adoptableSecret(undeclaredSecret(rich(), '2026-01-01T00:00:00Z'))
  expect(given.metadata.annotations).toMatchObject({ [ADOPT]: 'true' })
  expect(releaseUidIn(given)).toBeUndefined()
  expect(hasOwner(given)).toBe(false)
  expect(undeclaredSince(given)).toBeUndefined()
  for (const uid of [RELEASE_UID, OTHER_RELEASE_UID]) expect(holderOf(given, 'web', uid).is).toBe('ours')
  expect(isAdopted(adoptedSecret(given, release), RELEASE_UID)).toBe(true)
})

test('when an account was first seen undeclared is kept as it was written', () => {
  const marked = undeclaredSecret(accountSecret(), '2026-10-02T09:14:07Z')
  expect(undeclaredSince(marked)).toBe('2026-10-02T09:14:07Z')
  expect(undeclaredSince(accountSecret())).toBeUndefined()
  expect(isAdopted(marked, RELEASE_UID)).toBe(true)
})

describe('NAM-08: a mark finds room where a history has taken all that there was', () => {
  const entries = Array.from({ length: 2000 }, (_, index) => ({
    operation: 'Mint',
    at: '2026-10-02T09:14:07Z',
    by: `jane${index}@example.org`,
  }))
  const HISTORY = 'credentials.cozystack.io/history'
  /** `k8s.io/apimachinery/pkg/api/validation`, TotalAnnotationSizeLimitB: of all keys and values. */
  const LIMIT = 262_144
  const sizeOf = (annotations: Readonly<Record<string, string>> = {}) =>
    Object.entries(annotations).reduce((sum, [key, value]) => sum + key.length + value.length, 0)
  const annotations = accountAnnotations({ [HISTORY]: JSON.stringify(entries) })
  const full = rich({
    annotations: {
      ...annotations,
      [HISTORY]: `${annotations[HISTORY]}${' '.repeat(LIMIT - sizeOf(annotations))}`,
    },
  })

  test.each<[string, StoredSecret]>([
    ['adopted', adoptedSecret(full, release)],
    ['taken over', reassignedSeed(full, 'new')],
    ['undeclared', undeclaredSecret(full, '2026-10-02T09:14:07Z')],
    ['given up', adoptableSecret(full)],
  ])('%s', (_, marked) => {
    expect(sizeOf(full.metadata.annotations)).toBe(LIMIT)
    expect(sizeOf(marked.metadata.annotations)).toBeLessThan(LIMIT / 2)
    expect(JSON.parse(marked.metadata.annotations?.[HISTORY] ?? '')).toEqual(entries.slice(0, 10))
  })
})
