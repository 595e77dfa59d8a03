import { describe, expect, test } from 'vitest'
import type { Declaration } from '../../src/trust-anchor/declaration.ts'
import type { Anything } from '../contract/kube.ts'
import {
  ALL_LEGS,
  type AnchorPlace,
  AUTHORITIES,
  anchorPlace,
  ENTRY,
  LABELLED,
  NAMED,
  PRIVATE_KEY,
  PROJECTION,
  PROJECTIONS,
  PUBLISH_LABELS,
  RELEASE,
  SOURCE,
  TARGET,
} from '../helpers/anchor-place.ts'
import { statusBody } from '../helpers/faults.ts'
import { TENANT } from '../helpers/sync-cluster.ts'
import { encode, RELEASES, SECRETS } from '../helpers/sync-place.ts'

const OWNER = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', name: RELEASE }

/** Where the release is there, and the source, labelled or not. */
async function placeFor(declaration: Declaration): Promise<AnchorPlace> {
  const place = await anchorPlace(ALL_LEGS)
  await place.order('orders', [])
  await place.secret({ metadata: { labels: declaration.leg === 'label' ? PUBLISH_LABELS : {} } })
  return place
}

/** A platform that has no TenantProjections. */
const unserve = ({ way }: AnchorPlace) =>
  way.add({
    when: ({ path }) => path.includes('tenantprojections'),
    fault: { answer: 404, body: '404 page not found\n' },
  })

