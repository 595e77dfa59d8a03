import { describe, expect, test } from 'vitest'
import { GROUP } from '../backend.ts'
import type { Contract } from '../contract.ts'
import { decode } from '../kube.ts'
import { adminOfTenant } from '../tenant.ts'
import { accepts } from '../verify.ts'

const PASSWORD = /^[A-Za-z0-9]{32}$/
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/
const ANOTHER = 'x'.repeat(32)

/** Kind, name, values, Credential and user, one for each format. */
const ENGINES = [
  ['Postgres', 'orders', { users: { web: {} } }, 'postgres-orders.web', 'web', /^SCRAM-SHA-256\$4096:/],
  ['MariaDB', 'shop', { users: { app: {} } }, 'mariadb-shop.app', 'app', /^\*[0-9A-F]{40}$/],
  ['ClickHouse', 'events', { users: { etl: {} } }, 'clickhouse-events.etl', 'etl', /^[0-9a-f]{64}$/],
  ['Redis', 'cache', {}, 'redis-cache.default', 'default', PASSWORD],
  ['RabbitMQ', 'queue', { users: { web: {} } }, 'queue.web', 'web', /^[A-Za-z0-9+/]{48}$/],
  ['RedisAcl', 'store', { users: { web: {} } }, 'store.web', 'web', /^#[0-9a-f]{64}$/],
  ['MySQL', 'ledger', { users: { web: {} } }, 'ledger.web', 'web', /^0x24412430303524[0-9A-F]{126}$/],
  ['WebApr1', 'site', { users: { web: {} } }, 'site.web', 'web', /^\$apr1\$.{8}\$.{22}$/],
  ['WebBcrypt', 'blog', { users: { web: {} } }, 'blog.web', 'web', /^\$2b\$10\$.{53}$/],
  ['WebSha512', 'shop', { users: { web: {} } }, 'shop.web', 'web', /^\$6\$.{16}\$.{86}$/],
] as const

export function mint({ tenant }: Contract): void {
  describe('a mint', () => {
    test.each(ENGINES)(
      'of %s %s stores what the engine checks and shows the password once',
      async (kind, name, values, credential, user, stored) => {
        const acme = await tenant()
        await acme.release(kind, name, values)
        const answer = await acme.mint(credential)
        expect(answer.status).toBe(201)
        expect(answer.headers.get('cache-control')).toMatch(/\bno-store$/)
        expect(answer.body).toEqual({
          apiVersion: `${GROUP}/v1alpha1`,
          kind: 'CredentialRequest',
          metadata: { name: credential, namespace: acme.namespace },
          status: {
            username: user,
            password: expect.stringMatching(PASSWORD),
            issuedAt: expect.stringMatching(TIMESTAMP),
          },
        })
        const { data } = await acme.secret(credential)
        expect(decode(data.username)).toBe(user)
        expect(decode(data.password)).toMatch(stored)
        expect(accepts(decode(data.password), answer.body.status.password)).toBe(true)
        expect(accepts(decode(data.password), ANOTHER)).toBe(false)
        const again = await acme.get(credential)
        expect(again.text).not.toContain(answer.body.status.password)
      },
    )

    test('writes the account Secret whole: type, labels, record and owner', async () => {
      const acme = await tenant()
      const release = await acme.release('Postgres', 'orders', { users: { web: {} } })
      const { body } = await acme.mint('postgres-orders.web')
      const secret = await acme.secret('postgres-orders.web')
      expect(secret.type).toBe('kubernetes.io/basic-auth')
      expect(secret.metadata.labels).toEqual({
        'credentials.cozystack.io/account': 'true',
        'apps.cozystack.io/application.group': 'apps.cozystack.io',
        'apps.cozystack.io/application.kind': 'Postgres',
        'apps.cozystack.io/application.name': 'orders',
        'cnpg.io/reload': 'true',
      })
      const { 'credentials.cozystack.io/history': history, ...annotations } = secret.metadata.annotations
      expect(annotations).toEqual({
        'credentials.cozystack.io/origin': 'Minted',
        'credentials.cozystack.io/release-uid': release.metadata.uid,
        'credentials.cozystack.io/declared-by': expect.stringMatching(/^[0-9a-f]{16}$/),
      })
      expect(JSON.parse(history)).toEqual([
        { operation: 'Mint', at: body.status.issuedAt, by: adminOfTenant(acme) },
      ])
      // SEC-05: without a right on the owner's finalizers.
      expect(secret.metadata.ownerReferences).toEqual([
        {
          apiVersion: 'helm.toolkit.fluxcd.io/v2',
          kind: 'HelmRelease',
          name: 'postgres-orders',
          uid: release.metadata.uid,
          controller: false,
          blockOwnerDeletion: false,
        },
      ])
      expect(Object.keys(secret.data).sort()).toEqual(['password', 'username'])
    })

    test('VER-01, NAM-08: again replaces the password, never shares a salt, and keeps the newest ten entries', async () => {
      const acme = await tenant()
      await acme.release('Postgres', 'orders', { users: { web: {} } })
      const passwords: string[] = []
      const values: string[] = []
      const uids = new Set<string>()
      await acme.revoke('postgres-orders.web')
      for (let round = 0; round < 12; round += 1) {
        passwords.push((await acme.mint('postgres-orders.web')).body.status.password)
        const { metadata, data } = await acme.secret('postgres-orders.web')
        uids.add(metadata.uid)
        values.push(decode(data.password))
      }
      expect(uids.size).toBe(1)
      expect(new Set(passwords).size).toBe(12)
      expect(new Set(values.map((value) => value.split('$')[1])).size).toBe(12)
      expect(accepts(values[11] ?? '', passwords[10] ?? '')).toBe(false)
      const { body } = await acme.get('postgres-orders.web')
      expect(body.status.history).toHaveLength(10)
      const times = body.status.history.map(({ at }: { at: string }) => at)
      expect(times).toEqual([...times].sort().reverse())
      await acme.revoke('postgres-orders.web')
      const after = (await acme.get('postgres-orders.web')).body.status
      const operations = after.history.map(({ operation }: { operation: string }) => operation)
      expect(operations).toEqual(['Revoke', ...Array(9).fill('Mint')])
      expect(after.history.slice(1)).toEqual(body.status.history.slice(0, 9))
    })

    test('emits an Event on the application that names who and whose, and no password', async () => {
      const acme = await tenant()
      const release = await acme.release('Postgres', 'orders', { users: { web: {} } })
      const minted = await acme.mint('postgres-orders.web')
      await acme.revoke('postgres-orders.web')
      await expect.poll(async () => (await acme.events()).length).toBe(2)
      const events = await acme.events()
      const issued = events.find(({ reason }) => reason === 'CredentialIssued')
      expect(issued).toMatchObject({
        type: 'Normal',
        action: 'Mint',
        note: `password of user web issued by ${adminOfTenant(acme)}`,
        reportingController: 'credentials.cozystack.io/mintonce',
        regarding: {
          apiVersion: 'apps.cozystack.io/v1alpha1',
          kind: 'Postgres',
          name: 'orders',
          namespace: acme.namespace,
          uid: release.metadata.uid,
        },
      })
      expect(events.map(({ reason }) => reason).sort()).toEqual(['CredentialIssued', 'CredentialRevoked'])
      expect(JSON.stringify(events)).not.toContain(minted.body.status.password)
    })

    test.each([
      'App_User',
      'a.b',
      'svc@corp',
      'Zoë',
      'Zoë2',
      '用户1',
      'a😀b',
      '__proto__',
      'a__proto__b',
      'constructor',
      'hasOwnProperty',
      'a--b',
    ])('NAM-01, ACC-12: of user %s keeps the exact name in the Secret', async (username) => {
      const acme = await tenant()
      const users = JSON.parse(`{${JSON.stringify(username)}: {}}`)
      await acme.release('Postgres', 'orders', { users })
      const account = username
        .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
        .replace(/[^a-z0-9-]/gu, '-')
      const invalid = account.startsWith('-') || account.endsWith('-')
      const answer = await acme.mint(`postgres-orders.${account}`)
      expect(answer.status).toBe(invalid ? 400 : 201)
      if (invalid) return
      expect(answer.body.status.username).toBe(username)
      expect(decode((await acme.secret(`postgres-orders.${account}`)).data.username)).toBe(username)
    })

    test('adds a warning while the release is suspended', async () => {
      const acme = await tenant()
      await acme.release('Postgres', 'orders', { users: { web: {} } }, { spec: { suspend: true } })
      const answer = await acme.mint('postgres-orders.web')
      expect(answer.status).toBe(201)
      expect(answer.headers.get('warning')).toMatch(/^299 - "HelmRelease postgres-orders is suspended/)
    })

    test('is refused while the release is being deleted', async () => {
      const acme = await tenant()
      await acme.release(
        'Postgres',
        'orders',
        { users: { web: {} } },
        { metadata: { finalizers: ['example.com/hold'] } },
      )
      const path = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${acme.namespace}/helmreleases/postgres-orders`
      await acme.admin.remove(path)
      const answer = await acme.mint('postgres-orders.web')
      expect(answer.status).toBe(409)
      expect(answer.body.message).toContain('is being deleted')
      expect(await acme.secret('postgres-orders.web')).toBeUndefined()
      await acme.admin.change(path, (release) => {
        release.metadata.finalizers = []
      })
    })

    test('of a release or an account that nobody declared is 404, and says why', async () => {
      const acme = await tenant()
      const valuesFrom = [{ kind: 'Secret', name: 'cozystack-values' }]
      await acme.release('Postgres', 'orders', { users: { web: {} } }, { spec: { valuesFrom } })
      const release = await acme.mint('postgres-nothing.web')
      expect(release.status).toBe(404)
      expect(release.body).toMatchObject({
        kind: 'Status',
        reason: 'NotFound',
        details: { name: 'postgres-nothing.web', group: GROUP, kind: 'credentials' },
      })
      expect(release.body.message).toContain('there is no HelmRelease "postgres-nothing"')
      // ACC-04: the values of the release are not the whole truth.
      const account = await acme.mint('postgres-orders.nobody')
      expect(account.status).toBe(404)
      expect(account.body.message).toContain('Secret/cozystack-values')
    })

    test.each(['constructor', 'tostring', 'valueof', 'hasownproperty'])(
      'of %s, which every JavaScript object has and nobody declared, is 404',
      async (account) => {
        const acme = await tenant()
        const users = JSON.parse('{"__proto__": {}, "web": {}}')
        await acme.release('Postgres', 'orders', { users })
        expect((await acme.mint(`postgres-orders.${account}`)).status).toBe(404)
        expect((await acme.mint('postgres-orders.web')).status).toBe(201)
      },
    )

    test('NAM-03: of a release whose name has a dot is not taken for another release’s account', async () => {
      const acme = await tenant()
      await acme.release('Postgres', 'pg', { users: { 'a.b': {} } })
      await acme.release('Postgres', 'pg.a', { users: { b: {} } })
      expect((await acme.mint('postgres-pg.a-b')).status).toBe(201)
      expect((await acme.mint('postgres-pg.a.b')).status).toBe(404)
      expect(await acme.secret('postgres-pg.a.b')).toBeUndefined()
    })

    test('of a nested release is 404: without the labels of an application it has no accounts', async () => {
      const acme = await tenant()
      await acme.release('Postgres', 'orders', { users: { web: {} } })
      const labels = {
        'apps.cozystack.io/application.group': undefined,
        'apps.cozystack.io/application.kind': undefined,
        'apps.cozystack.io/application.name': undefined,
      }
      await acme.release('Postgres', 'orders-system', { users: { web: {} } }, { labels })
      const answer = await acme.mint('postgres-orders-system.web')
      expect(answer.status).toBe(404)
      expect(answer.body.message).toContain('"postgres-orders-system" is no application')
    })

    test('goes by the labels and not by the prefix of the name', async () => {
      const acme = await tenant()
      const metadata = { name: 'tenant-root' }
      const release = await acme.release('Postgres', 'root', { users: { web: {} } }, { metadata })
      expect(release.metadata.name).toBe('tenant-root')
      expect((await acme.mint('tenant-root.web')).status).toBe(201)
      expect((await acme.get('tenant-root.web')).body.spec.application.name).toBe('root')
    })

    test('NAM-05: of the longest names works', async () => {
      const acme = await tenant()
      const name = 'r'.repeat(53 - 'postgres-'.length)
      const username = 'u'.repeat(63)
      await acme.release('Postgres', name, { users: { [username]: {} } })
      const answer = await acme.mint(`postgres-${name}.${username}`)
      expect(answer.status).toBe(201)
    })
  })

  describe('a revoke', () => {
    test('stores a value that nobody knows and shows nothing', async () => {
      const acme = await tenant()
      await acme.release('MariaDB', 'shop', { users: { app: {} } })
      const minted = await acme.mint('mariadb-shop.app')
      const answer = await acme.revoke('mariadb-shop.app')
      expect(answer.status).toBe(201)
      expect(answer.headers.get('cache-control')).toMatch(/\bno-store$/)
      expect(answer.body.status).toEqual({ username: 'app', issuedAt: expect.stringMatching(TIMESTAMP) })
      const secret = await acme.secret('mariadb-shop.app')
      expect(decode(secret.data.password)).toMatch(/^\*[0-9A-F]{40}$/)
      expect(accepts(decode(secret.data.password), minted.body.status.password)).toBe(false)
      expect((await acme.get('mariadb-shop.app')).body.status.password.origin).toBe('Revoked')
    })

    test('with no Secret creates one', async () => {
      const acme = await tenant()
      await acme.release('MariaDB', 'shop', { users: { app: {} } })
      expect((await acme.revoke('mariadb-shop.app')).status).toBe(201)
      expect((await acme.get('mariadb-shop.app')).body.status).toMatchObject({
        password: { origin: 'Revoked', by: adminOfTenant(acme) },
        history: [{ operation: 'Revoke' }],
      })
    })
  })
}
