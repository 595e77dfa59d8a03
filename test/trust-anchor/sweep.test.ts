import { describe, expect, test } from 'vitest'
import { sweepAnchors } from '../../src/trust-anchor/sweep.ts'
import type { Anything } from '../contract/kube.ts'
import {
  ALL_LEGS,
  type AnchorPlace,
  AUTHORITIES,
  anchorPlace,
  ENTRY,
  PRIVATE_KEY,
  PROJECTIONS,
  PUBLISH_LABELS,
  RELEASE,
  SOURCE,
  TARGET,
} from '../helpers/anchor-place.ts'
import { statusBody } from '../helpers/faults.ts'
import { encode, onceAfter, SECRETS } from '../helpers/sync-place.ts'

const NOTHING = { declarations: 0, ready: 0, written: 0, failures: 0 }

async function swept({ services }: AnchorPlace) {
  const done = await sweepAnchors(services)
  if (!done.ok) throw new Error(done.failure.reason)
  return done.value
}

const listed = ({ way }: AnchorPlace) =>
  way
    .calls()
    .filter(
      ({ method, path }) => method === 'GET' && /\?.*limit=/.test(path) && !path.includes('/namespaces/'),
    )
    .map(({ path }) => decodeURIComponent(path).replace(/&?limit=500/, ''))

const unserve = ({ way }: AnchorPlace) =>
  way.add({
    when: ({ path }) => path.includes('tenantprojections'),
    fault: { answer: 404, body: '404 page not found\n' },
  })

/** Three releases, of which each leg speaks for one. */
async function threeLegs(): Promise<AnchorPlace> {
  const place = await anchorPlace(ALL_LEGS)
  for (const name of ['orders', 'shop', 'ledger']) await place.order(name, [])
  await place.secret()
  await place.projection()
  const labels = { ...PUBLISH_LABELS, 'internal.cozystack.io/publish-ca-cert-release': 'postgres-shop' }
  await place.secret({ name: 'shop', data: { 'ca.crt': AUTHORITIES.second }, metadata: { labels } })
  await place.secret({ name: 'postgres-ledger-ca' })
  return place
}

