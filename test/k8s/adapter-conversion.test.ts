import { describe, expect, test } from 'vitest'
import { noMetrics } from '../../src/core/metrics.ts'
import { createConversionKube } from '../../src/k8s/adapter-conversion.ts'
import { pointerTo } from '../../src/k8s/conversion-kube.ts'
import { sendOver } from '../../src/k8s/send.ts'
import { createSandbox } from '../../src/sandbox/sandbox.ts'
import { adminOf } from '../contract/kube.ts'
import { releaseOf } from '../contract/tenant.ts'
import { json, scriptedFetch, status } from './scripted-fetch.ts'

const NAMESPACE = 'tenant-acme'
const MAP = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'record', namespace: NAMESPACE },
} as const
const RELEASES = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${NAMESPACE}/helmreleases`
const CONFLICT = { ok: false, failure: { reason: 'kube_conflict' } }
const ways = { timeoutMs: 5000, now: () => 0, metrics: noMetrics }

async function place() {
  const sandbox = createSandbox({
    now: () => Date.parse('2026-10-02T09:14:07Z'),
    randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    manifests: [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }],
  })
  const admin = adminOf(sandbox.admin)
  const values = { users: { 'a/b': { password: 'x' } } }
  const { metadata } = await admin.create(RELEASES, releaseOf('Postgres', 'orders', values))
  return { admin, metadata, kube: createConversionKube({ ...ways, send: sendOver(sandbox.admin) }) }
}

describe('a ConfigMap', () => {
  test('is not there, is created, read, and changed by whoever has read it', async () => {
    const { kube } = await place()
    expect(await kube.getConfigMap(NAMESPACE, 'record')).toEqual({ ok: true, value: undefined })
    const created = await kube.createConfigMap({ ...MAP, data: { a: '1' } })
    if (!created.ok) throw new Error(created.failure.reason)
    expect(await kube.getConfigMap(NAMESPACE, 'record')).toEqual(created)
    const changed = { ...created.value, data: { a: '2' } }
    expect(await kube.updateConfigMap(changed)).toMatchObject({ ok: true, value: { data: { a: '2' } } })
    expect(await kube.updateConfigMap(changed)).toEqual(CONFLICT)
    expect(await kube.createConfigMap(MAP)).toMatchObject({ failure: { reason: 'kube_exists' } })
  })

  test('of a dry run is not stored', async () => {
    const { kube } = await place()
    expect(await kube.createConfigMap(MAP, { dryRun: true })).toMatchObject({ ok: true })
    expect(await kube.getConfigMap(NAMESPACE, 'record')).toEqual({ ok: true, value: undefined })
  })

  test('without a version that was read is not written: that would overwrite whatever is there', async () => {
    const { kube } = await place()
    const metadata = { ...MAP.metadata, uid: 'u', resourceVersion: '' }
    await expect(kube.updateConfigMap({ ...MAP, metadata })).rejects.toThrow(TypeError)
  })
})

describe('a patch of a HelmRelease', () => {
  const path = pointerTo('spec', 'values', 'users', 'a/b', 'password')
  const remove = { op: 'remove', path } as const

  test('changes the very object that was read, once', async () => {
    const { admin, kube, metadata } = await place()
    const patched = await kube.patchHelmRelease(NAMESPACE, 'postgres-orders', metadata, [remove])
    expect(patched).toMatchObject({ ok: true, value: { spec: { values: { users: { 'a/b': {} } } } } })
    const now = await admin.get(`${RELEASES}/postgres-orders`)
    expect(await kube.patchHelmRelease(NAMESPACE, 'postgres-orders', metadata, [])).toEqual(CONFLICT)
    expect(await admin.get(`${RELEASES}/postgres-orders`)).toEqual(now)
  })

  test('of another object of its name, or of what is not there, is a conflict', async () => {
    const { kube, metadata } = await place()
    const other = { ...metadata, uid: 'another' }
    expect(await kube.patchHelmRelease(NAMESPACE, 'postgres-orders', other, [remove])).toEqual(CONFLICT)
    const absent = { op: 'remove', path: '/spec/values/absent' } as const
    expect(await kube.patchHelmRelease(NAMESPACE, 'postgres-orders', metadata, [absent])).toEqual(CONFLICT)
  })

  test('of a release that is gone is absent', async () => {
    const { kube, metadata } = await place()
    expect(await kube.patchHelmRelease(NAMESPACE, 'postgres-other', metadata, [])).toMatchObject({
      failure: { reason: 'kube_absent' },
    })
  })

  test('is sent as one, with the tests before it', async () => {
    const { fetch, sent } = scriptedFetch(
      json({ kind: 'HelmRelease', metadata: { name: 'r', uid: 'u', resourceVersion: '2' } }),
    )
    const kube = createConversionKube({ ...ways, send: sendOver(fetch) })
    const read = { uid: 'u', resourceVersion: '1' }
    await kube.patchHelmRelease(NAMESPACE, 'r', read, [remove], { dryRun: true })
    expect(sent).toMatchObject([
      {
        method: 'PATCH',
        path: `${RELEASES}/r`,
        query: { dryRun: 'All', fieldManager: 'mintonce' },
        body: [
          { op: 'test', path: '/metadata/uid', value: 'u' },
          { op: 'test', path: '/metadata/resourceVersion', value: '1' },
          { op: 'remove', path: '/spec/values/users/a~1b/password' },
        ],
      },
    ])
    expect(sent[0]?.headers.get('Content-Type')).toBe('application/json-patch+json')
  })

  test('that the API server finds wrong is no conflict', async () => {
    const details = { name: 'r', kind: 'HelmRelease', causes: [{ field: 'spec', message: 'x' }] }
    const { fetch } = scriptedFetch(status(422, 'Invalid', { details }))
    const kube = createConversionKube({ ...ways, send: sendOver(fetch) })
    const read = { uid: 'u', resourceVersion: '1' }
    expect(await kube.patchHelmRelease(NAMESPACE, 'r', read, [remove])).toMatchObject({
      failure: { reason: 'kube_invalid' },
    })
  })
})

test('Roles and Pods of a namespace are listed', async () => {
  const { admin, kube } = await place()
  await admin.create(`/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/roles`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: 'tenants' },
    rules: [],
  })
  const roles = await kube.listRoles(NAMESPACE, {})
  expect(roles).toMatchObject({ ok: true, value: { items: [{ metadata: { name: 'tenants' } }] } })
  expect(await kube.listPods(NAMESPACE, { labelSelector: 'a=b' })).toMatchObject({
    ok: true,
    value: { items: [] },
  })
})

test.each([
  [['spec', 'a/b', 'c~d'], '/spec/a~1b/c~0d'],
  [[''], '/'],
  [[], ''],
])('the pointer to %j is %j (RFC 6901, section 5)', (path, pointer) => {
  expect(pointerTo(...path)).toBe(pointer)
})
