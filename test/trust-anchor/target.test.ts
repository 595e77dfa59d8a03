import { beforeEach, describe, expect, test } from 'vitest'
import type { Declaration } from '../../src/trust-anchor/declaration.ts'
import type { Anything } from '../contract/kube.ts'
import {
  type AnchorPlace,
  AUTHORITIES,
  anchorPlace,
  ENTRY,
  PRIVATE_KEY,
  PROJECTIONS,
  RELEASE,
  SOURCE,
  TARGET,
} from '../helpers/anchor-place.ts'
import { TENANT } from '../helpers/sync-cluster.ts'
import { DEFINITION, encode, SECRETS } from '../helpers/sync-place.ts'

let place: AnchorPlace
beforeEach(async () => {
  place = await anchorPlace()
})

const published = async () => {
  await place.secret()
  await place.projection()
  await place.reconcile()
  return place.target()
}

/** As the function marks what it publishes. */
const MARKS = {
  labels: {
    'internal.cozystack.io/tenant-ca': 'true',
    'internal.cozystack.io/ca-cert-copy': 'true',
  },
  annotations: { 'internal.cozystack.io/ca-cert-source': `${TENANT}/${SOURCE}` },
}

describe('a projection that somebody changed', () => {
  const changes: readonly (readonly [string, (secret: Anything) => unknown])[] = [
    ['its certificate', ({ data }) => Object.assign(data, { 'ca.crt': encode(AUTHORITIES.second) })],
    ['its data, for a key', (secret) => Object.assign(secret, { data: { 'ca.key': encode(PRIVATE_KEY) } })],
    ['all of its data', (secret) => Object.assign(secret, { data: undefined })],
    ['its data, by a key more', ({ data }) => Object.assign(data, { 'tls.key': encode('more') })],
    [
      'a label',
      ({ metadata }) => Object.assign(metadata.labels, { 'internal.cozystack.io/tenant-ca': 'false' }),
    ],
    ['all labels', ({ metadata }) => Object.assign(metadata, { labels: {} })],
    ['all annotations', ({ metadata }) => Object.assign(metadata, { annotations: undefined })],
    [
      'blockOwnerDeletion',
      ({ metadata }) => Object.assign(metadata.ownerReferences[0], { blockOwnerDeletion: true }),
    ],
    ['controller', ({ metadata }) => Object.assign(metadata.ownerReferences[0], { controller: false })],
    [
      'the UID of its owner',
      ({ metadata }) => Object.assign(metadata.ownerReferences[0], { uid: 'uid-of-before' }),
    ],
    [
      'its owners, by one more',
      ({ metadata }) =>
        metadata.ownerReferences.push({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          name: 'x',
          uid: 'uid-of-x',
        }),
    ],
  ]

  test.each(changes)('in %s is healed with one write', async (_title, change) => {
    const before = await published()
    await place.change(TARGET, change)
    const written = place.writes().length
    expect(await place.reconcile()).toMatchObject({ reason: 'Projected', wrote: true })
    expect(place.writes().slice(written)).toEqual([`PUT secrets/${TARGET}`])
    const { resourceVersion: _, ...metadata } = (await place.target()).metadata
    const { resourceVersion: __, ...was } = before.metadata
    expect(metadata).toEqual(was)
    expect(await place.published()).toEqual({ 'ca.crt': AUTHORITIES.first })
  })

  test('in what is not ours keeps it: labels, annotations, finalizers', async () => {
    await published()
    await place.change(TARGET, ({ metadata, data }) => {
      metadata.labels['internal.cozystack.io/tenantresource'] = 'true'
      metadata.labels['internal.cozystack.io/managed-by-cozystack'] = 'true'
      metadata.annotations['example.org/note'] = 'kept'
      metadata.finalizers = ['example.org/wait']
      data['ca.crt'] = encode('drifted')
    })
    await place.reconcile()
    expect((await place.target()).metadata).toMatchObject({
      labels: {
        'internal.cozystack.io/tenantresource': 'true',
        'internal.cozystack.io/managed-by-cozystack': 'true',
        ...MARKS.labels,
      },
      annotations: { 'example.org/note': 'kept', ...MARKS.annotations },
      finalizers: ['example.org/wait'],
    })
  })

  test('in what is not ours alone is not written', async () => {
    await published()
    await place.change(TARGET, ({ metadata }) => {
      metadata.labels['internal.cozystack.io/tenantresource'] = 'true'
    })
    expect(await place.reconcile()).toMatchObject({ wrote: false })
  })

  test('until it is immutable and holds something else is left, and says so', async () => {
    await published()
    await place.change(TARGET, (secret) => {
      secret.immutable = true
      secret.data = { 'ca.crt': encode(AUTHORITIES.second) }
    })
    const before = await place.target()
    expect(await place.reason()).toBe('ProjectionImmutable')
    expect(await place.target()).toEqual(before)
    expect(place.reasons()).toEqual(['CACertProjectionImmutable'])
    await place.admin.remove(`${SECRETS}/${TARGET}`)
    expect(await place.reason()).toBe('Projected')
  })

  test('in its labels is healed though it is immutable', async () => {
    await published()
    await place.change(TARGET, (secret) => {
      secret.immutable = true
      secret.metadata.labels = {}
    })
    expect(await place.reconcile()).toMatchObject({ reason: 'Projected', wrote: true })
    expect((await place.target()).metadata.labels).toEqual(MARKS.labels)
  })
})