describe('a sweep', () => {
  test('publishes what is declared, however it is, and then leaves it alone', async () => {
    const place = await threeLegs()
    expect(await swept(place)).toEqual({ declarations: 3, ready: 3, written: 3, failures: 0 })
    for (const [release, pem] of [
      ['orders', AUTHORITIES.first],
      ['shop', AUTHORITIES.second],
      ['ledger', AUTHORITIES.first],
    ]) {
      const { data } = await place.admin.get(`${SECRETS}/postgres-${release}.tenant-ca`)
      expect(data).toEqual({ 'ca.crt': encode(pem ?? '') })
    }
    const before = place.writes().length
    expect(await swept(place)).toEqual({ declarations: 3, ready: 3, written: 0, failures: 0 })
    expect(place.writes()).toHaveLength(before)
  })

  test('finds TenantProjections alone unless more is switched on', async () => {
    const place = await anchorPlace()
    await place.order('orders', [])
    await place.secret({ metadata: { labels: PUBLISH_LABELS } })
    expect(await swept(place)).toEqual(NOTHING)
    expect(listed(place)).toEqual(['/apis/internal.cozystack.io/v1alpha1/tenantprojections?'])
  })

  test('asks for labelled Secrets and releases of known kinds by selectors', async () => {
    const place = await anchorPlace(ALL_LEGS)
    expect(await swept(place)).toEqual(NOTHING)
    expect(listed(place)).toEqual([
      '/apis/internal.cozystack.io/v1alpha1/tenantprojections?',
      '/api/v1/secrets?labelSelector=internal.cozystack.io/publish-ca-cert=true',
      '/apis/helm.toolkit.fluxcd.io/v2/helmreleases?labelSelector=apps.cozystack.io/application.group=apps.cozystack.io,apps.cozystack.io/application.kind=Postgres',
    ])
  })

  test('looks at one leg of a release: the strongest that speaks', async () => {
    const place = await anchorPlace(ALL_LEGS)
    await place.order('orders', [])
    await place.secret({ metadata: { labels: PUBLISH_LABELS } })
    await place.secret({ name: 'other', data: { 'ca.crt': AUTHORITIES.second } })
    await place.projection({ projections: [{ ...ENTRY, sourceSecretName: 'other' }] })
    expect(await swept(place)).toEqual({ declarations: 1, ready: 1, written: 1, failures: 0 })
    expect(await place.published()).toEqual({ 'ca.crt': AUTHORITIES.second })
    await place.admin.remove(`${PROJECTIONS}/${SOURCE}`)
    expect(await swept(place)).toEqual({ declarations: 1, ready: 1, written: 1, failures: 0 })
    expect(await place.published()).toEqual({ 'ca.crt': AUTHORITIES.first })
  })

  test('hears the weaker leg beside a TenantProjection that asks for no CA', async () => {
    const place = await anchorPlace(ALL_LEGS)
    await place.order('orders', [])
    await place.secret()
    await place.projection({ projections: [{ ...ENTRY, type: 'ConnectionString' }] })
    expect(await swept(place)).toEqual({ declarations: 2, ready: 1, written: 1, failures: 0 })
    expect((await place.target()).metadata.ownerReferences).toMatchObject([{ kind: 'HelmRelease' }])
  })

  test('counts what is not published, and says why where it is declared', async () => {
    const place = await anchorPlace()
    await place.secret({ data: { 'ca.crt': PRIVATE_KEY } })
    await place.projection()
    await place.projection({
      name: 'other',
      release: 'other',
      projections: [{ ...ENTRY, sourceSecretName: 'x' }],
    })
    expect(await swept(place)).toEqual({ declarations: 2, ready: 0, written: 0, failures: 0 })
    expect(await place.ready()).toMatchObject({ reason: 'SourceRejected' })
    expect(await place.ready('other')).toMatchObject({ reason: 'SourceNotFound' })
    expect(JSON.stringify([place.logged, place.events])).not.toContain('c2VjcmV0')
  })

  test('reads lists to their ends, page by page', { timeout: 30_000 }, async () => {
    const place = await anchorPlace()
    for (let number = 1; number <= 501; number += 1) {
      await place.projection({ name: `p${number}`, metadata: { labels: {} } })
    }
    expect(await swept(place)).toEqual({ declarations: 501, ready: 0, written: 0, failures: 0 })
    expect(listed(place).map((path) => path.includes('continue='))).toEqual([false, true])
    const { items } = await place.admin.get(PROJECTIONS)
    expect(new Set(items.map(({ status }: Anything) => status.conditions[0].reason))).toEqual(
      new Set(['NoRelease']),
    )
  })

  test.each([
    ['TenantProjections', '/tenantprojections?'],
    ['Secrets', '/v1/secrets?'],
    ['HelmReleases', '/helmreleases?'],
  ])('with a list of %s that fails ends before anything is written', async (_, part) => {
    const place = await threeLegs()
    const isList = ({ method, path }: Anything) =>
      method === 'GET' && path.includes(part) && !path.includes('/namespaces/')
    place.way.add({ when: isList, fault: { answer: 500, body: statusBody(500, 'InternalError', 'x') } })
    await expect(swept(place)).rejects.toThrow('kube_error')
    expect(place.writes()).toEqual([])
  })

  test('goes on past one that it cannot deal with, and names it in the log', async () => {
    const place = await threeLegs()
    place.way.add({
      when: ({ method, body }) => method === 'POST' && body.includes('postgres-shop.tenant-ca'),
      fault: { answer: 403, body: statusBody(403, 'Forbidden', 'exceeded quota: few, requested: secrets=1') },
    })
    expect(await swept(place)).toEqual({ declarations: 3, ready: 2, written: 2, failures: 1 })
    expect(place.logged.filter(({ event }) => event !== 'anchor_secret')).toEqual([
      {
        event: 'anchor_failed',
        fields: { leg: 'label', namespace: 'tenant-acme', name: 'shop', failure: 'kube_quota_exceeded' },
      },
      { event: 'anchor_sweep', fields: { declarations: 3, ready: 2, written: 2, failures: 1 } },
    ])
  })

  test('whose caller has gone says so', async () => {
    const { services } = await threeLegs()
    const done = await sweepAnchors(services, { signal: AbortSignal.abort() })
    expect(done.ok).toBe(false)
  })

  test('that is ended in the middle reports nothing', async () => {
    const place = await threeLegs()
    const gone = new AbortController()
    const { kube } = place.services
    const createSecret = onceAfter(kube.createSecret, async () => gone.abort())
    const services = { ...place.services, kube: { ...kube, createSecret } }
    expect(await sweepAnchors(services, { signal: gone.signal, concurrency: 1 })).toEqual({
      ok: false,
      failure: { reason: 'caller_gone' },
    })
    expect(place.writes().filter((write) => write.startsWith('POST'))).toEqual([`POST secrets/${TARGET}`])
    expect(place.logged.map(({ event }) => event)).not.toContain('anchor_sweep')
  })
})

describe('where the platform has no TenantProjections', () => {
  test('labels and names are swept', async () => {
    const place = await anchorPlace(ALL_LEGS)
    unserve(place)
    await place.order('orders', [])
    await place.secret()
    expect(await swept(place)).toEqual({ declarations: 1, ready: 1, written: 1, failures: 0 })
    expect((await place.target()).metadata.ownerReferences).toMatchObject([{ name: RELEASE }])
  })

  test('and nothing else is switched on, that is a failure', async () => {
    const place = await anchorPlace()
    unserve(place)
    await expect(swept(place)).rejects.toThrow('kube_not_served')
  })
})
