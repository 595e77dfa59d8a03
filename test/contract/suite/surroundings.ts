import { describe, expect, onTestFinished, test } from 'vitest'
import type { Contract } from '../contract.ts'

const CREDENTIAL = 'mariadb-shop.app'

/** Refusals for reasons that lie outside the account Secret: its name, its namespace. */
export function surroundings({ tenant }: Contract): void {
  describe('names', () => {
    test.each(['root', 'Root', 'ROOT', 'mariadb.sys', 'mariadb-sys'])(
      'ACC-10: the user %s of a tenant is not minted: the name is the platform’s',
      async (username) => {
        const acme = await tenant()
        await acme.release('MariaDB', 'shop', { users: { [username]: {}, app: {} } })
        const credential = `mariadb-shop.${username.toLowerCase().replace('.', '-')}`
        const answer = await acme.mint(credential)
        expect(answer.status).toBe(404)
        expect(await acme.secret(credential)).toBeUndefined()
        expect((await acme.mint('mariadb-shop.app')).status).toBe(201)
      },
    )

    test('two users that map to one name are both refused, and both named', async () => {
      const acme = await tenant()
      await acme.release('MariaDB', 'shop', { users: { a_b: {}, 'a.b': {}, app: {} } })
      const answer = await acme.mint('mariadb-shop.a-b')
      expect(answer.status).toBe(409)
      expect(answer.body.message).toContain('"a.b" and "a_b"')
      expect((await acme.revoke('mariadb-shop.a-b')).status).toBe(409)
      expect(await acme.secret('mariadb-shop.a-b')).toBeUndefined()
      expect((await acme.mint('mariadb-shop.app')).status).toBe(201)
    })

    test('that collide later, or are declared no more, leave what was minted as it is', async () => {
      const acme = await tenant()
      await acme.release('MariaDB', 'shop', { users: { 'a.b': {} } })
      await acme.mint('mariadb-shop.a-b')
      const before = await acme.secret('mariadb-shop.a-b')
      const path = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${acme.namespace}/helmreleases/mariadb-shop`
      for (const [users, status] of [
        [{ 'a.b': {}, a_b: {} }, 409],
        [{ app: {} }, 404],
      ] as const) {
        await acme.admin.change(path, (release) => {
          release.spec.values.users = users
        })
        expect((await acme.mint('mariadb-shop.a-b')).status).toBe(status)
        expect(await acme.secret('mariadb-shop.a-b')).toEqual(before)
      }
    })
  })

  describe('what the namespace says', () => {
    test('SEC-09: a full quota is 409 and named, and does not stop a mint on what exists', async () => {
      const acme = await tenant()
      await acme.release('MariaDB', 'shop', { users: { app: {}, second: {} } })
      await acme.mint(CREDENTIAL)
      await acme.admin.create(`/api/v1/namespaces/${acme.namespace}/resourcequotas`, {
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'few' },
        spec: { hard: { secrets: '1' } },
      })
      await expect
        .poll(async () => (await acme.mint('mariadb-shop.second', { query: 'dryRun=All' })).status, {
          timeout: 10_000,
        })
        .toBe(409)
      const answer = await acme.mint('mariadb-shop.second')
      expect(answer.status).toBe(409)
      expect(answer.body.message).toContain('resource quota "few"')
      expect(answer.text).not.toContain('password":"')
      expect((await acme.mint(CREDENTIAL)).status).toBe(201)
    })

    test('SEC-08: a namespace that is being terminated is 409', async () => {
      const acme = await tenant()
      const other = await tenant()
      // The bindings of the namespace go with it: this one is the cluster's.
      await acme.admin.create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: `mint-in-${acme.namespace}` },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'mintonce:mint' },
        subjects: [{ kind: 'ServiceAccount', name: 'admin', namespace: other.namespace }],
      })
      onTestFinished(() =>
        acme.admin.remove(`/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/mint-in-${acme.namespace}`),
      )
      await acme.release(
        'MariaDB',
        'shop',
        { users: { app: {} } },
        { metadata: { finalizers: ['example.com/hold'] } },
      )
      const headers = { Authorization: `Bearer ${other.tokens.admin}` }
      const dryRun = async () => (await acme.mint(CREDENTIAL, { headers, query: 'dryRun=All' })).status
      await expect.poll(dryRun, { timeout: 10_000 }).toBe(201)

      await acme.admin.remove(`/api/v1/namespaces/${acme.namespace}`)
      const answer = await acme.mint(CREDENTIAL, { headers })
      expect(answer.status).toBe(409)
      expect(answer.body.message).toMatch(/is being (terminated|deleted)/)
      expect(answer.headers.get('retry-after')).toBeNull()
      expect(await acme.secret(CREDENTIAL)).toBeUndefined()
      const release = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${acme.namespace}/helmreleases/mariadb-shop`
      await acme.admin.change(release, (object) => {
        object.metadata.finalizers = []
      })
    })
  })
}
