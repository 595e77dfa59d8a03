import { describe, expect, test } from 'vitest'
import type { Contract } from '../contract.ts'
import { adminOfTenant, answerOf } from '../tenant.ts'

/** What kube-apiserver's front proxy sends (`k8s.io/apiserver/pkg/authentication/request/headerrequest`). */
const FRONT_PROXY = {
  'X-Remote-User': 'root',
  'X-Remote-Uid': '0',
  'X-Remote-Group': 'system:masters',
  'X-Remote-Extra-Scopes': 'all',
}

/** How proxies tell a server behind them whose certificate they have seen: nginx, Envoy, Cloudflare, RFC 9440. */
const CERTIFICATE = {
  'X-SSL-Client-Verify': 'SUCCESS',
  'X-SSL-Client-S-DN': 'CN=front-proxy-client',
  'X-Forwarded-Client-Cert': 'Subject="CN=front-proxy-client";Hash=00;URI=',
  'cf-client-cert-verified': 'true',
  'cf-client-cert-subject-dn': 'CN=front-proxy-client',
  'cf-client-cert-sha256': '00',
  'Client-Cert': ':MIIB:',
}

/** The same for whoever reads them as CGI does (RFC 3875, section 4.1.18). */
const UNDERSCORED = { X_Remote_User: 'root', X_Remote_Group: 'system:masters' }

/** Somebody who reaches the function and says of themselves what only kube-apiserver may say. */
export function forged({ backend, tenant }: Contract): void {
  describe.each([
    ['headers of the front proxy', FRONT_PROXY],
    ['headers of the front proxy and of a client certificate', { ...FRONT_PROXY, ...CERTIFICATE }],
    ['headers of the front proxy with underscores', UNDERSCORED],
  ])('forged %s', (_name, headers: Readonly<Record<string, string>>) => {
    test('make nobody of a caller without a token', async () => {
      const acme = await tenant()
      await acme.release('Postgres', 'orders', { users: { web: {} } })
      for (const [method, path] of [
        ['POST', acme.path('postgres-orders.web', 'mint')],
        ['GET', acme.path('')],
      ] as const) {
        const answer = await answerOf(await backend().call(path, { method, headers }))
        expect(answer.status).toBe(401)
        expect(answer.body).toMatchObject({ kind: 'Status', reason: 'Unauthorized', code: 401 })
      }
      expect(await acme.secret('postgres-orders.web')).toBeUndefined()
    })

    test('leave a caller with a token who they are', async () => {
      const acme = await tenant()
      await acme.release('Postgres', 'orders', { users: { web: {} } })
      const refused = await acme.mint('postgres-orders.web', { as: 'viewer', headers })
      expect(refused.status).toBe(403)
      expect(refused.body.message).toContain(`User "system:serviceaccount:${acme.namespace}:viewer" cannot`)
      expect((await acme.mint('postgres-orders.web', { headers })).status).toBe(201)
      const { body } = await acme.get('postgres-orders.web')
      expect(body.status.password.by).toBe(adminOfTenant(acme))
    })
  })
}
