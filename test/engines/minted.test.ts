import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Backend } from '../contract/backend.ts'
import { nodeProcess } from '../contract/backends/node-process.ts'
import { startRealApiServer } from '../contract/backends/real-api-server.ts'
import { decode } from '../contract/kube.ts'
import { createTenant, type Tenant } from '../contract/tenant.ts'
import { chain, EXPECTED_LOGINS, type Minting } from './chain.ts'
import { startClickhouse } from './clickhouse.ts'
import { startMariadb } from './mariadb.ts'
import { startNats } from './nats.ts'
import { startNginx } from './nginx.ts'
import { startPostgres } from './postgres.ts'
import { startRabbitmq } from './rabbitmq.ts'
import { startRedis, startRedisAcl } from './redis.ts'

/** Application, values, Credential, user, and the real engine of that kind. */
const CASES = [
  ['Postgres', 'orders', { users: { web: {} } }, 'postgres-orders.web', 'web', startPostgres],
  ['MariaDB', 'shop', { users: { app: {} } }, 'mariadb-shop.app', 'app', startMariadb],
  ['ClickHouse', 'events', { users: { etl: {} } }, 'clickhouse-events.etl', 'etl', startClickhouse],
  ['Redis', 'cache', { authEnabled: true }, 'redis-cache.default', 'default', startRedis],
  ['RabbitMQ', 'queue', { users: { web: {} } }, 'queue.web', 'web', startRabbitmq],
  ['RedisAcl', 'store', { users: { web: {} } }, 'store.web', 'web', startRedisAcl],
  ['WebApr1', 'site', { users: { web: {} } }, 'site.web', 'web', startNginx],
  ['WebBcrypt', 'blog', { users: { web: {} } }, 'blog.web', 'web', startNginx],
  ['WebBcrypt', 'bus', { users: { web: {} } }, 'bus.web', 'web', startNats],
  ['WebSha512', 'pages', { users: { web: {} } }, 'pages.web', 'web', startNginx],
] as const

describe('what the function minted against a real kube-apiserver', () => {
  let backend: Backend
  let tenant: Tenant
  beforeAll(async () => {
    backend = await nodeProcess(await startRealApiServer())
    tenant = await createTenant(backend)
  })
  afterAll(() => backend?.stop())

  test.each(CASES)(
    'logs in to a real %s, until the next mint or a revoke',
    async (kind, name, values, credential, username, start) => {
      await tenant.release(kind, name, values)
      const engine = await start()
      try {
        expect(await chain(engine, mintingOf(tenant, credential, username))).toEqual(EXPECTED_LOGINS)
      } finally {
        await engine.stop()
      }
    },
  )
})

function mintingOf(tenant: Tenant, credential: string, username: string): Minting {
  return {
    username,
    async mint() {
      const { status, body } = await tenant.mint(credential)
      expect([status, body.status.username]).toEqual([201, username])
      return body.status.password
    },
    async revoke() {
      const { status, body } = await tenant.revoke(credential)
      expect([status, body.status.password]).toEqual([201, undefined])
    },
    storedValue: async () => decode((await tenant.secret(credential)).data.password),
  }
}