describe.each([
  ['a labelled Secret', LABELLED],
  ["an operator's name", NAMED],
] as const)('%s', (_title, declaration) => {
  test('is published as the release’s, without the key, once, and says so on the release', async () => {
    const place = await placeFor(declaration)
    const { metadata } = await place.admin.get(`${RELEASES}/${RELEASE}`)
    expect(await place.reconcile(declaration)).toMatchObject({ ready: true, release: RELEASE, wrote: true })
    expect(await place.published()).toEqual({ 'ca.crt': AUTHORITIES.first })
    const target = await place.target()
    expect(target.metadata.ownerReferences).toEqual([
      { ...OWNER, uid: metadata.uid, controller: true, blockOwnerDeletion: false },
    ])
    expect(Object.keys(target.metadata.labels).toSorted()).toEqual([
      'internal.cozystack.io/ca-cert-copy',
      'internal.cozystack.io/tenant-ca',
    ])
    expect(place.events).toMatchObject([
      { type: 'Normal', reason: 'CACertProjected', regarding: { ...OWNER, namespace: TENANT } },
    ])
    expect(await place.reconcile(declaration)).toMatchObject({ ready: true, wrote: false })
    expect(place.writes()).toEqual([`POST secrets/${TARGET}`])
    expect(place.events).toHaveLength(1)
  })

  test('is published where the platform has no TenantProjections', async () => {
    const place = await placeFor(declaration)
    unserve(place)
    expect(await place.reason(declaration)).toBe('Projected')
  })

  test('is not heard unless it is switched on, and asks nobody', async () => {
    const place = await anchorPlace()
    expect(await place.reconcile(declaration)).toEqual({ is: 'absent' })
    expect(place.way.calls()).toEqual([])
  })

  test('leaves a TenantProjection the word, and what it published', async () => {
    const place = await placeFor(declaration)
    await place.secret({ name: 'other', data: { 'ca.crt': AUTHORITIES.second } })
    await place.projection({ projections: [{ ...ENTRY, sourceSecretName: 'other' }] })
    await place.reconcile()
    const before = await place.target()
    expect(await place.reconcile(declaration)).toMatchObject({
      ready: false,
      reason: 'Superseded',
      wrote: false,
    })
    expect(await place.target()).toEqual(before)
    expect(place.events).toEqual([])
  })

  test('is heard when the TenantProjection asks for no CA, or is on its way out', async () => {
    const place = await placeFor(declaration)
    await place.projection({ projections: [{ ...ENTRY, type: 'ConnectionString' }] })
    await place.projection({
      name: 'going',
      metadata: { finalizers: ['example.org/wait'], labels: { 'helm.toolkit.fluxcd.io/name': RELEASE } },
    })
    await place.admin.remove(`${PROJECTIONS}/going`)
    expect(await place.reason(declaration)).toBe('Projected')
  })

  test('gives what it published to a TenantProjection that comes, and takes it back, without a gap', async () => {
    const place = await placeFor(declaration)
    await place.reconcile(declaration)
    const { uid } = (await place.target()).metadata
    const { metadata } = await place.projection()
    expect(await place.reconcile()).toMatchObject({ reason: 'Projected', wrote: true })
    expect((await place.target()).metadata).toMatchObject({
      uid,
      ownerReferences: [{ kind: 'TenantProjection', name: SOURCE, uid: metadata.uid }],
    })
    await place.admin.change(`${PROJECTIONS}/${SOURCE}`, ({ spec }) => {
      spec.projections = []
    })
    expect(await place.reconcile(declaration)).toMatchObject({ reason: 'Projected', wrote: true })
    // What was taken over is no longer that declaration's to withdraw.
    await place.reconcile()
    expect((await place.target()).metadata).toMatchObject({ uid, ownerReferences: [{ ...OWNER }] })
    expect(await place.published()).toEqual({ 'ca.crt': AUTHORITIES.first })
  })

  test.each([
    ['our marks and no owner', {}],
    [
      'our marks and an owner of another name',
      { ownerReferences: [{ ...OWNER, name: 'postgres-other', uid: 'x' }] },
    ],
  ])('does not touch a Secret with %s', async (_title2, metadata) => {
    const place = await placeFor(declaration)
    const labels = { 'internal.cozystack.io/tenant-ca': 'true', 'internal.cozystack.io/ca-cert-copy': 'true' }
    const annotations = { 'internal.cozystack.io/ca-cert-source': `${TENANT}/${SOURCE}` }
    const before = await place.secret({ name: TARGET, metadata: { labels, annotations, ...metadata } })
    expect(await place.reason(declaration)).toBe('ProjectionCollision')
    expect(await place.target()).toEqual(before)
    expect(place.events).toMatchObject([
      { reason: 'CACertProjectionCollision', isStanding: true, regarding: OWNER },
      { reason: 'CACertSecretCollision', isStanding: true, regarding: { kind: 'Secret', name: TARGET } },
    ])
  })

  test.each([
    ['garbage', { 'ca.crt': 'garbage' }, 'CACertInvalid'],
    ['a key', { 'ca.crt': AUTHORITIES.second + PRIVATE_KEY }, 'CACertPrivateKeyRefused'],
  ])('that comes to hold %s leaves what is published, and says so twice', async (_what, data, event) => {
    const place = await placeFor(declaration)
    await place.reconcile(declaration)
    const before = await place.target()
    await place.fill(data)
    expect(await place.reason(declaration)).toBe('SourceRejected')
    expect(await place.target()).toEqual(before)
    expect(place.events.slice(1)).toMatchObject([
      { reason: 'CACertSourceRejected', regarding: OWNER },
      { reason: event, regarding: { kind: 'Secret', name: SOURCE } },
    ])
    expect(JSON.stringify(place.events)).not.toContain('c2VjcmV0')
  })

  test('whose write is refused says so on the release, and the look fails', async () => {
    const place = await placeFor(declaration)
    const body = statusBody(
      403,
      'Forbidden',
      'exceeded quota: few, requested: secrets=1, used: 9, limited: 9',
    )
    place.way.add({ when: ({ method }) => method === 'POST', fault: { answer: 403, body } })
    await expect(place.reconcile(declaration)).rejects.toThrow('kube_quota_exceeded')
    expect(place.events).toMatchObject([
      {
        reason: 'CACertWriteRefused',
        isStanding: true,
        regarding: OWNER,
        note: expect.stringContaining('few'),
      },
    ])
  })

  test('goes with the release', async () => {
    const place = await placeFor(declaration)
    await place.reconcile(declaration)
    await place.admin.remove(`${RELEASES}/${RELEASE}`)
    expect(await place.target()).toBeUndefined()
    await place.reconcile(declaration)
    expect(await place.target()).toBeUndefined()
  })

  test('has nothing published for a release that is going', async () => {
    const place = await placeFor(declaration)
    await place.admin.change(`${RELEASES}/${RELEASE}`, ({ metadata }) => {
      metadata.finalizers = ['finalizers.fluxcd.io']
    })
    await place.admin.remove(`${RELEASES}/${RELEASE}`)
    await place.reconcile(declaration)
    expect(await place.target()).toBeUndefined()
  })
})

