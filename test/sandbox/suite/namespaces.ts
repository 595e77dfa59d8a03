import { describe, expect, test } from 'vitest'
import { eventually, MERGE_PATCH, newPlace, secretOf, statusOf } from '../asking.ts'
import type { Served } from '../kube-api.ts'

export function namespaces(served: Served): void {
  describe('a namespace', () => {
    test('is born active, with its name as a label', async () => {
      const { ask, namespace } = await newPlace(served)
      expect((await ask('GET', `/api/v1/namespaces/${namespace}`)).body).toMatchObject({
        metadata: { labels: { 'kubernetes.io/metadata.name': namespace } },
        spec: { finalizers: ['kubernetes'] },
        status: { phase: 'Active' },
      })
    })

    test('has a DNS label as its name', async () => {
      const { ask } = await newPlace(served)
      const { body } = await ask('POST', '/api/v1/namespaces', { metadata: { name: 'a.b' } })
      expect(body.message).toBe(
        'Namespace "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots',
      )
    })

    test('that is being deleted takes nothing new, and goes when its content has gone', async () => {
      const { ask, secrets, create, namespace } = await newPlace(served)
      const path = `/api/v1/namespaces/${namespace}`
      await create(secrets, secretOf('held', { metadata: { finalizers: ['example.org/hold'] } }))
      await create(secrets, secretOf('free'))
      expect((await ask('DELETE', path)).body).toMatchObject({
        kind: 'Namespace',
        status: { phase: 'Terminating' },
      })

      for (const [query, name] of [
        ['', 'late'],
        ['?dryRun=All', 'late'],
        ['', 'held'],
        ['', 'A_'],
      ]) {
        expect(statusOf(await ask('POST', secrets + query, secretOf(name ?? '')))).toEqual({
          code: 403,
          reason: 'Forbidden',
          message: `secrets "${name}" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`,
          details: {
            name,
            kind: 'secrets',
            causes: [
              {
                reason: 'NamespaceTerminating',
                message: `namespace ${namespace} is being terminated`,
                field: 'metadata.namespace',
              },
            ],
          },
        })
      }
      await eventually(async () => {
        const { items } = (await ask('GET', secrets)).body
        expect(items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual(['held'])
      })
      expect((await ask('GET', path)).body.status.phase).toBe('Terminating')
      await ask('PATCH', `${secrets}/held`, { metadata: { finalizers: null } }, MERGE_PATCH)
      await eventually(async () => expect((await ask('GET', path)).status).toBe(404), 200)
    })
  })

  describe('a ResourceQuota', () => {
    test('refuses what is over its limits, after what is wrong and before what exists', async () => {
      const { ask, secrets, create, namespace } = await newPlace(served)
      const quotas = `/api/v1/namespaces/${namespace}/resourcequotas`
      const hard = { secrets: '2', 'count/secrets': '2', 'count/configmaps': '1k' }
      await create(quotas, { metadata: { name: 'few' }, spec: { hard } })
      await eventually(async () => {
        expect((await ask('GET', `${quotas}/few`)).body.status.used).toEqual({
          secrets: '0',
          'count/secrets': '0',
          'count/configmaps': expect.stringMatching(/^[01]$/),
        })
      })
      for (const name of ['a', 'b']) await create(secrets, secretOf(name))
      await eventually(async () => {
        expect((await ask('GET', `${quotas}/few`)).body.status.used.secrets).toBe('2')
      })
      for (const [query, name] of [
        ['', 'c'],
        ['?dryRun=All', 'c'],
        ['', 'a'],
      ]) {
        expect(statusOf(await ask('POST', secrets + query, secretOf(name ?? '')))).toEqual({
          code: 403,
          reason: 'Forbidden',
          message: `secrets "${name}" is forbidden: exceeded quota: few, requested: count/secrets=1,secrets=1, used: count/secrets=2,secrets=2, limited: count/secrets=2,secrets=2`,
          details: { name, kind: 'secrets' },
        })
      }
      expect((await ask('POST', secrets, secretOf('A_'))).body.code).toBe(422)
      expect((await ask('PUT', `${secrets}/a`, secretOf('a', { data: { username: '' } }))).status).toBe(200)
    })

    test('needs quantities', async () => {
      const { ask, namespace } = await newPlace(served)
      const quota = { metadata: { name: 'odd' }, spec: { hard: { secrets: 'many' } } }
      expect((await ask('POST', `/api/v1/namespaces/${namespace}/resourcequotas`, quota)).body).toMatchObject(
        {
          code: 400,
          reason: 'BadRequest',
        },
      )
    })
  })
}
