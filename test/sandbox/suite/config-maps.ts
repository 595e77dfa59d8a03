import { describe, expect, test } from 'vitest'
import { newPlace, statusOf } from '../asking.ts'
import type { Served } from '../kube-api.ts'

const configMap = (name: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  ...more,
})

const FULL = 'x'.repeat(1024 * 1024)

export function configMaps(served: Served): void {
  describe('a ConfigMap', () => {
    async function placed() {
      const { namespace, ask, create } = await newPlace(served)
      return { ask, create, maps: `/api/v1/namespaces/${namespace}/configmaps` }
    }

    test('keeps its texts, and is changed by whoever has read it', async () => {
      const { ask, create, maps } = await placed()
      const created = await create(maps, configMap('a', { data: { 'ns.release': '{}', empty: '' } }))
      expect(created.data).toEqual({ 'ns.release': '{}', empty: '' })
      const changed = { ...created, data: { 'ns.release': 'x' } }
      expect((await ask('PUT', `${maps}/a`, changed)).body.data).toEqual({ 'ns.release': 'x' })
      expect((await ask('PUT', `${maps}/a`, changed)).body).toMatchObject({ code: 409, reason: 'Conflict' })
    })

    test('without texts has none', async () => {
      const { create, maps } = await placed()
      expect(await create(maps, configMap('a', { data: {} }))).not.toHaveProperty('data')
    })

    test('that is there already is not created', async () => {
      const { ask, create, maps } = await placed()
      await create(maps, configMap('a'))
      expect(statusOf(await ask('POST', maps, configMap('a')))).toEqual({
        code: 409,
        reason: 'AlreadyExists',
        message: 'configmaps "a" already exists',
        details: { name: 'a', kind: 'configmaps' },
      })
    })

    test('takes 1 MiB of data and not a byte more', async () => {
      const { ask, maps } = await placed()
      expect((await ask('POST', maps, configMap('a', { data: { a: FULL } }))).status).toBe(201)
      expect(statusOf(await ask('POST', maps, configMap('b', { data: { a: FULL, b: 'x' } })))).toEqual({
        code: 422,
        reason: 'Invalid',
        message: 'ConfigMap "b" is invalid: []: Too long: may not be more than 1048576 bytes',
        details: {
          name: 'b',
          kind: 'ConfigMap',
          causes: [
            {
              reason: 'FieldValueTooLong',
              message: 'Too long: may not be more than 1048576 bytes',
              field: '[]',
            },
          ],
        },
      })
    })

    test.each(['a/b', '..', ''])('has no key %j', async (key) => {
      const { ask, maps } = await placed()
      const { body } = await ask('POST', maps, configMap('a', { data: { [key]: 'x' } }))
      expect(body).toMatchObject({ code: 422, details: { causes: [{ field: `data[${key}]` }] } })
    })

    test('holds texts only', async () => {
      const { ask, maps } = await placed()
      expect((await ask('POST', maps, configMap('a', { data: { a: 1 } }))).body).toMatchObject({ code: 400 })
    })

    test('that is immutable keeps its data', async () => {
      const { ask, create, maps } = await placed()
      const created = await create(maps, configMap('a', { immutable: true, data: { a: 'x' } }))
      const { body } = await ask('PUT', `${maps}/a`, { ...created, data: { a: 'y' } })
      expect(body.message).toBe(
        'ConfigMap "a" is invalid: data: Forbidden: field is immutable when `immutable` is set',
      )
    })
  })

  describe('Pods and Roles of a namespace', () => {
    test('are listed, also by label, and are none at first', async () => {
      const { namespace, ask, create } = await newPlace(served)
      const roles = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`
      expect((await ask('GET', roles)).body).toMatchObject({ kind: 'RoleList', items: [] })
      const rule = { apiGroups: [''], resources: ['secrets'], resourceNames: ['x'], verbs: ['get'] }
      await create(roles, {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: 'a' },
        rules: [rule],
      })
      expect((await ask('GET', roles)).body.items).toMatchObject([{ metadata: { name: 'a' }, rules: [rule] }])

      const pods = `/api/v1/namespaces/${namespace}/pods`
      expect((await ask('GET', pods)).body).toMatchObject({ kind: 'PodList', items: [] })
    })
  })
}
