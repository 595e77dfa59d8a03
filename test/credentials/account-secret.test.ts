import { describe, expect, test } from 'vitest'
import { encodeData } from '../../src/core/text.ts'
import {
  changedSecret,
  holderOf,
  holdsValue,
  isKnown,
  newSecret,
  usernameIn,
} from '../../src/credentials/account-secret.ts'
import type { AccountRecord } from '../../src/credentials/record.ts'
import type { HelmRelease, OwnerReference, StoredSecret } from '../../src/k8s/objects.ts'
import {
  accountAnnotations,
  accountSecret,
  applicationLabels,
  DECLARED_BY,
  OTHER_RELEASE_UID,
  accountSecretOf as of,
  ownerReference,
  RELEASE_UID,
  release,
} from '../helpers/orders.ts'

const ORIGINS = ['NotIssued', 'Migrated', 'Minted', 'Revoked', 'Unknown', undefined] as const
const TYPES = ['kubernetes.io/basic-auth', 'Opaque', undefined] as const
const USERNAMES = ['web', 'Web', undefined] as const
const UIDS = [RELEASE_UID, OTHER_RELEASE_UID, undefined] as const
const ADOPT = ['true', 'false', undefined] as const

interface Marks {
  readonly origin: (typeof ORIGINS)[number]
  readonly type: (typeof TYPES)[number]
  readonly username: (typeof USERNAMES)[number]
  readonly owner: (typeof UIDS)[number]
  readonly annotated: (typeof UIDS)[number]
  readonly adopt: (typeof ADOPT)[number]
}

const present = (record: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(record).filter((pair): pair is [string, string] => pair[1] !== undefined))

function secretWith({ origin, type, username, owner, annotated, adopt }: Marks): StoredSecret {
  const { type: _type, ...secret } = accountSecret({
    data: present({ username: username && encodeData(username), password: encodeData('v') }),
    metadata: {
      ownerReferences: owner === undefined ? [] : [ownerReference(owner)],
      annotations: present({
        'credentials.cozystack.io/origin': origin,
        'credentials.cozystack.io/release-uid': annotated,
        'credentials.cozystack.io/adopt': adopt,
      }),
    },
  })
  return type === undefined ? secret : { ...secret, type }
}

const everyCombination: readonly Marks[] = ORIGINS.flatMap((origin) =>
  TYPES.flatMap((type) =>
    USERNAMES.flatMap((username) =>
      UIDS.flatMap((owner) =>
        UIDS.flatMap((annotated) =>
          ADOPT.map((adopt) => ({ origin, type, username, owner, annotated, adopt })),
        ),
      ),
    ),
  ),
)

/** The ways, of owner reference, annotation and mark, in which a Secret may belong to this release. */
const OF_THIS_RELEASE = new Set([
  `${RELEASE_UID} ${RELEASE_UID} *`,
  `${RELEASE_UID} - *`,
  `- ${RELEASE_UID} *`,
  '- - true',
])
const belongsHere = ({ owner, annotated, adopt }: Marks): boolean => {
  const marks = `${owner ?? '-'} ${annotated ?? '-'}`
  return OF_THIS_RELEASE.has(`${marks} *`) || OF_THIS_RELEASE.has(`${marks} ${adopt}`)
}

describe('of every combination of origin, type, username, owner, annotation and mark', () => {
  const held = everyCombination.map(
    (marks) => [marks, holderOf(secretWith(marks), 'web', RELEASE_UID).is] as const,
  )
  const of = (holder: string) => held.filter(([, is]) => is === holder).map(([marks]) => marks)

  test('without one of our origins and our type it is foreign, with them it never is', () => {
    for (const { origin, type } of of('foreign')) {
      expect(origin === undefined || origin === 'Unknown' || type !== 'kubernetes.io/basic-auth').toBe(true)
    }
    for (const { origin, type } of [...of('ours'), ...of('leftover')]) {
      expect(['NotIssued', 'Migrated', 'Minted', 'Revoked']).toContain(origin)
      expect(type).toBe('kubernetes.io/basic-auth')
    }
  })

  test('ours has this username, at least one mark of this release or the adoption mark, and no mark of another', () => {
    for (const marks of of('ours')) {
      expect(marks.username).toBe('web')
      expect(belongsHere(marks)).toBe(true)
    }
    for (const marks of of('leftover')) expect(marks.username === 'web' && belongsHere(marks)).toBe(false)
  })

  test('there are as many of each as the rule has', () => {
    const total = 6 * 3 * 3 * 3 * 3 * 3
    // Owner and annotation both here, or one of them, whatever the mark; or neither, and the mark.
    const ours = 4 * (3 * 3 + 1)
    const accountSecrets = 4 * 3 * 3 * 3 * 3
    expect(held).toHaveLength(total)
    expect(of('ours')).toHaveLength(ours)
    expect(of('leftover')).toHaveLength(accountSecrets - ours)
    expect(of('foreign')).toHaveLength(total - accountSecrets)
  })
})

