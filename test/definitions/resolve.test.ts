import { describe, expect, test } from 'vitest'
import { resolveDeclared } from '../../src/definitions/resolve.ts'
import { postgres } from './blocks.ts'
import { releaseWith, rulesOf } from './definition.ts'

const users = { kind: 'ValuesMap', path: 'users' }
const resolve = (values: unknown, accounts: readonly object[] = [users], valuesFrom?: unknown) =>
  resolveDeclared(rulesOf({ ...postgres, accounts }), releaseWith(values, valuesFrom))
const tenant = (username: string) => ({ username, owner: 'tenant' })
const platform = (username: string) => ({ username, owner: 'platform' })

test('the accounts of all sources count, each username once', async () => {
  const accounts = [users, { kind: 'ValuesMap', path: 'more' }, { kind: 'Static', name: 'app' }]
  expect(await resolve({ users: { web: {}, app: {} }, more: { web: {}, report: {} } }, accounts)).toEqual({
    accounts: [tenant('web'), tenant('app'), tenant('report')],
    malformed: [],
    causes: [],
    complete: true,
    valuesFrom: [],
  })
})

test.each([
  ['before', [{ kind: 'Static', name: 'root', owner: 'platform' }, users]],
  ['after', [users, { kind: 'Static', name: 'root', owner: 'platform' }]],
])(
  'ACC-10: an account of the platform stays its own when it is listed %s the tenant’s',
  async (_, accounts) => {
    const { accounts: found } = await resolve({ users: { root: {}, web: {} } }, accounts)
    expect(found).toHaveLength(2)
    expect(found).toEqual(expect.arrayContaining([platform('root'), tenant('web')]))
  },
)

test('ACC-11: an account that the definition calls the platform’s is never a tenant’s', async () => {
  const accounts = [
    { kind: 'Static', name: 'app' },
    { kind: 'Static', name: 'app', owner: 'platform' },
  ]
  expect((await resolve({}, accounts)).accounts).toEqual([platform('app')])
})

test('ACC-12: a username keeps its letters', async () => {
  expect((await resolve({ users: { App_User: {} } })).accounts).toEqual([tenant('App_User')])
})

describe('values', () => {
  test.each([
    ['none', undefined],
    ['null', null],
    ['empty ones', {}],
  ])('ACC-03: %s declare no account, and that is certain', async (_, values) => {
    expect(await resolve(values)).toMatchObject({ accounts: [], causes: [], complete: true })
  })

  test.each([['abc'], [[]], [5]])('that are no map are no answer: %j', async (values) => {
    expect(await resolve(values)).toMatchObject({
      accounts: [],
      causes: [{ reason: 'FieldValueTypeInvalid', field: 'spec.values' }],
      complete: false,
    })
  })

  test('of the wrong shape for one source leave the others, and the whole uncertain', async () => {
    const accounts = [users, { kind: 'Static', name: 'app' }]
    expect(await resolve({ users: [] }, accounts)).toMatchObject({
      accounts: [tenant('app')],
      causes: [{ field: 'spec.values.users' }],
      complete: false,
    })
  })

  test('with one malformed entry leave its siblings, and the whole incomplete', async () => {
    expect(await resolve({ users: { web: {}, u7: '' } })).toMatchObject({
      accounts: [tenant('web')],
      malformed: [{ username: 'u7' }],
      causes: [],
      complete: false,
    })
  })

  test('ACC-04: from references are named, for they are not read', async () => {
    const references = [
      { kind: 'Secret', name: 'cozystack-values' },
      { kind: 'ConfigMap', name: 'v', valuesKey: 'u', targetPath: 'users.app.roles' },
      'what?',
    ]
    const { valuesFrom, accounts } = await resolve({}, [users], references)
    expect(valuesFrom).toEqual(['Secret/cozystack-values', 'ConfigMap/v', '?/?'])
    expect(accounts).toEqual([])
  })
})

describe('a username', () => {
  test.each([
    ['is empty', ''],
    ['holds a line break', 'a\nb'],
    ['holds a NUL', 'a\0'],
    ['holds a C1 control character', 'a\u0085'],
    ['is half a character', '\ud83d'],
    ['has 64 bytes', 'a'.repeat(64)],
    ['has 64 bytes and fewer letters', 'ä'.repeat(32)],
  ])('that %s is wrong for itself', async (_, username) => {
    expect(await resolve({ users: { web: {}, [username]: {} } })).toMatchObject({
      accounts: [tenant('web')],
      malformed: [{ username, cause: { reason: 'FieldValueInvalid' } }],
      complete: false,
    })
  })

  test.each([['a'.repeat(63)], ['ä'.repeat(31)], ['__proto__'], ['😀'], [' '], ['a.b@c']])(
    '%j is one',
    async (username) => {
      const values = JSON.parse(`{"users":{${JSON.stringify(username)}:{}}}`)
      expect(await resolve(values)).toMatchObject({ accounts: [tenant(username)], complete: true })
    },
  )

  test('of any length makes a short message', async () => {
    const { malformed } = await resolve({ users: { ['a'.repeat(100_000)]: {} } })
    expect(malformed[0]?.cause.message.length).toBeLessThan(200)
  })
})

describe('of accounts', () => {
  const many = (count: number, entry: unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`u${index}`, entry]))

  test('256 are enough', async () => {
    expect(await resolve({ users: many(256, {}) })).toMatchObject({ causes: [], complete: true })
  })

  test('257 are too many, malformed ones counted', async () => {
    const tooMany = { causes: [{ reason: 'FieldValueTooMany', field: 'spec.values' }], complete: false }
    expect(await resolve({ users: many(257, {}) })).toMatchObject(tooMany)
    expect(await resolve({ users: { ...many(256, {}), bad: 'x' } })).toMatchObject(tooMany)
  })
})

test('no message holds what a tenant wrote as a value', async () => {
  const values = {
    users: { web: 'S3cret', app: ['S3cret'], ok: { password: 'S3cret' } },
    on: 'S3cret',
    map: 'S3cret',
  }
  const accounts = [users, { kind: 'ValuesMap', path: 'map' }, { kind: 'Static', name: 'app', when: 'on' }]
  const answer = await resolve(values, accounts)
  expect(answer.causes).toHaveLength(2)
  expect(answer.malformed).toHaveLength(2)
  expect(JSON.stringify(answer)).not.toContain('S3cret')
})
