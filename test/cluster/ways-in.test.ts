import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serveCommand } from '../cli/command.ts'
import type { Backend } from '../contract/backend.ts'
import { nodeProcess } from '../contract/backends/node-process.ts'
import { type RealApiServer, startRealApiServer } from '../contract/backends/real-api-server.ts'
import { sendLines } from '../contract/backends/send-lines.ts'
import { decode } from '../contract/kube.ts'
import { answerOf, createTenant, type Tenant } from '../contract/tenant.ts'
import { accepts } from '../contract/verify.ts'
import { execKubeconfig } from '../helpers/exec-kubeconfig.ts'
import { startIssuer } from '../helpers/oidc-issuer.ts'

const CREDENTIAL = 'postgres-orders.web'

let api: RealApiServer
beforeAll(async () => {
  api = await startRealApiServer()
})
afterAll(() => api?.stop())

async function orders(backend: Backend): Promise<Tenant> {
  const tenant = await createTenant(backend)
  await tenant.release('Postgres', 'orders', { users: { web: {} } })
  return tenant
}

/** The function as `mintonce dev --kubeconfig` serves it. */
async function servedWith(kubeconfig: string) {
  const { origin, output, stop } = await serveCommand(['--kubeconfig', kubeconfig])
  const backend: Backend = {
    call: (path, init) => fetch(`${origin}${path}`, init),
    callWithLines: sendLines(origin),
    joinsHeaders: false,
    admin: api.admin,
    tokenOf: api.tokenOf,
    logged: output,
    stored: api.stored,
    stop: async () => {
      await stop('SIGINT')
    },
  }
  return backend
}

describe('mintonce dev in front of a cluster', () => {
  test.each([
    ['a client certificate', async () => api.plane.kubeconfig],
    ['an exec plug-in', () => execKubeconfig(api.plane)],
  ])('mints with the rights of a kubeconfig with %s', async (_name, kubeconfig) => {
    const backend = await servedWith(await kubeconfig())
    try {
      const tenant = await orders(backend)
      const minted = await tenant.mint(CREDENTIAL)
      expect(minted.status).toBe(201)
      const { data } = await tenant.secret(CREDENTIAL)
      expect(accepts(decode(data.password), minted.body.status.password)).toBe(true)
      expect(backend.logged()).not.toContain(minted.body.status.password)
    } finally {
      await backend.stop()
    }
  })
})

describe('a person with a token of an OIDC issuer', () => {
  test('TOK-14: whose certificate comes from a CA of its own mints, by the groups of the token', async () => {
    const issuer = await startIssuer(api.plane)
    const backend = await nodeProcess(
      { ...api, stop: async () => undefined },
      {
        MINTONCE_AUTHENTICATION_CONFIG: JSON.stringify(configOf(issuer.url, api.plane.ca)),
      },
    )
    try {
      const tenant = await orders(backend)
      await tenant.admin.create(
        `/apis/rbac.authorization.k8s.io/v1/namespaces/${tenant.namespace}/rolebindings`,
        bindingOf('oidc:dba'),
      )
      const mint = async (token: string) =>
        answerOf(
          await backend.call(tenant.path(CREDENTIAL, 'mint'), {
            method: 'POST',
            headers: { Authorization: `Bearer ${token}` },
          }),
        )
      const minted = await mint(await issuer.sign({ sub: 'jane', groups: ['dba'] }))
      expect(minted.status).toBe(201)
      const { body } = await tenant.get(CREDENTIAL)
      expect(body.status.password.by).toBe('oidc:jane')

      const refusals = await Promise.all([
        mint(await issuer.sign({ sub: 'victor', groups: ['others'] })),
        mint(await issuer.sign({ sub: 'jane', groups: ['dba'], aud: 'another' })),
        mint(await issuer.sign({ sub: 'jane', groups: ['dba'], exp: 1 })),
        mint(`${(await issuer.sign({ sub: 'jane', groups: ['dba'] })).slice(0, -4)}AAAA`),
      ])
      expect(refusals.map(({ status }) => status)).toEqual([403, 401, 401, 401])
    } finally {
      await backend.stop()
      issuer.stop()
    }
  })
})

const configOf = (url: string, certificateAuthority: string) => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AuthenticationConfiguration',
  jwt: [
    {
      issuer: { url, certificateAuthority, audiences: ['kubernetes'] },
      claimMappings: {
        username: { claim: 'sub', prefix: 'oidc:' },
        groups: { claim: 'groups', prefix: 'oidc:' },
      },
    },
  ],
})

const bindingOf = (group: string) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name: 'dba' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'mintonce:mint' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: group }],
})