test('nothing there is absent', () => {
  expect(holderOf(undefined, 'web', RELEASE_UID)).toEqual({ is: 'absent' })
})

test('another HelmRelease version is an owner, another kind of owner is none', () => {
  const byVersion = (apiVersion: string, kind: string, uid: string): OwnerReference => ({
    apiVersion,
    kind,
    name: 'x',
    uid,
  })
  const held = (...ownerReferences: readonly OwnerReference[]) =>
    holderOf(accountSecret({ metadata: { ownerReferences } }), 'web', RELEASE_UID).is
  expect(held(byVersion('helm.toolkit.fluxcd.io/v2beta2', 'HelmRelease', OTHER_RELEASE_UID))).toBe('leftover')
  expect(held(byVersion('helm.toolkit.fluxcd.io/v2beta2', 'HelmRelease', RELEASE_UID))).toBe('ours')
  expect(held(byVersion('apps/v1', 'Deployment', OTHER_RELEASE_UID))).toBe('ours')
  expect(held(byVersion('helm.cattle.io/v1', 'HelmRelease', OTHER_RELEASE_UID))).toBe('ours')
  expect(held(ownerReference(RELEASE_UID), ownerReference(OTHER_RELEASE_UID))).toBe('leftover')
})

test('a username that is no UTF-8, or no base64, is nobody', () => {
  for (const username of [Buffer.from([0xff]).toString('base64'), '%']) {
    const secret = accountSecret({ data: { username } })
    expect(usernameIn(secret)).toBeUndefined()
    expect(holderOf(secret, 'web', RELEASE_UID).is).toBe('leftover')
  }
})

test('SEC-04: of another type it is foreign, and the reason says that a type cannot change', () => {
  const holder = holderOf(accountSecret({ type: 'Opaque' }), 'web', RELEASE_UID)
  expect(holder).toMatchObject({ is: 'foreign', why: expect.stringContaining('a type cannot change') })
})

test('only a leftover whose password somebody may hold deserves a warning', () => {
  const held = (origin: string, uid: string) =>
    isKnown(
      holderOf(
        accountSecret({
          metadata: {
            ownerReferences: [],
            annotations: accountAnnotations({
              'credentials.cozystack.io/origin': origin,
              'credentials.cozystack.io/release-uid': uid,
            }),
          },
        }),
        'web',
        RELEASE_UID,
      ),
    )
  expect(
    ['Minted', 'Migrated', 'NotIssued', 'Revoked'].map((origin) => held(origin, OTHER_RELEASE_UID)),
  ).toEqual([true, true, false, false])
  expect(held('Minted', RELEASE_UID)).toBe(false)
})

const record: AccountRecord = {
  origin: 'Minted',
  history: [{ operation: 'Mint', at: '2026-10-02T09:14:07Z', by: 'jane' }],
}

test('a new account Secret is the one that the documentation shows', () => {
  expect(newSecret(of, 'VERIFIER', record)).toEqual({
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/basic-auth',
    metadata: {
      name: 'postgres-orders.web.account',
      namespace: 'tenant-acme',
      labels: { 'credentials.cozystack.io/account': 'true', ...applicationLabels, 'cnpg.io/reload': 'true' },
      annotations: {
        'credentials.cozystack.io/origin': 'Minted',
        'credentials.cozystack.io/history': '[{"operation":"Mint","at":"2026-10-02T09:14:07Z","by":"jane"}]',
        'credentials.cozystack.io/release-uid': RELEASE_UID,
        'credentials.cozystack.io/declared-by': DECLARED_BY,
      },
      ownerReferences: [
        {
          apiVersion: 'helm.toolkit.fluxcd.io/v2',
          kind: 'HelmRelease',
          name: 'postgres-orders',
          uid: RELEASE_UID,
          controller: false,
          blockOwnerDeletion: false,
        },
      ],
    },
    data: { username: 'd2Vi', password: 'VkVSSUZJRVI=' },
  })
})

test('SEC-05: no owner is asked to wait for the Secret, which would need a right on its finalizers', () => {
  const references = [newSecret(of, 'v', record), changedSecret(of, accountSecret(), 'v', record)].flatMap(
    ({ metadata }) => metadata.ownerReferences ?? [],
  )
  expect(references).toHaveLength(2)
  for (const reference of references) expect(reference.blockOwnerDeletion).toBe(false)
})

