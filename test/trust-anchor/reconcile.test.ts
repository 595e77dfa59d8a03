import { beforeEach, describe, expect, test } from 'vitest'
import type { Anything } from '../contract/kube.ts'
import {
  type AnchorPlace,
  AUTHORITIES,
  anchorPlace,
  ENTRY,
  PRIVATE_KEY,
  PROJECTION,
  PROJECTIONS,
  RELEASE,
  SOURCE,
  TARGET,
} from '../helpers/anchor-place.ts'
import { TENANT } from '../helpers/sync-cluster.ts'
import { encode, SECRETS } from '../helpers/sync-place.ts'

let place: AnchorPlace
beforeEach(async () => {
  place = await anchorPlace()
})

/** What an answer of the API server, an Event and a line of the log have in common. */
const everythingSaid = async () =>
  JSON.stringify([place.events, place.logged, (await place.admin.get(PROJECTIONS)).items])

describe('a declared source that holds a CA and its key', () => {
  test('is published without the key, once, and says so', async () => {
    await place.secret()
    const { metadata } = await place.projection()
    expect(await place.reconcile()).toEqual({
      is: 'done',
      ready: true,
      reason: 'Projected',
      message: `1 certificate of Secret ${SOURCE} published as Secret ${TARGET}`,
      release: RELEASE,
      wrote: true,
    })
    const target = await place.target()
    expect(target).toMatchObject({
      type: 'Opaque',
      data: { 'ca.crt': encode(AUTHORITIES.first) },
      metadata: {
        labels: {
          'internal.cozystack.io/tenant-ca': 'true',
          'internal.cozystack.io/ca-cert-copy': 'true',
        },
        annotations: {
          'internal.cozystack.io/ca-cert-source': `${TENANT}/${SOURCE}`,
          'internal.cozystack.io/ca-cert-selectors': '',
        },
      },
    })
    expect(Object.keys(target.data)).toEqual(['ca.crt'])
    expect(Object.keys(target.metadata.labels)).toHaveLength(2)
    expect(Object.keys(target.metadata.annotations)).toHaveLength(2)
    expect(target.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'internal.cozystack.io/v1alpha1',
        kind: 'TenantProjection',
        name: SOURCE,
        uid: metadata.uid,
        controller: true,
        blockOwnerDeletion: false,
      },
    ])
    expect(place.events).toEqual([])
    expect(await everythingSaid()).not.toContain('PRIVATE')
  })

  test('is a line of the log each time that it is written or withdrawn, and at no other', async () => {
    await place.secret()
    await place.projection()
    await place.reconcile()
    await place.reconcile()
    await place.fill({ 'ca.crt': AUTHORITIES.second })
    await place.reconcile()
    await place.admin.change(`${PROJECTIONS}/${SOURCE}`, ({ spec }) => {
      spec.projections = []
    })
    await place.reconcile()
    expect(place.logged).toEqual(
      ['created', 'updated', 'deleted'].map((what) => ({
        event: 'anchor_secret',
        fields: { what, namespace: TENANT, secret: TARGET },
      })),
    )
  })

  test('is written once: a second look reads five times, and leaves target and status alone', async () => {
    await place.secret()
    await place.projection()
    await place.reconcile()
    expect(place.writes()).toEqual([`POST secrets/${TARGET}`, `PUT tenantprojections/${SOURCE}/status`])
    const before = place.way.calls().length
    expect(await place.reconcile()).toMatchObject({ reason: 'Projected', wrote: false })
    expect(
      place.way
        .calls()
        .slice(before)
        .map(({ method, path }) => `${method} ${path.split(`/namespaces/${TENANT}/`)[1]}`),
    ).toEqual([
      `GET tenantprojections/${SOURCE}`,
      `GET secrets/${TARGET}`,
      `GET tenantprojections?labelSelector=helm.toolkit.fluxcd.io%2Fname%3D${RELEASE}&limit=500`,
      `GET helmreleases/${RELEASE}`,
      `GET secrets/${SOURCE}`,
    ])
  })

  test('is published from the key that the declaration names, whatever it is called', async () => {
    await place.secret({ data: { 'tls.crt': AUTHORITIES.second, 'tls.key': PRIVATE_KEY } })
    await place.projection({ projections: [{ ...ENTRY, sourceKey: ' tls.crt ' }] })
    expect(await place.reason()).toBe('Projected')
    expect(await place.published()).toEqual({ 'ca.crt': AUTHORITIES.second })
  })

  test('is published from ca.crt when the declaration names no key', async () => {
    await place.secret()
    await place.projection({ projections: [{ type: 'CACert', sourceSecretName: SOURCE }] })
    await place.reconcile()
    expect(await place.published()).toEqual({ 'ca.crt': AUTHORITIES.first })
  })

  test('CAP-15: has other keys, labels and annotations, of which nothing is copied', async () => {
    await place.secret({
      type: 'kubernetes.io/tls',
      data: {
        'ca.crt': AUTHORITIES.first,
        'tls.crt': AUTHORITIES.leaf,
        'tls.key': PRIVATE_KEY,
        'key.der': '0\u0082\u0001',
        'tls-combined.pem': `${PRIVATE_KEY}${AUTHORITIES.leaf}`,
        'keystore.p12': 'p12',
        'truststore.jks': 'jks',
      },
      metadata: {
        labels: { 'cnpg.io/cluster': 'orders', 'internal.cozystack.io/tenantresource': 'true' },
        annotations: { 'cert-manager.io/alt-names': 'db.internal' },
      },
    })
    await place.projection()
    await place.order('orders', [])
    await place.reconcile()
    const { data, type, metadata } = await place.target()
    expect(type).toBe('Opaque')
    expect(Object.keys(data)).toEqual(['ca.crt'])
    expect(Object.keys(metadata.labels).toSorted()).toEqual([
      'internal.cozystack.io/ca-cert-copy',
      'internal.cozystack.io/tenant-ca',
    ])
    expect(Object.keys(metadata.annotations).toSorted()).toEqual([
      'internal.cozystack.io/ca-cert-selectors',
      'internal.cozystack.io/ca-cert-source',
    ])
  })

  test('is published anew when its CA is another', async () => {
    await place.secret()
    await place.projection()
    await place.reconcile()
    await place.fill({ 'ca.crt': AUTHORITIES.second + AUTHORITIES.first, 'ca.key': PRIVATE_KEY })
    expect(await place.reconcile()).toMatchObject({
      wrote: true,
      message: `2 certificates of Secret ${SOURCE} published as Secret ${TARGET}`,
    })
    expect(await place.published()).toEqual({ 'ca.crt': AUTHORITIES.second + AUTHORITIES.first })
  })

  test('goes with its declaration, and is there again with the next of that name', async () => {
    await place.secret()
    await place.projection()
    await place.reconcile()
    await place.admin.remove(`${PROJECTIONS}/${SOURCE}`)
    expect(await place.target()).toBeUndefined()
    expect(await place.reconcile()).toEqual({ is: 'absent' })
    const { metadata } = await place.projection()
    await place.reconcile()
    expect((await place.target()).metadata.ownerReferences).toMatchObject([{ uid: metadata.uid }])
  })
})

