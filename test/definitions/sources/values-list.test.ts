import { expect, test } from 'vitest'
import type { Json } from '../../../src/core/json.ts'
import { findAccount } from '../../../src/credentials/accounts.ts'
import { nameAccounts } from '../../../src/credentials/declared.ts'
import { resolveDeclared } from '../../../src/definitions/resolve.ts'
import { inputWith, releaseWith, rulesOf } from '../definition.ts'

const blockOf = (source: object) => ({
  format: { name: 'sha256' },
  accounts: [{ kind: 'ValuesList', ...source }],
})
const NAMED = { path: 'accounts', nameField: 'name' }

function resolve(values: Json, source: object = NAMED) {
  const [bound] = rulesOf(blockOf(source)).sources
  return bound?.resolve(inputWith(values))
}
const answer = (usernames: readonly string[], malformed: readonly object[] = []) => ({
  ok: true,
  value: { accounts: usernames.map((username) => ({ username, owner: 'tenant' })), malformed },
})
const shape = (field: string, message: string) => ({
  cause: { reason: 'FieldValueTypeInvalid', field: `spec.values.${field}`, message },
})

test('a field of each entry is the username, as it is written', async () => {
  const accounts = [{ name: 'web', role: 'x' }, { name: 'App_User' }, { name: 'ä.b' }]
  expect(await resolve({ accounts })).toEqual(answer(['web', 'App_User', 'ä.b']))
})

test('without the name of a field the list holds the usernames themselves', async () => {
  expect(await resolve({ auth: { users: ['web', null, 'app'] } }, { path: 'auth.users' })).toEqual(
    answer(['web', 'app']),
  )
})

test('its accounts may be the platform’s', async () => {
  expect(await resolve({ accounts: [{ name: 'root' }] }, { ...NAMED, owner: 'platform' })).toMatchObject({
    value: { accounts: [{ username: 'root', owner: 'platform' }] },
  })
})

test.each([
  ['no values', {}],
  ['an empty list', { accounts: [] }],
  ['null', { accounts: null }],
  ['a list of nulls', { accounts: [null, null] }],
])('%s declares nothing', async (_, values) => {
  expect(await resolve(values)).toEqual(answer([]))
})

test.each([
  ['a map', {}],
  ['a map of users', { web: {} }],
  ['a text', 'abc'],
  ['a number', 5],
  ['a boolean', false],
])('%s in place of the list fails, and names the path', async (_, accounts) => {
  expect(await resolve({ accounts })).toMatchObject({
    ok: false,
    cause: { field: 'spec.values.accounts', message: expect.stringContaining('must be a list') },
  })
})

test('something else above the list fails, and names the place', async () => {
  expect(await resolve({ auth: [] }, { ...NAMED, path: 'auth.accounts' })).toMatchObject({
    ok: false,
    cause: { field: 'spec.values.auth' },
  })
})

test('ACC-03: an entry of another shape, or without its name, is wrong for itself', async () => {
  const accounts = [
    { name: 'u5' },
    null,
    '',
    { name: 'u8', password: 'x' },
    { login: 'u9' },
    { name: 7 },
    [],
    'u1',
  ]
  expect(await resolve({ accounts })).toEqual(
    answer(
      ['u5', 'u8'],
      [
        shape('accounts[2]', 'must be a map, and is a text'),
        {
          cause: {
            reason: 'FieldValueRequired',
            field: 'spec.values.accounts[4].name',
            message: 'must be a username',
          },
        },
        shape('accounts[5].name', 'must be a username, and is a number'),
        shape('accounts[6]', 'must be a map, and is a list'),
        shape('accounts[7]', 'must be a map, and is a text'),
      ],
    ),
  )
  expect(await resolve({ accounts: ['web', { name: 'app' }, 5] }, { path: 'accounts' })).toEqual(
    answer(
      ['web'],
      [
        shape('accounts[1]', 'must be a username, and is a map'),
        shape('accounts[2]', 'must be a username, and is a number'),
      ],
    ),
  )
})

test('properties that every object has are no names', async () => {
  const values = JSON.parse('{"accounts":[{"name":"__proto__"},{}]}')
  expect(await resolve(values)).toMatchObject({ value: { accounts: [{ username: '__proto__' }] } })
  expect(await resolve(values, { ...NAMED, nameField: 'constructor' })).toMatchObject({
    value: { accounts: [], malformed: [{}, {}] },
  })
})

test('an entry that names nobody leaves its siblings to be minted, and nothing to be deleted', async () => {
  const rules = rulesOf(blockOf(NAMED))
  const declared = await resolveDeclared(rules, releaseWith({ accounts: [{ name: 'web' }, { nmae: 'app' }] }))
  expect(declared).toMatchObject({ complete: false, causes: [] })
  expect(findAccount(declared, { release: 'postgres-orders', account: 'web' })).toMatchObject({
    value: { username: 'web' },
  })
  expect(findAccount(declared, { release: 'postgres-orders', account: 'app' })).toMatchObject({
    failure: { reason: 'credential_not_found' },
  })
  expect(nameAccounts(declared, 'postgres-orders')).toMatchObject({
    accounts: [{ username: 'web' }],
    problems: [{ usernames: [], cause: { field: 'spec.values.accounts[1].name' } }],
  })
})

test('the same name twice is one account', async () => {
  const rules = rulesOf(blockOf(NAMED))
  const { accounts, complete } = await resolveDeclared(
    rules,
    releaseWith({ accounts: [{ name: 'web' }, { name: 'web' }] }),
  )
  expect(accounts).toEqual([{ username: 'web', owner: 'tenant' }])
  expect(complete).toBe(true)
})

function entries(values: Json, source: object = NAMED, schema?: Json) {
  const [bound] = rulesOf(blockOf(source)).sources
  return bound?.entries?.({ values, schema })
}

test('what is written is found by its place, malformed or not, with its password or without', () => {
  const accounts = [{ name: 'web', password: 'x' }, { name: 'app' }, { password: 'x' }, null, 'report']
  const at = (username: string, key: number, hasPassword = false) => ({
    username,
    within: 'accounts',
    key,
    hasPassword,
  })
  expect(entries({ accounts })).toEqual([
    at('web', 0, true),
    at('app', 1),
    at('', 2, true),
    at('', 3),
    at('', 4),
  ])
  expect(entries({ accounts: { web: { password: 'x' } } })).toEqual([])
  expect(entries({ accounts: ['web'] }, { path: 'accounts' })).toEqual([at('web', 0)])
})

test('a password that the schema asks for is not one to be dropped, nor is one of the platform', () => {
  const values = { accounts: [{ name: 'web', password: 'x' }] }
  const schema = { properties: { accounts: { items: { required: ['name', 'password'] } } } }
  expect(entries(values, NAMED, schema)?.map(({ hasPassword }) => hasPassword)).toEqual([false])
  expect(entries(values, { ...NAMED, owner: 'platform' })?.some(({ hasPassword }) => hasPassword)).toBe(false)
})