describe('the digest of what tenants see', () => {
  const SELECTORS = 'internal.cozystack.io/ca-cert-selectors'
  const MANAGED = 'internal.cozystack.io/managed-by-cozystack'
  const show = (secrets: unknown) =>
    place.admin.change(DEFINITION, ({ spec }) => {
      spec.secrets = secrets
    })
  const INCLUDE = [{ matchLabels: { 'internal.cozystack.io/tenant-ca': 'true' } }]

  beforeEach(async () => {
    await place.order('orders', [])
    await show({ include: INCLUDE, exclude: [] })
    await published()
    await place.change(TARGET, ({ metadata }) => {
      metadata.labels[MANAGED] = 'true'
    })
  })

  test('is SHA-256 of canonical JSON', async () => {
    // printf '%s' '{"exclude":[],"include":[{"matchLabels":{"internal.cozystack.io/tenant-ca":"true"}}]}' | sha256sum
    const digest = '8c4b17e87d5e5118cd575408f5da1ad85a823f320c0acd746498cae0a72dbd5f'
    expect((await place.target()).metadata.annotations[SELECTORS]).toBe(digest)
  })

  test('is the same for the same, however its keys are ordered', async () => {
    await show({ exclude: [], include: INCLUDE })
    place.pass(60_000)
    expect(await place.reconcile()).toMatchObject({ wrote: false })
  })

  test('has the platform look again when it changes, in one write', async () => {
    const before = (await place.target()).metadata.annotations[SELECTORS]
    await show({ include: [] })
    place.pass(60_000)
    const written = place.writes().length
    expect(await place.reconcile()).toMatchObject({ wrote: true })
    expect(place.writes().slice(written)).toEqual([`PUT secrets/${TARGET}`])
    const { labels, annotations } = (await place.target()).metadata
    expect(labels).toEqual(MARKS.labels)
    expect(annotations[SELECTORS]).toMatch(/^[0-9a-f]{64}$/)
    expect(annotations[SELECTORS]).not.toBe(before)
  })

  test('is empty when the definition says nothing', async () => {
    await show(undefined)
    place.pass(60_000)
    await place.reconcile()
    expect((await place.target()).metadata.annotations[SELECTORS]).toBe('')
  })

  test('is empty where definitions are not served, and the CA is published all the same', async () => {
    place.pass(60_000)
    place.way.add({
      when: ({ path }) => path.includes('applicationdefinitions'),
      fault: { answer: 404, body: '404 page not found\n' },
    })
    expect(await place.reason()).toBe('Projected')
    expect((await place.target()).metadata.annotations[SELECTORS]).toBe('')
  })

  test('fails when definitions cannot be read', async () => {
    place.pass(60_000)
    place.way.add({ when: ({ path }) => path.includes('applicationdefinitions'), fault: { answer: 500 } })
    await expect(place.reconcile()).rejects.toThrow('kube_error')
  })
})