/** What a source may be like, and what is said of it. */
const NOT_READY: readonly [string, Readonly<Record<string, string>> | undefined, string, string?][] = [
  ['is not there', undefined, 'SourceNotFound'],
  [
    'has a certificate under another key only',
    { 'tls.crt': AUTHORITIES.leaf, 'tls.key': PRIVATE_KEY },
    'SourceNotReady',
  ],
  ['has an empty value', { 'ca.crt': '' }, 'SourceNotReady'],
  ['has nothing but white space', { 'ca.crt': ' \r\n\t\n' }, 'SourceNotReady'],
  ['holds garbage', { 'ca.crt': 'not a certificate' }, 'SourceRejected', 'CACertInvalid'],
  ['holds a key', { 'ca.crt': PRIVATE_KEY }, 'SourceRejected', 'CACertPrivateKeyRefused'],
  [
    'holds a key after a certificate',
    { 'ca.crt': AUTHORITIES.second + PRIVATE_KEY },
    'SourceRejected',
    'CACertPrivateKeyRefused',
  ],
]

describe.each(NOT_READY)('CAP-01: a source that %s', (_title, data, reason, event) => {
  const make = async () => {
    if (data !== undefined) await place.secret({ data })
    await place.projection()
  }

  test('is an outcome with a reason, and nothing is published', async () => {
    await make()
    expect(await place.reconcile()).toMatchObject({ is: 'done', ready: false, reason, wrote: false })
    expect(await place.target()).toBeUndefined()
    expect(await place.ready()).toMatchObject({ status: 'False', reason })
    expect(place.reasons()).toEqual(event === undefined ? [] : [event])
  })

  test('leaves what was published before as it was, byte for byte', async () => {
    await place.secret()
    await place.projection()
    await place.reconcile()
    const before = await place.target()
    if (data === undefined) await place.admin.remove(`${SECRETS}/${SOURCE}`)
    else await place.fill(data)
    expect(await place.reconcile()).toMatchObject({ reason, wrote: false })
    expect(await place.target()).toEqual(before)
  })

  test('is published as soon as it holds a CA', async () => {
    await make()
    await place.reconcile()
    if (data === undefined) await place.secret()
    else await place.fill({ 'ca.crt': AUTHORITIES.first })
    expect(await place.reason()).toBe('Projected')
    expect(await place.ready()).toMatchObject({ status: 'True', reason: 'Projected' })
  })

  test('is reported without a byte of it, the same each time', async () => {
    await make()
    await place.reconcile()
    const [first] = place.events
    await place.reconcile()
    if (event !== undefined) {
      expect(first).toMatchObject({
        type: 'Warning',
        isStanding: true,
        regarding: { kind: 'Secret', name: SOURCE },
      })
      expect(place.events[1]).toEqual(first)
    }
    const said = await everythingSaid()
    for (const text of ['PRIVATE KEY-', 'c2VjcmV0', 'not a certificate', 'MIIB'])
      expect(said).not.toContain(text)
  })
})

