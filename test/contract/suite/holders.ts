import { describe, expect, test } from 'vitest'
import type { Contract } from '../contract.ts'
import { type Anything, decode } from '../kube.ts'
import type { Tenant } from '../tenant.ts'
import { accepts } from '../verify.ts'

const ORIGIN = 'credentials.cozystack.io/origin'
const HISTORY = 'credentials.cozystack.io/history'
const RELEASE_UID = 'credentials.cozystack.io/release-uid'
const ADOPT = 'credentials.cozystack.io/adopt'
const CREDENTIAL = 'mariadb-shop.app'

const encode = (text: string): string => Buffer.from(text).toString('base64')

/** A Secret at the account's name, made by somebody else. */
const secretOf = (namespace: string, more: Anything): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type: 'kubernetes.io/basic-auth',
  data: { username: encode('app'), password: encode('*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19') },
  ...more,
  metadata: { name: `${CREDENTIAL}.account`, namespace, ...more.metadata },
})

async function shop(acme: Tenant, more: object = {}): Promise<Anything> {
  return acme.release('MariaDB', 'shop', { users: { app: {} } }, more)
}

const put = (acme: Tenant, more: Anything) =>
  acme.admin.create(`/api/v1/namespaces/${acme.namespace}/secrets`, secretOf(acme.namespace, more))

const reasons = async (acme: Tenant) => (await acme.events()).map(({ reason }) => reason)