describe('a Secret that stands in its place', () => {
  const FORGED: readonly (readonly [string, object])[] = [
    ['with our labels and annotations and no owner', { metadata: MARKS }],
    [
      'with an owner of another name and no mark',
      { metadata: { ownerReferences: [ownerOf('TenantProjection', 'another')] } },
    ],
    [
      'with an owner of another name and our marks, of a source elsewhere',
      {
        metadata: {
          ...MARKS,
          annotations: { 'internal.cozystack.io/ca-cert-source': 'tenant-b/x' },
          ownerReferences: [ownerOf('TenantProjection', 'another')],
        },
      },
    ],
    [
      'with an owner of another name and our marks, and of another type',
      {
        type: 'kubernetes.io/tls',
        metadata: { ...MARKS, ownerReferences: [ownerOf('TenantProjection', 'another')] },
      },
    ],
    [
      'with our marks and an owner of another kind',
      {
        metadata: {
          ...MARKS,
          ownerReferences: [{ ...ownerOf('TenantProjection', SOURCE), kind: 'ConfigMap' }],
        },
      },
    ],
    [
      'with our marks and an owner of another version',
      {
        metadata: {
          ...MARKS,
          ownerReferences: [
            { ...ownerOf('TenantProjection', SOURCE), apiVersion: 'internal.cozystack.io/v1' },
          ],
        },
      },
    ],
    [
      'with our marks and owner, and of another type',
      {
        type: 'kubernetes.io/tls',
        metadata: { ...MARKS, ownerReferences: [ownerOf('TenantProjection', SOURCE)] },
      },
    ],
    [
      'with the release as its owner, and no mark',
      { metadata: { ownerReferences: [ownerOf('HelmRelease', RELEASE)] } },
    ],
  ]

  test.each(FORGED)('%s is not touched', async (_title, options) => {
    const data = { 'tls.crt': AUTHORITIES.leaf, 'tls.key': PRIVATE_KEY }
    const before = await place.secret({ name: TARGET, data, ...options })
    await place.secret()
    await place.projection()
    for (let time = 1; time <= 2; time += 1) {
      expect(await place.reconcile()).toMatchObject({
        ready: false,
        reason: 'ProjectionCollision',
        wrote: false,
      })
    }
    expect(await place.target()).toEqual(before)
    expect(await place.ready()).toMatchObject({ status: 'False', reason: 'ProjectionCollision' })
    expect(place.events).toMatchObject(
      Array(2).fill({
        type: 'Warning',
        reason: 'CACertSecretCollision',
        isStanding: true,
        regarding: { kind: 'Secret', name: TARGET },
      }),
    )
  })

  test('CAP-13: with a key, of an operator, is left alone and reported; a release named alike is published', async () => {
    const data = { 'tls.crt': AUTHORITIES.leaf, 'tls.key': PRIVATE_KEY }
    const foreign = await place.secret({ name: TARGET, type: 'kubernetes.io/tls', data })
    await place.secret()
    await place.projection()
    await place.projection({ name: 'sibling', release: `${RELEASE}-tenant` })
    expect(await place.reason()).toBe('ProjectionCollision')
    expect(await place.reason({ leg: 'projection', namespace: TENANT, name: 'sibling' })).toBe('Projected')
    expect(await place.target()).toEqual(foreign)
    const sibling = await place.admin.get(`${SECRETS}/${RELEASE}-tenant.tenant-ca`)
    expect(sibling.data).toEqual({ 'ca.crt': encode(AUTHORITIES.first) })
  })

  test('and a bad source at once: the source is what is reported', async () => {
    await place.secret({ name: TARGET })
    await place.secret({ data: { 'ca.crt': PRIVATE_KEY } })
    await place.projection()
    expect(await place.reason()).toBe('SourceRejected')
    expect(place.reasons()).toEqual(['CACertPrivateKeyRefused'])
  })

  test('is published over when it is gone', async () => {
    await place.secret({ name: TARGET })
    await place.secret()
    await place.projection()
    await place.reconcile()
    await place.admin.remove(`${SECRETS}/${TARGET}`)
    expect(await place.reason()).toBe('Projected')
  })
})