describe('a labelled Secret', () => {
  test('is published from the key that its annotation names', async () => {
    const place = await anchorPlace(ALL_LEGS)
    await place.order('orders', [])
    await place.secret({
      data: { 'tls.crt': AUTHORITIES.second, 'tls.key': PRIVATE_KEY },
      metadata: {
        labels: PUBLISH_LABELS,
        annotations: { 'internal.cozystack.io/publish-ca-cert-key': 'tls.crt' },
      },
    })
    await place.reconcile(LABELLED)
    expect(await place.published()).toEqual({ 'ca.crt': AUTHORITIES.second })
  })

  test('with nothing under that key says so on the release', async () => {
    const place = await anchorPlace(ALL_LEGS)
    await place.order('orders', [])
    await place.secret({ data: { 'tls.crt': AUTHORITIES.leaf }, metadata: { labels: PUBLISH_LABELS } })
    expect(await place.reason(LABELLED)).toBe('SourceNotReady')
    expect(place.events).toMatchObject([
      { reason: 'CACertSourceNotReady', isStanding: true, regarding: OWNER },
    ])
    expect(await place.target()).toBeUndefined()
  })

  test.each([
    ['no release', { 'internal.cozystack.io/publish-ca-cert': 'true' }],
    [
      'a release that is not there',
      { ...PUBLISH_LABELS, 'internal.cozystack.io/publish-ca-cert-release': 'gone' },
    ],
  ])('that names %s says so itself, and nothing is published', async (_title, labels) => {
    const place = await anchorPlace(ALL_LEGS)
    await place.secret({ metadata: { labels } })
    expect(await place.reason(LABELLED)).toBe('NoRelease')
    expect(place.events).toMatchObject([
      {
        type: 'Warning',
        reason: 'CACertNoRelease',
        isStanding: true,
        regarding: { kind: 'Secret', name: SOURCE },
      },
    ])
    expect(place.writes()).toEqual([])
  })

  test.each([
    ['no label', {}],
    ['a label that does not say true', { ...PUBLISH_LABELS, 'internal.cozystack.io/publish-ca-cert': 'yes' }],
  ])('with %s asks for nothing', async (_title, labels) => {
    const place = await anchorPlace(ALL_LEGS)
    await place.order('orders', [])
    await place.secret({ metadata: { labels } })
    expect(await place.reconcile(LABELLED)).toEqual({ is: 'absent' })
  })

  test('which is what was published itself asks for nothing: its CA is renewed as before', async () => {
    const place = await placeFor(NAMED)
    await place.reconcile(NAMED)
    await place.change(TARGET, ({ metadata }) => {
      Object.assign(metadata.labels, PUBLISH_LABELS)
      // Whoever may label it may take our marks off.
      delete metadata.labels['internal.cozystack.io/ca-cert-copy']
    })
    await place.fill({ 'ca.crt': AUTHORITIES.second })
    expect(await place.reconcile({ leg: 'label', namespace: TENANT, secret: TARGET })).toEqual({
      is: 'absent',
    })
    expect(await place.reason(NAMED)).toBe('Projected')
    expect(await place.published()).toEqual({ 'ca.crt': AUTHORITIES.second })
  })

  test('which is what was published is no rival of the one that is labelled', async () => {
    const place = await placeFor(LABELLED)
    await place.reconcile(LABELLED)
    await place.change(TARGET, ({ metadata }) => Object.assign(metadata.labels, PUBLISH_LABELS))
    await place.fill({ 'ca.crt': AUTHORITIES.second })
    expect(await place.reason(LABELLED)).toBe('Projected')
    expect(await place.published()).toEqual({ 'ca.crt': AUTHORITIES.second })
  })

  test('which has the name of what is published, and was put there by its engine, is looked at and left', async () => {
    const place = await anchorPlace(ALL_LEGS)
    await place.order('orders', [])
    const before = await place.secret({ name: TARGET, metadata: { labels: PUBLISH_LABELS } })
    expect(await place.reason({ leg: 'label', namespace: TENANT, secret: TARGET })).toBe(
      'CanonicalNameOccupied',
    )
    expect(await place.target()).toEqual(before)
  })

  test('beside another for the same release is contested: one Event, said by both', async () => {
    const place = await placeFor(LABELLED)
    await place.reconcile(LABELLED)
    const before = await place.target()
    await place.secret({
      name: 'other',
      data: { 'ca.crt': AUTHORITIES.second },
      metadata: { labels: PUBLISH_LABELS },
    })
    for (const secret of [SOURCE, 'other']) {
      expect(await place.reason({ leg: 'label', namespace: TENANT, secret })).toBe('ReleaseContested')
    }
    expect(await place.target()).toEqual(before)
    const [, first, second] = place.events
    expect(first).toMatchObject({ reason: 'CACertReleaseContested', regarding: OWNER })
    expect(second).toEqual(first)
  })
})

