import { describe, expect, test } from 'vitest'
import type { TenantProjection } from '../../src/k8s/objects.ts'
import { json, pageNotFound, scripted, status } from './scripted-fetch.ts'

const PATH = '/apis/internal.cozystack.io/v1alpha1/namespaces/tenant-a/tenantprojections/orders-ca'
const DETAILS = { name: 'orders-ca', group: 'internal.cozystack.io', kind: 'tenantprojections' }
const failed = (failure: object) => ({ ok: false, failure })

const projection = (more: object = {}): TenantProjection => ({
  apiVersion: 'internal.cozystack.io/v1alpha1',
  kind: 'TenantProjection',
  metadata: { name: 'orders-ca', namespace: 'tenant-a', uid: 'u', resourceVersion: '7', generation: 2 },
  spec: { projections: [{ type: 'CACert', sourceSecretName: 'orders-ca' }] },
  ...more,
})

describe('a TenantProjection', () => {
  test('is read by its name', async () => {
    const { kube, sent } = scripted(json(projection()))
    expect(await kube.getTenantProjection('tenant-a', 'orders-ca')).toEqual({ ok: true, value: projection() })
    expect(sent).toMatchObject([{ method: 'GET', path: PATH, query: {} }])
  })

  test('has a spec, be it an empty one', async () => {
    for (const spec of [undefined, null, 'x']) {
      const { kube } = scripted(json({ ...projection(), spec }))
      expect(await kube.getTenantProjection('tenant-a', 'orders-ca')).toMatchObject({ value: { spec: {} } })
    }
  })

  test('is absent when the API server says so of this very name', async () => {
    const { kube } = scripted(status(404, 'NotFound', { details: DETAILS }))
    expect(await kube.getTenantProjection('tenant-a', 'orders-ca')).toEqual({ ok: true, value: undefined })
  })

  test.each([
    ['about another', () => status(404, 'NotFound', { details: { ...DETAILS, name: 'other' } })],
    ['in plain text', pageNotFound],
  ])('is not known to be absent after a 404 %s: the kind is not served', async (_, answer) => {
    expect(await scripted(answer()).kube.getTenantProjection('tenant-a', 'orders-ca')).toEqual(
      failed({ reason: 'kube_not_served', groupVersion: 'internal.cozystack.io/v1alpha1' }),
    )
  })

  test('of another kind, or without an identity, is none', async () => {
    for (const answer of [
      { ...projection(), kind: 'Secret' },
      { ...projection(), metadata: { name: 'x' } },
    ]) {
      expect(await scripted(json(answer)).kube.getTenantProjection('tenant-a', 'orders-ca')).toEqual(
        failed({ reason: 'kube_error', call: 'get TenantProjection', code: 200 }),
      )
    }
  })
})

describe('its status', () => {
  const next = projection({ status: { observedGeneration: 2, conditions: [] } })

  test('is written under its own path, by whoever has read this very object', async () => {
    const { kube, sent } = scripted(json(next))
    expect(await kube.updateTenantProjectionStatus(next)).toEqual({ ok: true, value: next })
    expect(sent).toMatchObject([
      { method: 'PUT', path: `${PATH}/status`, query: { fieldManager: 'mintonce' }, body: next },
    ])
  })

  test.each([
    ['uid', ''],
    ['resourceVersion', ''],
    ['resourceVersion', '0'],
  ])('is never written without them: %s %j', async (field, value) => {
    const { kube, sent } = scripted()
    const unguarded = { ...next, metadata: { ...next.metadata, [field]: value } }
    await expect(kube.updateTenantProjectionStatus(unguarded)).rejects.toThrow(TypeError)
    expect(sent).toEqual([])
  })

  test.each([
    [409, 'Conflict', 'kube_conflict'],
    [404, 'NotFound', 'kube_absent'],
  ])('that comes too late is a failure and is not sent again: %s %s', async (code, reason, failure) => {
    const { kube, sent } = scripted(status(code, reason, { details: DETAILS }))
    expect(await kube.updateTenantProjectionStatus(next)).toEqual(failed({ reason: failure }))
    expect(sent).toHaveLength(1)
  })
})