/** What one has published and no longer speaks for is nobody's: it must not keep out who does. */
describe('a projection that another TenantProjection has left behind', () => {
  const SECOND: Declaration = { leg: 'projection', namespace: TENANT, name: 'second' }
  const RELEASE_LABEL = 'helm.toolkit.fluxcd.io/name'
  const first = `${PROJECTIONS}/${SOURCE}`

  const takesOver = async () => {
    const { uid } = (await place.target()).metadata
    await place.secret({ name: 'second-ca', data: { 'ca.crt': AUTHORITIES.second } })
    const second = await place.projection({
      name: 'second',
      projections: [{ ...ENTRY, sourceSecretName: 'second-ca' }],
    })
    expect(await place.reconcile(SECOND)).toMatchObject({ reason: 'Projected', wrote: true })
    const { metadata } = await place.target()
    expect(metadata.uid).toBe(uid)
    expect(metadata.ownerReferences).toMatchObject([{ name: 'second', uid: second.metadata.uid }])
    expect(metadata.ownerReferences).toHaveLength(1)
    expect(await place.published()).toEqual({ 'ca.crt': AUTHORITIES.second })
    expect(await place.reconcile(SECOND)).toMatchObject({ reason: 'Projected', wrote: false })
    expect(place.events).toEqual([])
  }

  test('which is of another release now is taken over, and the one of that release is another', async () => {
    await published()
    await place.admin.change(first, ({ metadata }) => {
      metadata.labels[RELEASE_LABEL] = 'postgres-new'
    })
    await place.reconcile()
    await takesOver()
    expect(await place.reconcile()).toMatchObject({ reason: 'Projected', wrote: false })
    const { data, metadata } = await place.admin.get(`${SECRETS}/postgres-new.tenant-ca`)
    expect([data, metadata.ownerReferences[0].name]).toEqual([
      { 'ca.crt': encode(AUTHORITIES.first) },
      SOURCE,
    ])
  })

  test('which is on its way out and held up is taken over', async () => {
    await published()
    await place.admin.change(first, ({ metadata }) => {
      metadata.finalizers = ['example.org/wait']
    })
    await place.admin.remove(first)
    await takesOver()
  })

  test('which is gone is taken over, before the garbage collector comes', async () => {
    const left = { ...MARKS, ownerReferences: [ownerOf('TenantProjection', 'before')] }
    await place.secret({ name: TARGET, data: { 'ca.crt': AUTHORITIES.first }, metadata: left })
    await takesOver()
  })

  test('which still speaks for the release is not: both are contested', async () => {
    const before = await published()
    await place.projection({ name: 'second' })
    expect(await place.reason(SECOND)).toBe('ReleaseContested')
    expect(await place.target()).toEqual(before)
  })
})

describe('a projection that is being deleted', () => {
  test('is waited for, without an Event and without an end of it', async () => {
    await published()
    await place.change(TARGET, ({ metadata, data }) => {
      metadata.finalizers = ['example.org/wait']
      data['ca.crt'] = encode('drifted')
    })
    await place.admin.remove(`${SECRETS}/${TARGET}`)
    const before = await place.target()
    expect(await place.reconcile()).toMatchObject({
      ready: false,
      reason: 'ProjectionTerminating',
      wrote: false,
    })
    expect(await place.target()).toEqual(before)
    expect(place.events).toEqual([])
    await place.change(TARGET, ({ metadata }) => {
      metadata.finalizers = []
    })
    expect(await place.reason()).toBe('Projected')
    expect(await place.published()).toEqual({ 'ca.crt': AUTHORITIES.first })
  })

  test('and is not ours is a collision all the same', async () => {
    await place.secret({ name: TARGET, metadata: { finalizers: ['example.org/wait'] } })
    await place.admin.remove(`${SECRETS}/${TARGET}`)
    await place.secret()
    await place.projection()
    expect(await place.reason()).toBe('ProjectionCollision')
  })

  test('is not withdrawn a second time', async () => {
    await published()
    await place.change(TARGET, ({ metadata }) => {
      metadata.finalizers = ['example.org/wait']
    })
    await place.admin.remove(`${SECRETS}/${TARGET}`)
    await place.admin.change(`${PROJECTIONS}/${SOURCE}`, ({ spec }) => {
      spec.projections = []
    })
    expect(await place.reconcile()).toMatchObject({ reason: 'Projected', wrote: false })
  })
})

function ownerOf(kind: 'TenantProjection' | 'HelmRelease', name: string) {
  const apiVersion = kind === 'HelmRelease' ? 'helm.toolkit.fluxcd.io/v2' : 'internal.cozystack.io/v1alpha1'
  return { apiVersion, kind, name, uid: 'uid-of-nobody', controller: true, blockOwnerDeletion: false }
}