test('SEC-06: after a write there is one HelmRelease owner with the present UID; the owners of others stay', () => {
  const others: OwnerReference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'c-uid' }
  const written = (...ownerReferences: readonly OwnerReference[]) =>
    changedSecret(of, accountSecret({ metadata: { ownerReferences } }), 'v', record).metadata.ownerReferences
  expect(written(ownerReference(OTHER_RELEASE_UID), others)).toEqual([others, ownerReference(RELEASE_UID)])
  expect(written(ownerReference(RELEASE_UID), ownerReference(OTHER_RELEASE_UID))).toEqual([
    ownerReference(RELEASE_UID),
  ])
  expect(written()).toEqual([ownerReference(RELEASE_UID)])
})

test('SEC-12: what others have put on the Secret stays, known to us or not', () => {
  const current = {
    ...accountSecret({
      data: { username: encodeData('web'), password: encodeData('old'), pgpass: encodeData('kept') },
      metadata: {
        labels: { team: 'x' },
        annotations: accountAnnotations({ note: 'y' }),
        finalizers: ['example.com/hold'],
      },
    }),
    futureField: { kept: true },
  }
  const metadata = { ...current.metadata, futureMeta: ['kept'] }
  const written = changedSecret(of, { ...current, metadata }, 'new', record)
  expect(written).toMatchObject({
    futureField: { kept: true },
    data: { username: encodeData('web'), password: encodeData('new'), pgpass: encodeData('kept') },
    metadata: {
      uid: 'secret-uid-1',
      resourceVersion: '10',
      labels: { team: 'x', 'cnpg.io/reload': 'true' },
      annotations: { note: 'y', 'credentials.cozystack.io/origin': 'Minted' },
      finalizers: ['example.com/hold'],
      futureMeta: ['kept'],
    },
  })
})

test('SEC-13: no label or annotation of the release reaches the Secret', () => {
  const marked: HelmRelease = {
    ...release,
    metadata: {
      ...release.metadata,
      labels: {
        ...applicationLabels,
        'kustomize.toolkit.fluxcd.io/name': 'apps',
        'argocd.argoproj.io/instance': 'apps',
        'app.kubernetes.io/instance': 'apps',
        'app.kubernetes.io/managed-by': 'Helm',
      },
      annotations: { 'meta.helm.sh/release-name': 'apps' },
    },
  }
  for (const secret of [
    newSecret({ ...of, release: marked }, 'v', record),
    changedSecret({ ...of, release: marked }, accountSecret(), 'v', record),
  ]) {
    expect(JSON.stringify(secret)).not.toMatch(/kustomize|argocd|managed-by|instance|meta\.helm/)
  }
})

test('SEC-14: the labels that an operator watches are set on a create and on an update that lacked them', () => {
  expect(newSecret(of, 'v', record).metadata.labels).toMatchObject({ 'cnpg.io/reload': 'true' })
  const bare = accountSecret({ metadata: { labels: {} } })
  expect(changedSecret(of, bare, 'v', record).metadata.labels).toEqual({
    'credentials.cozystack.io/account': 'true',
    ...applicationLabels,
    'cnpg.io/reload': 'true',
  })
})

test('a label of a definition never overrides one of ours', () => {
  const claiming = {
    ...of,
    secretLabels: {
      'credentials.cozystack.io/account': 'false',
      'apps.cozystack.io/application.name': 'other',
    },
  }
  expect(newSecret(claiming, 'v', record).metadata.labels).toEqual({
    'credentials.cozystack.io/account': 'true',
    ...applicationLabels,
  })
})

test('the write that adopts removes the mark and names the release', () => {
  const { 'credentials.cozystack.io/release-uid': _uid, ...annotations } = accountAnnotations({
    'credentials.cozystack.io/adopt': 'true',
  })
  const marked = accountSecret({ metadata: { ownerReferences: [], annotations } })
  expect(holderOf(marked, 'web', RELEASE_UID).is).toBe('ours')
  const { metadata } = changedSecret(of, marked, 'v', record)
  expect(metadata.annotations).not.toHaveProperty(['credentials.cozystack.io/adopt'])
  expect(metadata.annotations).toMatchObject({ 'credentials.cozystack.io/release-uid': RELEASE_UID })
  expect(metadata.ownerReferences).toEqual([ownerReference()])
})

test('a stored value is compared byte for byte', () => {
  const secret = accountSecret({ data: { password: encodeData('v') } })
  expect(holdsValue(secret, 'v')).toBe(true)
  expect(['V', 'v\n', '', 'vv'].some((value) => holdsValue(secret, value))).toBe(false)
  expect(holdsValue(accountSecret({ data: {} }), '')).toBe(false)
})