describe("an operator's name", () => {
  test('whose Secret is not there is nothing to talk about', async () => {
    const place = await anchorPlace(ALL_LEGS)
    await place.order('orders', [])
    expect(await place.reason(NAMED)).toBe('SourceNotFound')
    expect(place.events).toEqual([])
  })

  test('is of no other kind of application', async () => {
    const place = await anchorPlace({
      names: new Map([['MariaDB', { source: '{release}-ca', key: 'ca.crt' }]]),
    })
    await place.order('orders', [])
    await place.secret()
    expect(await place.reconcile(NAMED)).toEqual({ is: 'absent' })
  })

  test('gives way to a labelled Secret, which takes over what it published', async () => {
    const place = await placeFor(NAMED)
    await place.reconcile(NAMED)
    await place.secret({
      name: 'other',
      data: { 'ca.crt': AUTHORITIES.second },
      metadata: { labels: PUBLISH_LABELS },
    })
    expect(await place.reason(NAMED)).toBe('Superseded')
    expect(await place.reason({ leg: 'label', namespace: TENANT, secret: 'other' })).toBe('Projected')
    const target = await place.target()
    expect(target.data).toEqual({ 'ca.crt': encode(AUTHORITIES.second) })
    expect(target.metadata.annotations['internal.cozystack.io/ca-cert-source']).toBe(`${TENANT}/other`)
  })

  test('is heard again when labels are switched off', async () => {
    const place = await anchorPlace({ names: ALL_LEGS.names })
    await place.order('orders', [])
    await place.secret({ metadata: { labels: PUBLISH_LABELS } })
    expect(await place.reason(NAMED)).toBe('Projected')
    const lists = ({ method, path }: Anything) => method === 'GET' && path.startsWith(`${SECRETS}?`)
    expect(place.way.calls().some(lists)).toBe(false)
  })
})

describe('a TenantProjection', () => {
  test('where the kind is not served is a failure that says so', async () => {
    const place = await anchorPlace()
    unserve(place)
    await expect(place.reconcile(PROJECTION)).rejects.toThrow('kube_not_served')
  })
})
