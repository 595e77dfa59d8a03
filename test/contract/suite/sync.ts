import { describe, expect, onTestFinished, test } from 'vitest'
import { GROUP } from '../backend.ts'
import type { Contract } from '../contract.ts'
import { type Anything, decode } from '../kube.ts'
import { countsIn, createSyncing, deployed, SHOP, type Syncing } from '../syncing.ts'
import { adminOfTenant } from '../tenant.ts'

const CREDENTIAL = 'mariadb-shop.app'
const ORIGIN = 'credentials.cozystack.io/origin'
const HISTORY = 'credentials.cozystack.io/history'
const RELEASE_UID = 'credentials.cozystack.io/release-uid'
/** Of mysql-native. */
const CANONICAL = /^\*[0-9A-F]{40}$/
const encode = (text: string): string => Buffer.from(text).toString('base64')

/** A Secret at the account's name that somebody else, or an earlier release, has left. */
const leave = (acme: Syncing, annotations: object, more: object = {}) =>
  acme.admin.create(`/api/v1/namespaces/${acme.namespace}/secrets`, {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/basic-auth',
    metadata: { name: `${CREDENTIAL}.account`, namespace: acme.namespace, annotations },
    data: { username: encode('app'), password: encode('*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19') },
    ...more,
  })

/** What a sync creates, adopts and leaves alone. */
export function sync(context: Contract): void {
  const syncing = () => createSyncing(context)

  describe('a sync', () => {
    test('seeds what a release declares that was never deployed, and names who asked', async () => {
      const acme = await syncing()
      const { metadata: release } = await acme.shop({ app: {}, report: {} })
      const { status, body } = await acme.sync(SHOP)
      expect(status).toBe(200)
      expect(body).toMatchObject({
        kind: 'Status',
        status: 'Success',
        message: 'created 2, adopted 0, marked 0, deleted 0, warnings 0',
        details: { name: SHOP, group: GROUP, kind: 'helmreleases' },
      })
      expect(countsIn(body)).toEqual({ Created: 2 })
      const { metadata, data, type } = await acme.secret(CREDENTIAL)
      expect([type, decode(data.username)]).toEqual(['kubernetes.io/basic-auth', 'app'])
      expect(decode(data.password)).toMatch(CANONICAL)
      expect(metadata.annotations).toMatchObject({ [ORIGIN]: 'NotIssued', [RELEASE_UID]: release.uid })
      expect(JSON.parse(metadata.annotations[HISTORY])).toMatchObject([
        { operation: 'Create', by: adminOfTenant(acme) },
      ])
      expect(metadata.ownerReferences).toMatchObject([{ kind: 'HelmRelease', uid: release.uid }])
      expect((await acme.get(CREDENTIAL)).body.status.password.origin).toBe('NotIssued')
    })

    test('with nothing to do leaves everything byte for byte as it is', async () => {
      const acme = await syncing()
      await acme.shop({ app: {}, report: {} })
      await acme.sync(SHOP)
      await acme.mint('mariadb-shop.report')
      const before = [await acme.secret(CREDENTIAL), await acme.secret('mariadb-shop.report')]
      for (let i = 0; i < 3; i += 1) expect(await acme.counts()).toEqual({})
      expect([await acme.secret(CREDENTIAL), await acme.secret('mariadb-shop.report')]).toEqual(before)
    })

    test('at the same time as others seeds once', async () => {
      const acme = await syncing()
      await acme.shop({ app: {} })
      const answers = await Promise.all(Array.from({ length: 10 }, () => acme.sync(SHOP)))
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
      const created = answers.map(({ body }) => countsIn(body).Created ?? 0)
      expect(created.reduce((sum, count) => sum + count)).toBe(1)
    })

    test('of a release that was deployed seeds nothing: the password that works may be another', async () => {
      const acme = await syncing()
      await acme.shop({ app: {} })
      await acme.report(() => deployed)
      expect(await acme.counts()).toEqual({ Warnings: 1 })
      expect(await acme.secret(CREDENTIAL)).toBeUndefined()
      await expect.poll(acme.reasons).toContain('AccountSecretMissing')
      expect((await acme.mint(CREDENTIAL)).status).toBe(201)
    })

    test('seeds nothing where the chart from before keeps a password in the clear', async () => {
      const acme = await syncing()
      await acme.shop({ app: {}, report: {} })
      await acme.admin.create(`/api/v1/namespaces/${acme.namespace}/secrets`, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: `${SHOP}-credentials` },
        data: { app: encode('still-in-use') },
      })
      expect(await acme.counts()).toEqual({ Created: 1, Warnings: 1 })
      expect(await acme.secret(CREDENTIAL)).toBeUndefined()
      expect(await acme.secret('mariadb-shop.report')).toBeDefined()
    })

    test('adopts a seed that has no owner, and keeps its value', async () => {
      const acme = await syncing()
      const { metadata: release } = await acme.shop({ app: {} })
      const seed = { [ORIGIN]: 'NotIssued', [HISTORY]: '[]', [RELEASE_UID]: release.uid }
      const { data } = await leave(acme, seed)
      expect(await acme.counts()).toEqual({ Adopted: 1 })
      const adopted = await acme.secret(CREDENTIAL)
      expect(adopted.data).toEqual(data)
      expect(adopted.metadata.ownerReferences).toMatchObject([{ kind: 'HelmRelease', uid: release.uid }])
      expect(await acme.counts()).toEqual({})
      expect(await acme.secret(CREDENTIAL)).toEqual(adopted)
    })

    test.each(['NotIssued', 'Revoked'])(
      'replaces a leftover that is %s: nobody can know it',
      async (origin) => {
        const acme = await syncing()
        const { metadata: release } = await acme.shop({ app: {} })
        const left = await leave(acme, {
          [ORIGIN]: origin,
          [HISTORY]: '[]',
          [RELEASE_UID]: 'of-an-earlier-one',
        })
        expect(await acme.counts()).toEqual({ Created: 1 })
        const { metadata, data } = await acme.secret(CREDENTIAL)
        expect(metadata.uid).not.toBe(left.metadata.uid)
        expect(metadata.annotations[RELEASE_UID]).toBe(release.uid)
        expect(data.password).not.toBe(left.data.password)
      },
    )

    test.each([
      ['a leftover that somebody may know', { [ORIGIN]: 'Minted' }, {}, 'AccountSecretLeftover'],
      ['a leftover from before', { [ORIGIN]: 'Migrated' }, {}, 'AccountSecretLeftover'],
      ['a Secret of another type', { [ORIGIN]: 'NotIssued' }, { type: 'Opaque' }, 'AccountSecretForeign'],
    ])('leaves %s alone, and says so', async (_, annotations, more, reason) => {
      const acme = await syncing()
      await acme.shop({ app: {} })
      await leave(acme, { ...annotations, [HISTORY]: '[]', [RELEASE_UID]: 'of-an-earlier-one' }, more)
      const before = await acme.secret(CREDENTIAL)
      for (let i = 0; i < 2; i += 1) expect(await acme.counts()).toEqual({ Warnings: 1 })
      expect(await acme.secret(CREDENTIAL)).toEqual(before)
      await expect.poll(acme.reasons).toContain(reason)
    })

    test('of usernames that collide seeds neither, and the others', async () => {
      const acme = await syncing()
      await acme.shop({ 'a.b': {}, a_b: {}, app: {}, root: {} })
      expect(await acme.counts()).toEqual({ Created: 1, Warnings: 1 })
      expect(await acme.secret('mariadb-shop.a-b')).toBeUndefined()
      expect(await acme.secret('mariadb-shop.root')).toBeUndefined()
    })

    test('needs both rights: to sync, and to update the application', async () => {
      const acme = await syncing()
      await acme.shop({ app: {} })
      for (const as of ['viewer', 'stranger'] as const) {
        const answers = [await acme.sync(SHOP, { as }), await acme.sync('mariadb-nothing', { as })]
        for (const { status, body } of answers) {
          expect(status).toBe(403)
          expect(body.message).toContain(`cannot create resource "helmreleases/sync" in API group "${GROUP}"`)
        }
      }
      const bindings = `/apis/rbac.authorization.k8s.io/v1/namespaces/${acme.namespace}/rolebindings`
      await acme.admin.remove(`${bindings}/admin.applications`)
      const sync = async () => (await acme.sync(SHOP)).status
      await expect.poll(sync, { timeout: 10_000 }).toBe(403)
      const { body } = await acme.sync(SHOP)
      expect(body.message).toContain(
        'mariadbs.apps.cozystack.io "shop" is forbidden: User "system:serviceaccount:',
      )
      expect(body.message).toContain('cannot update resource "mariadbs" in API group "apps.cozystack.io"')
    })

    test('of what is not there, or is no application of a served kind, is 404', async () => {
      const acme = await syncing()
      await acme.release('Bucket', 'data', {})
      await acme.release(
        'MariaDB',
        'system',
        {},
        { labels: { 'apps.cozystack.io/application.kind': undefined } },
      )
      for (const name of ['mariadb-nothing', 'data', 'mariadb-system']) {
        const { status, body } = await acme.sync(name)
        expect([status, body.reason]).toEqual([404, 'NotFound'])
        expect(body.details).toEqual({ name, group: GROUP, kind: 'helmreleases' })
      }
    })

    test('has no dry run, and takes no body but an empty one', async () => {
      const acme = await syncing()
      await acme.shop({ app: {} })
      for (const query of ['dryRun=All', 'dryrun=All']) {
        expect((await acme.sync(SHOP, { query })).status).toBe(400)
      }
      const headers = { 'Content-Type': 'application/json' }
      expect((await acme.sync(SHOP, { body: 'no JSON', headers })).status).toBe(400)
      expect(await acme.secret(CREDENTIAL)).toBeUndefined()
      expect((await acme.sync(SHOP, { body: {}, headers })).status).toBe(200)
      expect(await acme.secret(CREDENTIAL)).toBeDefined()
    })

    test('by a second definition of the kind changes nothing', async () => {
      const acme = await syncing()
      const kind = `Shop${acme.namespace.slice(-5)}`
      const definitions = '/apis/cozystack.io/v1alpha1/applicationdefinitions'
      const define = async (name: string) => {
        await acme.admin.create(definitions, definitionOf(kind, name))
        onTestFinished(() => acme.admin.remove(`${definitions}/${name}`))
      }
      const name = kind.toLowerCase()
      await define(name)
      await acme.release(kind, 'one', { users: { app: {} } })
      await define(`${name}2`)
      const { status, body } = await acme.sync('one')
      expect([status, body.message]).toEqual([500, expect.stringContaining(`define the kind ${kind}`)])
      expect(await acme.secret('one.app')).toBeUndefined()
    })
  })
}

const definitionOf = (kind: string, name: string): Anything => ({
  apiVersion: 'cozystack.io/v1alpha1',
  kind: 'ApplicationDefinition',
  metadata: { name },
  spec: {
    application: { kind, plural: `${name}s`, singular: name, openAPISchema: '{}' },
    release: { prefix: '', chartRef: { kind: 'OCIRepository', name, namespace: 'cozy-system' } },
    credentials: { format: { name: 'sha256' }, accounts: [{ kind: 'ValuesMap', path: 'users' }] },
  },
})
