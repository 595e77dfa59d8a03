import { describe, expect, test } from 'vitest'
import type { Contract } from '../contract.ts'
import { createSyncing } from '../syncing.ts'
import type { Tenant } from '../tenant.ts'
import { define } from './definitions.ts'

/** A kind whose accounts come from here. */
const withAccounts = (acme: Tenant, ...accounts: readonly object[]) =>
  define(acme, ({ spec }) => {
    spec.credentials.accounts = accounts
  })

const expressed = (expression: string) => ({ kind: 'Expression', expression })

export function sources(context: Contract): void {
  const { tenant } = context

  describe('a list of accounts', () => {
    test('ACC-12: mints for each entry, under the name that is written there', async () => {
      const acme = await tenant()
      const { kind } = await withAccounts(acme, { kind: 'ValuesList', path: 'accounts', nameField: 'name' })
      await acme.release(kind, 'one', { accounts: [{ name: 'App_User' }, null, { nmae: 'etl' }] })
      const answer = await acme.mint('one.app-user')
      expect(answer.status).toBe(201)
      expect(answer.body.status.username).toBe('App_User')
      expect((await acme.mint('one.etl')).status).toBe(404)
    })

    test('may hold the usernames themselves', async () => {
      const acme = await tenant()
      const { kind } = await withAccounts(acme, { kind: 'ValuesList', path: 'auth.users' })
      await acme.release(kind, 'one', { auth: { users: ['etl'] } })
      expect((await acme.mint('one.etl')).status).toBe(201)
    })

    test('that is a map is 422 of the source', async () => {
      const acme = await tenant()
      const { kind } = await withAccounts(acme, { kind: 'ValuesList', path: 'accounts', nameField: 'name' })
      await acme.release(kind, 'one', { accounts: { etl: {} } })
      const answer = await acme.mint('one.etl')
      expect(answer.status).toBe(422)
      expect(answer.body.details.causes).toEqual([
        {
          reason: 'FieldValueTypeInvalid',
          field: 'spec.values.accounts',
          message: 'must be a list of users, and is a map',
        },
      ])
    })
  })

  describe('an expression', () => {
    test('mints for what it returns, and keeps the platform’s for the platform', async () => {
      const acme = await tenant()
      const { kind } = await withAccounts(
        acme,
        expressed("spec.accounts.map(a, {'name': a.name}) + [{'name': 'root', 'owner': 'platform'}]"),
        expressed("['in-' + metadata.namespace]"),
      )
      await acme.release(kind, 'one', { accounts: [{ name: 'etl' }, { name: 'root' }] })
      const statuses = ['etl', `in-${acme.namespace}`, 'root', 'other'].map(
        async (account) => (await acme.mint(`one.${account}`)).status,
      )
      expect(await Promise.all(statuses)).toEqual([201, 201, 404, 404])
    })

    test('EXT-03: that asks one entry for a field that it lacks is an error, and no empty list', async () => {
      const acme = await tenant()
      const { kind, name } = await withAccounts(
        acme,
        expressed('spec.users.filter(u, u.login).map(u, u.name)'),
      )
      const careful = await withAccounts(
        acme,
        expressed('spec.users.filter(u, has(u.login) && u.login).map(u, u.name)'),
      )
      const values = { users: [{ name: 'etl', login: true }, { name: 'private-value' }] }
      await acme.release(kind, 'one', values)
      await acme.release(careful.kind, 'two', values)
      const answer = await acme.mint('one.etl')
      expect(answer.status).toBe(422)
      expect(answer.body.details.causes).toEqual([
        {
          reason: 'FieldValueInvalid',
          field: 'spec.credentials.accounts[0].expression',
          message: `ApplicationDefinition "${name}": the expression finds no field "login" (line 1, character 23)`,
        },
      ])
      expect(answer.text).not.toContain('private-value')
      expect(await acme.secret('one.etl')).toBeUndefined()
      expect((await acme.mint('two.etl')).status).toBe(201)
    })

    test('EXT-05: that would never end is stopped, and other kinds go on', async () => {
      const acme = await tenant()
      const loops = 'spec.users.map(a, spec.users.map(b, spec.users.map(c, spec.users.map(d, a))))'
      const { kind } = await withAccounts(acme, expressed(`${loops} == [] || true ? ['etl'] : []`))
      const { kind: other } = await withAccounts(acme, expressed("['etl']"))
      await acme.release(kind, 'one', { users: Array.from({ length: 200 }, (_, index) => `u${index}`) })
      await acme.release(other, 'two', {})
      const answer = await acme.mint('one.etl')
      expect(answer.status).toBe(422)
      expect(answer.body.message).toContain('takes more than 10000 steps')
      expect((await acme.mint('two.etl')).status).toBe(201)
    })

    test('that fails for a release lets a sync change nothing', async () => {
      const acme = await createSyncing(context)
      const { kind } = await withAccounts(acme, { kind: 'ValuesMap', path: 'users' }, expressed('spec.more'))
      await acme.release(kind, 'one', { users: { etl: {} } })
      await acme.sync('one')
      expect(await acme.secret('one.etl')).toBeUndefined()
    })
  })
}
