import { describe, expect, test } from 'vitest'
import { GROUP } from '../backend.ts'
import type { Contract } from '../contract.ts'
import { answerOf, type CallOptions, type Tenant } from '../tenant.ts'

/** A tenant with a MariaDB of which one user was minted. */
async function shop(tenant: Contract['tenant']): Promise<Tenant> {
  const acme = await tenant()
  await acme.release('MariaDB', 'shop', { users: { app: {}, report: {} } })
  await acme.mint('mariadb-shop.app')
  return acme
}

/** Who may do what, and what nobody can do. */
export function access({ backend, tenant }: Contract): void {
  describe('who may', () => {
    test('a viewer reads and does not mint, in the words of kube-apiserver', async () => {
      const acme = await shop(tenant)
      expect((await acme.list('', { as: 'viewer' })).status).toBe(200)
      expect((await acme.get('mariadb-shop.app', { as: 'viewer' })).status).toBe(200)
      for (const verb of ['mint', 'revoke'] as const) {
        const answer = await acme[verb]('mariadb-shop.app', { as: 'viewer' })
        expect(answer.status).toBe(403)
        expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
        expect(answer.body).toMatchObject({
          reason: 'Forbidden',
          message: `credentials.${GROUP} "mariadb-shop.app" is forbidden: User "system:serviceaccount:${acme.namespace}:viewer" cannot create resource "credentials/${verb}" in API group "${GROUP}" in the namespace "${acme.namespace}"`,
          details: { name: 'mariadb-shop.app', group: GROUP, kind: 'credentials' },
        })
      }
    })

    test('FPX-10: who may mint one credential by its name mints no other', async () => {
      const acme = await shop(tenant)
      const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'mint-app' }
      const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${acme.namespace}`
      await acme.admin.create(`${rbac}/roles`, {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: role.name },
        rules: [
          {
            apiGroups: [GROUP],
            resources: ['credentials/mint'],
            resourceNames: ['mariadb-shop.app'],
            verbs: ['create'],
          },
        ],
      })
      await acme.admin.create(`${rbac}/rolebindings`, {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: role.name },
        roleRef: role,
        subjects: [{ kind: 'ServiceAccount', name: 'stranger', namespace: acme.namespace }],
      })
      const mint = async () => (await acme.mint('mariadb-shop.app', { as: 'stranger' })).status
      await expect.poll(mint, { timeout: 10_000 }).toBe(201)
      expect((await acme.mint('mariadb-shop.report', { as: 'stranger' })).status).toBe(403)
      expect((await acme.revoke('mariadb-shop.app', { as: 'stranger' })).status).toBe(403)
      expect((await acme.get('mariadb-shop.app', { as: 'stranger' })).status).toBe(403)
    })

    test('nobody reaches over to another namespace', async () => {
      const acme = await shop(tenant)
      const other = await tenant()
      const headers = { Authorization: `Bearer ${other.tokens.admin}` }
      const before = await acme.secret('mariadb-shop.app')
      for (const answer of [
        await acme.mint('mariadb-shop.app', { headers }),
        await acme.revoke('mariadb-shop.app', { headers }),
        await acme.get('mariadb-shop.app', { headers }),
        await acme.list('', { headers }),
      ]) {
        expect(answer.status).toBe(403)
        expect(answer.body.message).toContain(`User "system:serviceaccount:${other.namespace}:admin" cannot`)
      }
      expect(await acme.secret('mariadb-shop.app')).toEqual(before)
    })

    test('a stranger learns nothing, not even what exists', async () => {
      const acme = await shop(tenant)
      const as: CallOptions = { as: 'stranger' }
      const answers = await Promise.all([
        acme.list('', as),
        acme.get('mariadb-shop.app', as),
        acme.get('mariadb-shop.nobody', as),
        acme.mint('mariadb-shop.app', as),
        acme.mint('mariadb-shop.nobody', as),
        acme.mint('nothing.app', { ...as, body: 'no JSON' }),
        acme.revoke('mariadb-shop.app', as),
      ])
      expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 403, 403])
    })

    test.each([
      ['no token', undefined],
      ['a token that nobody issued', 'Bearer nonsense'],
      ['a token of three parts', 'Bearer aaaa.bbbb.cccc'],
      ['no scheme', 'nonsense'],
      ['another scheme', 'Basic dXNlcjpwYXNz'],
      ['two tokens', 'Bearer a, Bearer b'],
      ['an empty token', 'Bearer '],
    ])('%s is 401', async (_name, authorization) => {
      const acme = await tenant()
      const headers: Record<string, string> =
        authorization === undefined ? {} : { Authorization: authorization }
      for (const [method, path] of [
        ['POST', acme.path('postgres-orders.web', 'mint')],
        ['GET', acme.path('')],
      ] as const) {
        const answer = await answerOf(await backend().call(path, { method, headers }))
        expect(answer.status).toBe(401)
        expect(answer.headers.get('www-authenticate')).toBe('Bearer')
        expect(answer.headers.get('cache-control')).toMatch(/\bno-store$/)
        expect(answer.body).toMatchObject({ kind: 'Status', reason: 'Unauthorized', code: 401 })
      }
    })

    test('TOK-17: the scheme may be written in lower case', async () => {
      const acme = await tenant()
      const headers = { Authorization: `bearer ${acme.tokens.viewer}` }
      expect((await backend().call(acme.path(''), { headers })).status).toBe(200)
    })
  })

  describe('what there is not', () => {
    test.each(['PUT', 'PATCH', 'DELETE', 'POST'])('%s on credentials is 405', async (method) => {
      const acme = await tenant()
      const headers = { Authorization: `Bearer ${acme.tokens.admin}` }
      const one = method === 'POST' ? acme.path('') : acme.path('postgres-orders.web')
      const answer = await answerOf(await backend().call(one, { method, headers }))
      expect(answer.status).toBe(405)
      expect(answer.headers.get('allow')).toContain('GET')
      const message = expect.stringMatching(
        /^(\w+) is not supported on \/apis\/.*: credentials are read only\. POST to \S+\/mint .*, or use kubectl mint$/,
      )
      expect(answer.body).toMatchObject({ reason: 'MethodNotAllowed', code: 405, message })
    })

    test('GET on mint is 405, and so is a list of all namespaces', async () => {
      const acme = await tenant()
      const mint = await backend().call(acme.path('postgres-orders.web', 'mint'))
      expect([mint.status, mint.headers.get('allow')]).toEqual([405, 'POST'])
      expect((await backend().call(`/apis/${GROUP}/v1alpha1/credentials`)).status).toBe(405)
    })

    test.each([
      '/',
      '/nothing',
      `/apis/${GROUP}/v1beta1/namespaces/x/credentials`,
      '/apis/other.example.com/v1alpha1/namespaces/x/credentials',
      `/apis/${GROUP}/v1alpha1/namespaces/x/secrets`,
      `/apis/${GROUP}/v1alpha1/namespaces/x/credentials/a.b/watch`,
    ])('AGG-09: %s is a 404 Status', async (path) => {
      const answer = await answerOf(await backend().call(path))
      expect(answer.status).toBe(404)
      expect(answer.body).toMatchObject({ kind: 'Status', reason: 'NotFound', code: 404 })
    })

    test('health and version need no token', async () => {
      for (const path of ['/livez', '/healthz', '/readyz']) {
        const answer = await answerOf(await backend().call(path))
        expect([answer.status, answer.text]).toEqual([200, 'ok'])
      }
      expect((await answerOf(await backend().call('/version'))).body).toEqual({
        name: 'mintonce',
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      })
    })
  })
}
