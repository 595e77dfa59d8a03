import { expect, test } from 'vitest'
import type { Json } from '../../../src/core/json.ts'
import { inputWith, rulesOf } from '../definition.ts'

function resolve(values: Json, source: object = { path: 'users' }) {
  const block = { format: { name: 'sha256' }, accounts: [{ kind: 'ValuesMap', ...source }] }
  const [bound] = rulesOf(block).sources
  return bound?.resolve(inputWith(values))
}
const tenants = (...usernames: readonly string[]) => ({
  ok: true,
  value: { accounts: usernames.map((username) => ({ username, owner: 'tenant' })), malformed: [] },
})

test('the keys of the map are the usernames, as they are written', async () => {
  const users = { web: {}, App_User: { replication: true }, 'ä.b': {} }
  expect(await resolve({ users })).toEqual(tenants('web', 'App_User', 'ä.b'))
})

test('the map may be anywhere, and its accounts the platform’s', async () => {
  const values = { auth: { 'sql-users': { web: {} } }, 'auth.sql-users': { app: {} } }
  expect(await resolve(values, { path: 'auth.sql-users', owner: 'platform' })).toEqual({
    ok: true,
    value: { accounts: [{ username: 'web', owner: 'platform' }], malformed: [] },
  })
})

test.each([
  ['no values', {}],
  ['an empty map', { users: {} }],
  ['null', { users: null }],
])('%s declares nothing', async (_, values) => {
  expect(await resolve(values)).toEqual(tenants())
})

test.each([
  ['a list', []],
  ['a list of names', ['web']],
  ['a text', 'abc'],
  ['a number', 5],
  ['a boolean', false],
])('%s in place of the map fails, and names the path', async (_, users) => {
  expect(await resolve({ users })).toMatchObject({ ok: false, cause: { field: 'spec.values.users' } })
})

test.each([[[]], ['users'], [true]])(
  'something else above the map fails, and names the place: %j',
  async (auth) => {
    expect(await resolve({ auth }, { path: 'auth.users' })).toMatchObject({
      ok: false,
      cause: { field: 'spec.values.auth' },
    })
  },
)

test('a null above the map is nothing there', async () => {
  expect(await resolve({ auth: null }, { path: 'auth.users' })).toEqual(tenants())
})

test('ACC-01: keys that YAML 1.1 would turn into something else stay the names that the chart sees', async () => {
  const values = JSON.parse('{"users":{"y":{},"app":{},"007":{},"1e3":{},"no":{},"null":{}}}')
  expect(await resolve(values)).toEqual(tenants('y', 'app', '007', '1e3', 'no', 'null'))
})

test('ACC-03: an empty user is one, null is none, and another shape is wrong for itself', async () => {
  const users = { u5: {}, u6: null, u7: '', u8: { password: 'x' }, u9: ['x'] }
  expect(await resolve({ users })).toEqual({
    ok: true,
    value: {
      accounts: [
        { username: 'u5', owner: 'tenant' },
        { username: 'u8', owner: 'tenant' },
      ],
      malformed: [
        {
          username: 'u7',
          cause: {
            reason: 'FieldValueTypeInvalid',
            field: 'spec.values.users["u7"]',
            message: 'must be a map, and is a text',
          },
        },
        {
          username: 'u9',
          cause: {
            reason: 'FieldValueTypeInvalid',
            field: 'spec.values.users["u9"]',
            message: 'must be a map, and is a list',
          },
        },
      ],
    },
  })
})

test('users may be called like properties that every object has', async () => {
  const values = JSON.parse('{"users":{"__proto__":{},"constructor":{},"toString":{},"hasOwnProperty":null}}')
  expect(await resolve(values)).toEqual(tenants('__proto__', 'constructor', 'toString'))
})

test('properties that every object has are no values', async () => {
  expect(await resolve({}, { path: 'constructor' })).toEqual(tenants())
  expect(await resolve({}, { path: '__proto__.users' })).toEqual(tenants())
})

function entries(values: Json, source: object = {}, schema?: Json) {
  const block = {
    format: { name: 'sha256' },
    accounts: [{ kind: 'ValuesMap', path: 'auth.users', ...source }],
  }
  const [bound] = rulesOf(block).sources
  return bound?.entries?.({ values, schema })
}

test('what is written is found by its place, malformed or not, with its password or without', () => {
  const users = { web: { password: 'x' }, 'a.b': {}, report: 'x', no: null }
  const at = (key: string, hasPassword = false) => ({ username: key, within: 'auth.users', key, hasPassword })
  expect(entries({ auth: { users } })).toEqual([at('web', true), at('a.b'), at('report'), at('no')])
})

test.each<[string, Json]>([
  ['no values', {}],
  ['a list', { auth: { users: [{ password: 'x' }] } }],
  ['a text on the way', { auth: 'x' }],
])('%s: nothing is written', (_, values) => {
  expect(entries(values)).toEqual([])
})

test('a password that the schema asks for is not one to be dropped, nor is one of the platform', () => {
  const values = { auth: { users: { web: { password: 'x' }, app: { password: 'x' } } } }
  const map = {
    properties: { web: { required: ['password'] } },
    additionalProperties: { required: ['role'] },
  }
  const schema = { properties: { auth: { properties: { users: map } } } }
  expect(entries(values, {}, schema)?.map(({ hasPassword }) => hasPassword)).toEqual([false, true])
  expect(entries(values, { owner: 'platform' })?.some(({ hasPassword }) => hasPassword)).toBe(false)
})
