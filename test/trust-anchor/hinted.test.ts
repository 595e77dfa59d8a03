import { beforeEach, describe, expect, test } from 'vitest'
import type { Declaration } from '../../src/trust-anchor/declaration.ts'
import { declarationsAbout } from '../../src/trust-anchor/hinted.ts'
import {
  ALL_LEGS,
  type AnchorPlace,
  anchorPlace,
  ENTRY,
  LABELLED,
  NAMED,
  PROJECTION,
  PROJECTIONS,
  PUBLISH_LABELS,
  SOURCE,
  TARGET,
} from '../helpers/anchor-place.ts'
import { statusBody } from '../helpers/faults.ts'
import { TENANT } from '../helpers/sync-cluster.ts'
import { SECRETS } from '../helpers/sync-place.ts'

let place: AnchorPlace
beforeEach(async () => {
  place = await anchorPlace(ALL_LEGS)
})

/** What has to be looked at when something has happened to a Secret of this name. */
async function about(secret: string, namespace = TENANT): Promise<readonly Declaration[]> {
  const found = await declarationsAbout(place.services, { namespace, secret })
  if (!found.ok) throw new Error(found.failure.reason)
  return found.value
}

const unserve = () =>
  place.way.add({
    when: ({ path }) => path.includes('tenantprojections'),
    fault: { answer: 404, body: '404 page not found\n' },
  })

describe('a Secret that something has happened to', () => {
  test('has nothing to do with anything', async () => {
    await place.projection()
    await place.order('orders', [])
    expect(await about('unrelated')).toEqual([])
  })

  test.each([
    ['the source', SOURCE],
    ['what is published, as a tenant has changed or deleted it', TARGET],
  ])('is %s of a TenantProjection', async (_, secret) => {
    await place.projection()
    await place.projection({
      name: 'other',
      release: 'other',
      projections: [{ ...ENTRY, sourceSecretName: 'x' }],
    })
    expect(await about(secret)).toEqual([PROJECTION])
  })

  test('is the source of several', async () => {
    await place.projection()
    await place.projection({ name: 'other', release: 'other' })
    expect(await about(SOURCE)).toEqual([PROJECTION, { ...PROJECTION, name: 'other' }].toReversed())
  })

  test('is that of a TenantProjection in another namespace: not of this one', async () => {
    await place.projection()
    expect(await about(SOURCE, 'tenant-b')).toEqual([])
  })

  test('is that of a TenantProjection that is on its way out: of none', async () => {
    await place.projection({
      metadata: { finalizers: ['example.org/wait'], labels: { 'helm.toolkit.fluxcd.io/name': 'x' } },
    })
    await place.admin.remove(`${PROJECTIONS}/${SOURCE}`)
    expect(await about(SOURCE)).toEqual([])
  })

  test('is that of a TenantProjection which asks for two CAs: not as a source, but as what is published', async () => {
    await place.projection({ projections: [ENTRY, ENTRY] })
    expect(await about(SOURCE)).toEqual([])
    expect(await about(TARGET)).toEqual([PROJECTION])
  })

  test('asks for itself by its labels', async () => {
    await place.secret({ metadata: { labels: PUBLISH_LABELS } })
    expect(await about(SOURCE)).toEqual([LABELLED])
  })

  test('is what was published for a labelled one', async () => {
    await place.secret({ metadata: { labels: PUBLISH_LABELS } })
    expect(await about(TARGET)).toEqual([LABELLED])
  })

  test('is what the operator of an application calls its CA, or what is published of it', async () => {
    await place.order('orders', [])
    expect(await about(SOURCE)).toEqual([NAMED])
    expect(await about(TARGET)).toEqual([NAMED])
  })

  test('has such a name, and the release is of a kind whose operator uses another', async () => {
    place = await anchorPlace({ names: new Map([['Postgres', { source: 'x-{release}', key: 'ca.crt' }]]) })
    await place.order('orders', [])
    expect(await about(SOURCE)).toEqual([])
  })

  test('is each of them at once, each named once', async () => {
    await place.order('orders', [])
    await place.projection()
    await place.secret({ metadata: { labels: PUBLISH_LABELS } })
    expect(await about(SOURCE)).toEqual([PROJECTION, LABELLED, NAMED])
    expect(await about(TARGET)).toEqual([PROJECTION, LABELLED, NAMED])
  })

  test('is read only where labels are heard: its name says enough', async () => {
    place = await anchorPlace()
    await place.projection()
    await place.secret({ metadata: { labels: PUBLISH_LABELS } })
    await place.order('orders', [])
    expect(await about(SOURCE)).toEqual([PROJECTION])
    expect(place.way.calls().map(({ path }) => path.split('?')[0])).toEqual([PROJECTIONS])
  })

  test.each(['', '..', 'a/b', 'UPPER', 'x'.repeat(254)])(
    'has a name that is none (%j): nobody is asked',
    async (secret) => {
      expect(await about(secret)).toEqual([])
      expect(await about('x', secret)).toEqual([])
      expect(place.way.calls()).toEqual([])
    },
  )
})

describe('where the platform has no TenantProjections', () => {
  test('labels and names are heard', async () => {
    unserve()
    await place.order('orders', [])
    await place.secret({ metadata: { labels: PUBLISH_LABELS } })
    expect(await about(SOURCE)).toEqual([LABELLED, NAMED])
  })

  test('and nothing else is switched on, that is a failure: somebody meant to have them', async () => {
    place = await anchorPlace()
    unserve()
    await expect(about(SOURCE)).rejects.toThrow('kube_not_served')
  })
})

test.each([
  ['TenantProjections', PROJECTIONS],
  ['the Secret', `${SECRETS}/${SOURCE}`],
  ['the release', '/helmreleases/'],
])('a read of %s that fails is a failure, and no empty answer', async (_, part) => {
  await place.order('orders', [])
  place.way.add({
    when: ({ path }) => path.includes(part),
    fault: { answer: 500, body: statusBody(500, 'InternalError', 'x') },
  })
  await expect(about(SOURCE)).rejects.toThrow('kube_error')
})
