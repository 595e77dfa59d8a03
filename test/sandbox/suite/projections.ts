import { describe, expect, test } from 'vitest'
import { eventually, MERGE_PATCH, newPlace, statusOf } from '../asking.ts'
import type { Served } from '../kube-api.ts'

const ENTRY = { type: 'CACert', sourceSecretName: 'a-ca', sourceKey: 'ca.crt' }

const projection = (name: string, more: object = {}) => ({
  apiVersion: 'internal.cozystack.io/v1alpha1',
  kind: 'TenantProjection',
  metadata: { name, labels: { 'helm.toolkit.fluxcd.io/name': name } },
  spec: { projections: [ENTRY] },
  ...more,
})

const STATUS = {
  observedGeneration: 1,
  conditions: [
    {
      type: 'Ready',
      status: 'True',
      reason: 'Projected',
      message: 'published',
      lastTransitionTime: '2026-10-02T09:14:07Z',
    },
  ],
}

/** As the CRD of the platform has it: `internal.cozystack.io_tenantprojections.yaml` of cozystack/cozystack. */
export function projections(served: Served): void {
  describe('a TenantProjection', () => {
    async function placed() {
      const { namespace, ask, create } = await newPlace(served)
      const path = `/apis/internal.cozystack.io/v1alpha1/namespaces/${namespace}/tenantprojections`
      return { namespace, ask, create, path }
    }

    test('is born without a status, whatever its maker says of it, in its first generation', async () => {
      const { ask, create, path } = await placed()
      const created = await create(path, projection('a', { status: STATUS }))
      expect(created).not.toHaveProperty('status')
      expect(created.metadata.generation).toBe(1)
      expect((await ask('GET', `${path}/a`)).body).toEqual(created)
    })

    test('has a status of a path of its own, which changes nothing else and counts no generation', async () => {
      const { ask, create, path } = await placed()
      const created = await create(path, projection('a'))
      const said = await ask('PUT', `${path}/a/status`, {
        ...created,
        metadata: { ...created.metadata, labels: { mine: 'x' } },
        spec: { projections: [{ ...ENTRY, sourceSecretName: 'other' }] },
        status: STATUS,
      })
      expect(said.status).toBe(200)
      expect(said.body).toMatchObject({ spec: created.spec, status: STATUS, metadata: { generation: 1 } })
      expect(said.body.metadata.labels).toEqual(created.metadata.labels)
      expect(said.body.metadata.resourceVersion).not.toBe(created.metadata.resourceVersion)
    })

    test('keeps its status when the rest is written', async () => {
      const { ask, create, path } = await placed()
      const created = await create(path, projection('a'))
      const { body: said } = await ask('PUT', `${path}/a/status`, { ...created, status: STATUS })
      const written = await ask('PUT', `${path}/a`, {
        ...said,
        spec: { projections: [ENTRY, ENTRY] },
        status: { observedGeneration: 7 },
      })
      expect(written.body).toMatchObject({ status: STATUS, metadata: { generation: 2 } })
      const { status: _, ...without } = written.body
      expect((await ask('PUT', `${path}/a`, without)).body.status).toEqual(STATUS)
    })

    test('is written by nobody who has read an older one, in its status neither', async () => {
      const { ask, create, path } = await placed()
      const created = await create(path, projection('a'))
      await ask('PATCH', `${path}/a`, { metadata: { labels: { more: 'x' } } }, MERGE_PATCH)
      for (const at of [`${path}/a`, `${path}/a/status`]) {
        expect(statusOf(await ask('PUT', at, { ...created, status: STATUS }))).toMatchObject({
          code: 409,
          reason: 'Conflict',
          details: { name: 'a', group: 'internal.cozystack.io', kind: 'tenantprojections' },
        })
      }
    })

    test('that says the same in its status again is not written: it keeps its version', async () => {
      const { ask, create, path } = await placed()
      const created = await create(path, projection('a'))
      const { body: said } = await ask('PUT', `${path}/a/status`, { ...created, status: STATUS })
      const { body: again } = await ask('PUT', `${path}/a/status`, said)
      expect(again.metadata.resourceVersion).toBe(said.metadata.resourceVersion)
    })

    test('that is not there has no status to write', async () => {
      const { ask, create, path } = await placed()
      const created = await create(path, projection('a'))
      await ask('DELETE', `${path}/a`)
      expect(statusOf(await ask('PUT', `${path}/a/status`, { ...created, status: STATUS }))).toMatchObject({
        code: 404,
        reason: 'NotFound',
        message: 'tenantprojections.internal.cozystack.io "a" not found',
      })
    })

    test('is found by the release that its label names, in its namespace and in all', async () => {
      const { namespace, ask, create, path } = await placed()
      await create(path, projection('a'))
      await create(path, projection('b'))
      const selector = 'labelSelector=helm.toolkit.fluxcd.io%2Fname%3Da&limit=500'
      for (const at of [path, '/apis/internal.cozystack.io/v1alpha1/tenantprojections']) {
        const { body } = await ask('GET', `${at}?${selector}`)
        expect(body).toMatchObject({
          kind: 'TenantProjectionList',
          apiVersion: 'internal.cozystack.io/v1alpha1',
        })
        const found = body.items.filter(
          (each: { metadata: { namespace: string } }) => each.metadata.namespace === namespace,
        )
        expect(found).toMatchObject([{ kind: 'TenantProjection', metadata: { name: 'a' } }])
      }
    })

    test('takes what it owns along', async () => {
      const { namespace, ask, create, path } = await placed()
      const { metadata } = await create(path, projection('a'))
      const secrets = `/api/v1/namespaces/${namespace}/secrets`
      await create(secrets, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          name: 'a.tenant-ca',
          ownerReferences: [
            {
              apiVersion: 'internal.cozystack.io/v1alpha1',
              kind: 'TenantProjection',
              name: 'a',
              uid: metadata.uid,
              controller: true,
              blockOwnerDeletion: false,
            },
          ],
        },
      })
      await ask('DELETE', `${path}/a`)
      await eventually(async () => expect((await ask('GET', `${secrets}/a.tenant-ca`)).status).toBe(404))
    })
  })
}
