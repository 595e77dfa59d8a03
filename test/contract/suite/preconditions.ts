import { describe, expect, test } from 'vitest'
import type { Contract } from '../contract.ts'
import { adminOfTenant } from '../tenant.ts'

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

/** What lets a caller look before leaping: preconditions and dry runs. */
export function preconditions({ tenant }: Contract): void {
  describe('a precondition', () => {
    test('that holds lets the mint through; a stale one is 409 and names who was faster', async () => {
      const acme = await tenant()
      await acme.release('Postgres', 'orders', { users: { web: {} } })
      await acme.mint('postgres-orders.web')
      const { uid, resourceVersion } = (await acme.get('postgres-orders.web')).body.metadata
      const body = { spec: { preconditions: { uid, resourceVersion } } }
      const second = await acme.mint('postgres-orders.web', { body })
      expect(second.status).toBe(201)

      const stored = await acme.secret('postgres-orders.web')
      const stale = await acme.mint('postgres-orders.web', { body })
      expect(stale.status).toBe(409)
      const message = `credential postgres-orders.web changed: password issued by ${adminOfTenant(acme)} at ${second.body.status.issuedAt}`
      expect(stale.body).toMatchObject({
        reason: 'Conflict',
        message,
        details: { causes: [{ field: 'spec.preconditions.resourceVersion' }] },
      })
      expect(stale.headers.get('retry-after')).toBeNull()
      expect(await acme.secret('postgres-orders.web')).toEqual(stored)

      await acme.revoke('postgres-orders.web')
      const revoked = await acme.mint('postgres-orders.web', { body })
      expect(revoked.body.message).toContain(`password revoked by ${adminOfTenant(acme)}`)
    })

    test('on what is not there is 409', async () => {
      const acme = await tenant()
      await acme.release('Postgres', 'orders', { users: { web: {} } })
      const body = { spec: { preconditions: { resourceVersion: '7' } } }
      const answer = await acme.mint('postgres-orders.web', { body })
      expect(answer.status).toBe(409)
      expect(answer.body.message).toBe('credential postgres-orders.web no longer exists')
      expect(await acme.secret('postgres-orders.web')).toBeUndefined()
    })

    test('on another uid is 409', async () => {
      const acme = await tenant()
      await acme.release('Postgres', 'orders', { users: { web: {} } })
      await acme.mint('postgres-orders.web')
      const body = { spec: { preconditions: { uid: '00000000-0000-4000-8000-000000000000' } } }
      expect((await acme.revoke('postgres-orders.web', { body })).status).toBe(409)
    })

    test.each([
      ['Create', 'credential postgres-orders.web created at 2026-01-02T03:04:05Z'],
      ['Migrate', 'changed: password migrated by jane@example.org at 2026-01-02T03:04:05Z'],
      ['nothing', 'credential postgres-orders.web changed: read it again'],
    ])('that is stale after %s says so', async (operation, message) => {
      const acme = await tenant()
      await acme.release('Postgres', 'orders', { users: { web: {} } })
      await acme.mint('postgres-orders.web')
      const entry = { operation, at: '2026-01-02T03:04:05Z', by: 'jane@example.org' }
      const before = await acme.admin.change(acme.secretPath('postgres-orders.web'), ({ metadata }) => {
        metadata.annotations['credentials.cozystack.io/history'] = JSON.stringify([entry])
      })
      const body = { spec: { preconditions: { resourceVersion: '1' } } }
      const answer = await acme.mint('postgres-orders.web', { body })
      expect(answer.status).toBe(409)
      expect(answer.body.message).toContain(message)
      expect(await acme.secret('postgres-orders.web')).toEqual(before)
    })

    test('guards what an earlier release left behind, too', async () => {
      const acme = await tenant()
      await acme.release('Postgres', 'orders', { users: { web: {} } })
      await acme.mint('postgres-orders.web')
      const { metadata } = await acme.admin.change(acme.secretPath('postgres-orders.web'), (secret) => {
        secret.metadata.annotations['credentials.cozystack.io/release-uid'] = 'another'
      })
      const given = (uid: string) => ({ body: { spec: { preconditions: { uid } } } })
      const other = await acme.mint('postgres-orders.web', given('00000000-0000-4000-8000-000000000000'))
      expect(other.status).toBe(409)
      expect((await acme.secret('postgres-orders.web')).metadata).toEqual(metadata)
      expect((await acme.mint('postgres-orders.web', given(metadata.uid))).status).toBe(201)
      expect((await acme.secret('postgres-orders.web')).metadata.uid).not.toBe(metadata.uid)
    })

    test.each([
      ['resourceVersion', ''],
      ['resourceVersion', '0'],
      ['uid', ''],
    ])('%s %j would match anything and is 422', async (field, value) => {
      const acme = await tenant()
      await acme.release('Postgres', 'orders', { users: { web: {} } })
      const body = { spec: { preconditions: { [field]: value } } }
      const answer = await acme.mint('postgres-orders.web', { body })
      expect(answer.status).toBe(422)
      expect(answer.body).toMatchObject({
        reason: 'Invalid',
        details: { kind: 'CredentialRequest', causes: [{ field: `spec.preconditions.${field}` }] },
      })
      expect(await acme.secret('postgres-orders.web')).toBeUndefined()
    })
  })

  describe('a dry run', () => {
    test('SEC-10: checks everything, shows no password and changes nothing', async () => {
      const acme = await tenant()
      await acme.release('Postgres', 'orders', { users: { web: {} } })
      const onNothing = await acme.mint('postgres-orders.web', { query: 'dryRun=All' })
      expect(onNothing.status).toBe(201)
      expect(onNothing.body.status).toEqual({ username: 'web', issuedAt: expect.stringMatching(TIMESTAMP) })
      expect(await acme.secret('postgres-orders.web')).toBeUndefined()

      await acme.mint('postgres-orders.web')
      const before = await acme.secret('postgres-orders.web')
      for (const answer of [
        await acme.mint('postgres-orders.web', { query: 'dryRun=All' }),
        await acme.revoke('postgres-orders.web', { query: 'dryRun=All' }),
      ]) {
        expect(answer.status).toBe(201)
        expect(answer.body.status.password).toBeUndefined()
      }
      expect(await acme.secret('postgres-orders.web')).toEqual(before)
      const stale = { spec: { preconditions: { resourceVersion: '1' } } }
      expect((await acme.mint('postgres-orders.web', { query: 'dryRun=All', body: stale })).status).toBe(409)
      expect((await acme.mint('postgres-orders.web', { query: 'dryRun=All', as: 'viewer' })).status).toBe(403)
      await expect
        .poll(async () => (await acme.events()).map(({ reason }) => reason))
        .toEqual(['CredentialIssued'])
    })
  })
}