describe('what a declaration says', () => {
  test.each([
    ['no HelmRelease', { metadata: { labels: {} } }, 'NoRelease'],
    ['a HelmRelease that no name can be', { release: 'Orders_1' }, 'NoRelease'],
    ['two CAs', { projections: [ENTRY, { ...ENTRY, sourceKey: 'tls.crt' }] }, 'MultipleCACertProjections'],
    [
      'another type alone',
      { projections: [{ ...ENTRY, type: 'ConnectionString' }] },
      'UnsupportedProjectionType',
    ],
    ['no source', { projections: [{ type: 'CACert', sourceSecretName: '' }] }, 'SourceInvalid'],
    [
      'a source in another namespace',
      { projections: [{ ...ENTRY, sourceSecretName: '../kube-system/ca' }] },
      'SourceInvalid',
    ],
    ['a key that is none', { projections: [{ ...ENTRY, sourceKey: 'ca.crt/../ca.key' }] }, 'SourceInvalid'],
  ])('names %s: nothing is published, and the status says why', async (_title, options, reason) => {
    await place.secret()
    await place.projection(options)
    expect(await place.reconcile()).toMatchObject({ ready: false, reason, wrote: false })
    expect(await place.target()).toBeUndefined()
    expect(await place.ready()).toMatchObject({ status: 'False', reason })
  })

  test('names a CA and something else: the CA is published, the rest reported', async () => {
    await place.secret()
    await place.projection({ projections: [{ ...ENTRY, type: 'ConnectionString' }, ENTRY] })
    expect(await place.reconcile()).toMatchObject({
      ready: false,
      reason: 'UnsupportedProjectionType',
      wrote: true,
    })
    expect(await place.published()).toEqual({ 'ca.crt': AUTHORITIES.first })
  })

  test('is a second CA: what is published stays', async () => {
    await place.secret()
    await place.projection()
    await place.reconcile()
    const before = await place.target()
    await place.admin.change(`${PROJECTIONS}/${SOURCE}`, ({ spec }) => spec.projections.push(ENTRY))
    expect(await place.reason()).toBe('MultipleCACertProjections')
    expect(await place.target()).toEqual(before)
  })

  const without = (projections: unknown) =>
    place.admin.change(`${PROJECTIONS}/${SOURCE}`, ({ spec }) => {
      spec.projections = projections
    })

  test('is no CA any more: what this declaration published is withdrawn', async () => {
    await place.secret()
    await place.projection()
    await place.reconcile()
    await without([])
    expect(await place.reconcile()).toMatchObject({ ready: true, reason: 'Projected', wrote: true })
    expect(await place.target()).toBeUndefined()
    expect(await place.reconcile()).toMatchObject({ ready: true, wrote: false })
  })

  test('is no CA any more: what stands there and is of somebody else stays', async () => {
    await place.secret({ name: TARGET, data: { 'ca.crt': 'mine' } })
    await place.projection({ projections: [] })
    await place.reconcile()
    expect(await place.published()).toEqual({ 'ca.crt': 'mine' })
  })

  test.each([
    ['without a list', undefined],
    ['without types', [{ sourceSecretName: SOURCE }]],
  ])('is hidden by a CRD that lost its schema, %s: nothing is withdrawn', async (_title, projections) => {
    await place.secret()
    await place.projection()
    await place.reconcile()
    const before = await place.target()
    await without(projections)
    expect(await place.reconcile()).toMatchObject({ ready: false, reason: 'SourceInvalid', wrote: false })
    expect(await place.target()).toEqual(before)
  })

  test('is on its way out: nothing is done for it, not even a status', async () => {
    await place.secret()
    await place.projection({
      metadata: { finalizers: ['example.org/wait'], labels: { 'helm.toolkit.fluxcd.io/name': RELEASE } },
    })
    await place.admin.remove(`${PROJECTIONS}/${SOURCE}`)
    expect(await place.reconcile()).toEqual({ is: 'absent' })
    expect(place.writes()).toEqual([])
  })

  test.each(['', '..', 'a/b', 'UPPER'])('has a name that is none (%j): nobody is asked', async (name) => {
    expect(await place.reconcile({ leg: 'projection', namespace: TENANT, name })).toEqual({ is: 'absent' })
    expect(place.way.calls()).toEqual([])
  })
})