export function holders({ tenant }: Contract): void {
  describe('an account Secret of ours', () => {
    test('SEC-12, SEC-14: keeps what others put on it, and has the labels of the definition', async () => {
      const acme = await tenant()
      await shop(acme)
      await acme.mint(CREDENTIAL)
      const owner = { apiVersion: 'v1', kind: 'ServiceAccount', name: 'admin', uid: '' }
      owner.uid = (
        await acme.admin.get(`/api/v1/namespaces/${acme.namespace}/serviceaccounts/admin`)
      ).metadata.uid
      await acme.admin.change(acme.secretPath(CREDENTIAL), (secret) => {
        secret.metadata.labels.team = 'x'
        delete secret.metadata.labels['k8s.mariadb.com/watch']
        secret.metadata.annotations.note = 'y'
        secret.metadata.finalizers = ['example.com/hold']
        secret.metadata.ownerReferences.push(owner)
        secret.data.extra = encode('z')
      })
      expect((await acme.mint(CREDENTIAL)).status).toBe(201)
      const { metadata, data } = await acme.secret(CREDENTIAL)
      expect(metadata.labels).toMatchObject({ team: 'x', 'k8s.mariadb.com/watch': '' })
      expect(metadata.annotations.note).toBe('y')
      expect(metadata.finalizers).toEqual(['example.com/hold'])
      expect(metadata.ownerReferences.map(({ kind }: Anything) => kind).sort()).toEqual([
        'HelmRelease',
        'ServiceAccount',
      ])
      expect(data.extra).toBe(encode('z'))
      await acme.admin.change(acme.secretPath(CREDENTIAL), (secret) => {
        secret.metadata.finalizers = []
      })
    })

    test("SEC-13: carries none of the release's own labels and annotations", async () => {
      const acme = await tenant()
      const foreign = { 'kustomize.toolkit.fluxcd.io/name': 'x', 'app.kubernetes.io/managed-by': 'Helm' }
      await shop(acme, { labels: foreign })
      await acme.mint(CREDENTIAL)
      const { metadata } = await acme.secret(CREDENTIAL)
      for (const key of Object.keys(foreign)) expect(metadata.labels).not.toHaveProperty([key])
    })

    test.each(['no JSON', '{}', '[1, null, {"operation": "Mint"}]', JSON.stringify('x'.repeat(1000))])(
      'NAM-08: with the history %j is read, and repaired by the next write',
      async (history) => {
        const acme = await tenant()
        await shop(acme)
        await acme.mint(CREDENTIAL)
        await acme.admin.change(acme.secretPath(CREDENTIAL), (secret) => {
          secret.metadata.annotations[HISTORY] = history
        })
        const read = await acme.get(CREDENTIAL)
        expect(read.body.status).toEqual({ password: { origin: 'Minted' }, history: [] })
        expect((await acme.list()).body.items).toHaveLength(1)
        expect((await acme.mint(CREDENTIAL)).status).toBe(201)
        expect((await acme.get(CREDENTIAL)).body.status.history).toMatchObject([{ operation: 'Mint' }])
      },
    )

    test('SEC-06: lost its owner reference and gets it back', async () => {
      const acme = await tenant()
      const release = await shop(acme)
      await acme.mint(CREDENTIAL)
      const { metadata } = await acme.admin.change(acme.secretPath(CREDENTIAL), (secret) => {
        secret.metadata.ownerReferences = []
      })
      await acme.mint(CREDENTIAL)
      const after = await acme.secret(CREDENTIAL)
      expect(after.metadata.uid).toBe(metadata.uid)
      expect(after.metadata.ownerReferences).toMatchObject([
        { kind: 'HelmRelease', uid: release.metadata.uid },
      ])
    })

    test('SEC-06: with the owner reference of a release that is gone has one of its own afterwards', async () => {
      const acme = await tenant()
      const release = await shop(acme)
      await acme.mint(CREDENTIAL)
      await acme.admin.change(acme.secretPath(CREDENTIAL), (secret) => {
        secret.metadata.ownerReferences[0].uid = '11111111-2222-4333-8444-555555555555'
      })
      // The garbage collector may be faster than the mint, and then there is nothing to replace.
      const minted = async () => (await acme.mint(CREDENTIAL)).status
      await expect.poll(minted, { timeout: 10_000 }).toBe(201)
      const last = await acme.mint(CREDENTIAL)
      const { metadata, data } = await acme.secret(CREDENTIAL)
      expect(metadata.ownerReferences).toMatchObject([{ kind: 'HelmRelease', uid: release.metadata.uid }])
      expect(accepts(decode(data.password), last.body.status.password)).toBe(true)
    })

    test('SEC-03: that is immutable is left alone', async () => {
      const acme = await tenant()
      await shop(acme)
      await acme.mint(CREDENTIAL)
      const before = await acme.admin.change(acme.secretPath(CREDENTIAL), (secret) => {
        secret.immutable = true
      })
      const answer = await acme.mint(CREDENTIAL)
      expect(answer.status).toBe(409)
      expect(answer.body.message).toContain('is immutable: delete it')
      expect(await acme.secret(CREDENTIAL)).toEqual(before)
    })

    test('that is being deleted is 409 until it is gone', async () => {
      const acme = await tenant()
      await shop(acme)
      await acme.mint(CREDENTIAL)
      const path = acme.secretPath(CREDENTIAL)
      await acme.admin.change(path, (secret) => {
        secret.metadata.finalizers = ['example.com/hold']
      })
      await acme.admin.remove(path)
      const answer = await acme.mint(CREDENTIAL)
      expect(answer.status).toBe(409)
      expect(answer.body.message).toContain('being deleted: try again')
      await acme.admin.change(path, (secret) => {
        secret.metadata.finalizers = []
      })
      expect((await acme.mint(CREDENTIAL)).status).toBe(201)
    })

    test('SEC-06: with the mark to adopt, and no release, goes over to the release of its name', async () => {
      const acme = await tenant()
      const release = await shop(acme)
      const { metadata } = await put(acme, {
        metadata: { annotations: { [ORIGIN]: 'Minted', [ADOPT]: 'true' } },
      })
      expect((await acme.mint(CREDENTIAL)).status).toBe(201)
      const after = await acme.secret(CREDENTIAL)
      expect(after.metadata.uid).toBe(metadata.uid)
      expect(after.metadata.annotations).not.toHaveProperty([ADOPT])
      expect(after.metadata.annotations[RELEASE_UID]).toBe(release.metadata.uid)
    })
  })

  describe('a leftover', () => {
    const OTHER = '11111111-2222-4333-8444-555555555555'
    const history = JSON.stringify([{ operation: 'Mint', at: '2026-01-01T00:00:00Z', by: 'somebody' }])
    test.each([
      ['of another release', { [ORIGIN]: 'Minted', [RELEASE_UID]: OTHER, [HISTORY]: history }, {}, true],
      ['of another release that nobody knows', { [ORIGIN]: 'NotIssued', [RELEASE_UID]: OTHER }, {}, false],
      ['with no mark of a release', { [ORIGIN]: 'Revoked' }, {}, false],
      [
        'marked to adopt, of another release',
        { [ORIGIN]: 'Migrated', [RELEASE_UID]: OTHER, [ADOPT]: 'true' },
        {},
        true,
      ],
      ['of another user', { [ORIGIN]: 'Minted' }, { username: encode('App'), password: encode('x') }, true],
    ])('%s is replaced, with a new record', async (_name, annotations, data, isKnown) => {
      const acme = await tenant()
      const release = await shop(acme)
      const marks = 'username' in data ? { [RELEASE_UID]: release.metadata.uid } : {}
      const more = Object.keys(data).length === 0 ? {} : { data }
      const before = await put(acme, {
        ...more,
        metadata: { annotations: { ...annotations, ...marks }, labels: { team: 'x' } },
      })
      const answer = await acme.mint(CREDENTIAL)
      expect(answer.status).toBe(201)
      const after = await acme.secret(CREDENTIAL)
      expect(after.metadata.uid).not.toBe(before.metadata.uid)
      expect(after.metadata.labels).not.toHaveProperty('team')
      expect(JSON.parse(after.metadata.annotations[HISTORY])).toHaveLength(1)
      expect(accepts(decode(after.data.password), answer.body.status.password)).toBe(true)
      const expected = isKnown ? ['AccountSecretReplaced', 'CredentialIssued'] : ['CredentialIssued']
      await expect.poll(async () => (await reasons(acme)).sort()).toEqual(expected)
    })

    test('in a dry run stays', async () => {
      const acme = await tenant()
      await shop(acme)
      const before = await put(acme, {
        metadata: { annotations: { [ORIGIN]: 'Revoked', [RELEASE_UID]: OTHER } },
      })
      expect((await acme.mint(CREDENTIAL, { query: 'dryRun=All' })).status).toBe(201)
      expect((await acme.secret(CREDENTIAL)).metadata).toEqual(before.metadata)
    })
  })

  describe('a foreign Secret at the name', () => {
    test.each([
      ['without an origin', {}],
      ['with an origin that does not exist', { metadata: { annotations: { [ORIGIN]: 'Stolen' } } }],
      ['SEC-04: of another type', { type: 'Opaque', metadata: { annotations: { [ORIGIN]: 'Minted' } } }],
    ])('%s is never touched', async (_name, more) => {
      const acme = await tenant()
      await shop(acme)
      const before = await put(acme, more)
      for (const answer of [await acme.mint(CREDENTIAL), await acme.revoke(CREDENTIAL)]) {
        expect(answer.status).toBe(409)
        expect(answer.body.message).toContain('left alone')
        expect(answer.body.message).toContain('delete it')
        expect(answer.text).not.toContain('password":"')
      }
      expect(await acme.secret(CREDENTIAL)).toEqual(before)
      await expect.poll(async () => new Set(await reasons(acme))).toEqual(new Set(['AccountSecretForeign']))
    })
  })
}
