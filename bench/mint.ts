/**
 * A mint against a real kube-apiserver beside the same calls made raw, one after the other in the same run:
 * `npm run bench:mint`. Needs Go, as `npm run test:cluster` does.
 */

import { nodeProcess } from '../test/contract/backends/node-process.ts'
import { startRealApiServer } from '../test/contract/backends/real-api-server.ts'
import { createTenant } from '../test/contract/tenant.ts'
import { show, timed } from './figures.ts'

const ROUNDS = 200
const WARM_UP = 20

const api = await startRealApiServer()
const backend = await nodeProcess(api, {
  MINTONCE_DEFINITIONS_MAX_AGE_SECONDS: '30',
  MINTONCE_LOG_LEVEL: 'info',
})
try {
  const tenant = await createTenant(backend)
  await tenant.release('Postgres', 'orders', { users: { web: {}, raw: {} } })
  await tenant.release('MariaDB', 'shop', { users: { app: {} } })
  await tenant.mint('postgres-orders.raw')

  const samples = { scram: [] as number[], sha1: [] as number[], raw: [] as number[], ping: [] as number[] }
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const took = {
      scram: await timed(() => tenant.mint('postgres-orders.web')),
      sha1: await timed(() => tenant.mint('mariadb-shop.app')),
      raw: await timed(() => rawCalls(tenant.namespace, tenant.tokens.admin)),
      ping: await timed(() => backend.call('/livez').then((answer) => answer.text())),
    }
    if (round < 0) continue
    for (const name of ['scram', 'sha1', 'raw', 'ping'] as const) samples[name].push(took[name])
  }
  console.log(`${ROUNDS} rounds, one at a time`)
  show('the same Kubernetes calls, raw', samples.raw)
  show('mint, mysql-native', samples.sha1, samples.raw)
  show('mint, scram-sha-256', samples.scram, samples.raw)
  show('GET /livez of the function', samples.ping, samples.raw)
} finally {
  await backend.stop()
}

/** What a mint asks of the API server: a review, then a review and two reads side by side, then the write. */
async function rawCalls(namespace: string, token: string): Promise<void> {
  await send('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token, audiences: ['mintonce'] },
  })
  const secretPath = `/api/v1/namespaces/${namespace}/secrets/postgres-orders.raw.account`
  const [secret] = await Promise.all([
    send('GET', secretPath),
    send('GET', `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases/postgres-orders`),
    send('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: `system:serviceaccount:${namespace}:admin`,
        groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
        resourceAttributes: {
          namespace,
          verb: 'create',
          group: 'core.cozystack.io',
          resource: 'credentials',
        },
      },
    }),
  ])
  const password = Buffer.from(crypto.randomUUID()).toString('base64')
  await send('PUT', secretPath, { ...secret, data: { ...secret.data, password } })
}

async function send(method: string, path: string, body?: object) {
  const response = await api.asFunction(
    new Request(`https://kubernetes.default.svc${path}`, {
      method,
      headers: { 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  )
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`)
  return JSON.parse(await response.text())
}