describe('two declarations for one release', () => {
  const both = async () => {
    await place.secret()
    await place.projection()
    await place.reconcile()
    await place.projection({ name: 'second' })
  }

  test('are contested: both say so, and nothing is written or deleted', async () => {
    await both()
    await place.fill({ 'ca.crt': AUTHORITIES.second })
    const before = await place.target()
    const message = `more than one TenantProjection asks for the CA of HelmRelease ${RELEASE}: ${SOURCE}, second; leave one of them`
    for (const name of [SOURCE, 'second']) {
      expect(await place.reason({ ...PROJECTION, name } as typeof PROJECTION)).toBe('ReleaseContested')
      expect(await place.ready(name)).toMatchObject({ status: 'False', reason: 'ReleaseContested', message })
    }
    expect(await place.target()).toEqual(before)
  })

  test('are one again when the other is gone, or asks for no CA', async () => {
    await both()
    await place.admin.change(`${PROJECTIONS}/second`, ({ spec }) => {
      spec.projections = []
    })
    expect(await place.reason()).toBe('Projected')
  })

  test('are none when they are of releases whose names begin alike', async () => {
    await place.secret()
    await place.projection()
    await place.projection({ name: 'other', release: `${RELEASE}-tenant` })
    expect(await place.reason()).toBe('Projected')
    expect(await place.reason({ leg: 'projection', namespace: TENANT, name: 'other' })).toBe('Projected')
    const names = (await place.admin.get(SECRETS)).items.map(({ metadata }: Anything) => metadata.name)
    expect(names).toEqual([SOURCE, `${RELEASE}-tenant.tenant-ca`, TARGET])
  })
})
