import { describe, expect, test } from 'vitest'
import { nameAccounts } from '../../src/credentials/declared.ts'
import type { Declarations } from '../../src/definitions/resolve.ts'
import type { Owner } from '../../src/definitions/rules.ts'

const RELEASE = 'postgres-orders'

const declared = (
  accounts: readonly (readonly [username: string, owner?: Owner])[],
  malformed: readonly string[] = [],
): Declarations => ({
  accounts: accounts.map(([username, owner = 'tenant']) => ({ username, owner })),
  malformed: malformed.map((username) => ({
    username,
    cause: {
      reason: 'FieldValueTypeInvalid',
      field: `spec.values.users["${username}"]`,
      message: 'is wrong',
    },
  })),
  causes: [],
  complete: malformed.length === 0,
  valuesFrom: [],
})

const named = (...given: Parameters<typeof declared>) => {
  const { accounts, problems } = nameAccounts(declared(...given), RELEASE)
  return {
    accounts: accounts.map(({ username, secretName }) => [username, secretName]),
    problems: problems.map(({ usernames }) => usernames),
    messages: problems.map(({ cause }) => cause.message),
  }
}

test('a tenant account has the name of its own Secret', () => {
  expect(nameAccounts(declared([['Web_1']]), RELEASE)).toEqual({
    accounts: [
      {
        username: 'Web_1',
        name: { release: RELEASE, account: 'web-1' },
        secretName: 'postgres-orders.web-1.account',
      },
    ],
    problems: [],
  })
})

describe('the platform', () => {
  test('has accounts without account Secrets, which are no problem either', () => {
    expect(named([['root', 'platform'], ['web']])).toMatchObject({
      accounts: [['web', 'postgres-orders.web.account']],
      problems: [],
    })
  })

  test.each(['Root', 'ROOT'])('keeps the name of its root when a tenant has a %s', (username) => {
    const { accounts, problems, messages } = named([['root', 'platform'], [username], ['web']])
    expect(accounts).toEqual([['web', 'postgres-orders.web.account']])
    expect(problems).toEqual([[username, 'root'].toSorted()])
    expect(messages[0]).toContain('an account of the platform: rename the one that is yours')
  })

  test('may have two accounts of one name, which nobody mints', () => {
    expect(
      named([
        ['a.b', 'platform'],
        ['a_b', 'platform'],
      ]),
    ).toMatchObject({ accounts: [], problems: [] })
  })

  test('keeps its account also from a malformed entry of the same username', () => {
    expect(named([['root', 'platform']], ['root'])).toMatchObject({ accounts: [], problems: [['root']] })
  })
})

describe('names that collide', () => {
  test.each([
    [['web', 'Web']],
    [['a.b', 'a_b']],
    [['a b', 'a-b', 'A/B']],
    [['é', 'ü']],
    // Each is one code point, though two UTF-16 code units.
    [['😀', '!']],
  ])('leave none of %j an account, and the problem names them all', (usernames) => {
    const { accounts, problems, messages } = named([...usernames.map((each) => [each] as const), ['fine']])
    expect(accounts).toEqual([['fine', 'postgres-orders.fine.account']])
    expect(problems).toEqual(usernames.length > 1 ? [usernames.toSorted()] : [])
    for (const username of usernames) expect(messages[0]).toContain(JSON.stringify(username))
  })

  test('are a matter of whole names: two code units are not two letters', () => {
    expect(named([['a😀'], ['a--']]).accounts.map(([username]) => username)).toEqual([])
    expect(named([['b😀b'], ['b--b']]).problems).toEqual([])
  })

  test('with a malformed entry nobody knows whose name it is', () => {
    const { accounts, problems } = named([['Web'], ['fine']], ['web'])
    expect(accounts).toEqual([['fine', 'postgres-orders.fine.account']])
    expect(problems).toEqual([['web'], ['Web', 'web']])
  })
})

describe('a malformed entry', () => {
  test('is one problem, in the words of its source, and its siblings have their names', () => {
    const { accounts, problems, messages } = named([['web'], ['report']], ['broken'])
    expect(accounts.map(([username]) => username)).toEqual(['web', 'report'])
    expect({ problems, messages }).toEqual({ problems: [['broken']], messages: ['is wrong'] })
  })

  test('outweighs a sound one of the same username from another source', () => {
    expect(named([['web']], ['web'])).toMatchObject({ accounts: [], problems: [['web']] })
  })

  test.each(['', '\u0000', '\ud800'])('of a username %j that can be nobody is said once', (username) => {
    expect(named([['web']], [username])).toMatchObject({
      accounts: [['web', 'postgres-orders.web.account']],
      problems: [[username]],
    })
  })
})

/** `k8s.io/apimachinery/pkg/util/validation`, IsDNS1123Subdomain. */
describe('a username that makes no DNS-1123 name', () => {
  test.each(['-a', 'a-', '_', '.a', 'a ', 'ß'])('is refused by name: %j', (username) => {
    const { accounts, problems, messages } = named([[username], ['web']])
    expect(accounts).toEqual([['web', 'postgres-orders.web.account']])
    expect(problems).toEqual([[username]])
    expect(messages[0]).toContain(JSON.stringify(username))
  })

  test.each([
    [63, 63, true],
    [181, 63, true],
    [182, 63, false],
  ])('of a release of %i and a user of %i characters: %s', (release, user, valid) => {
    const { accounts } = nameAccounts(declared([['u'.repeat(user)]]), 'r'.repeat(release))
    expect(accounts.length === 1).toBe(valid)
  })
})

test('accounts that are called like properties of every object are accounts', () => {
  const usernames = ['constructor', 'toString', 'hasOwnProperty']
  expect(named(usernames.map((each) => [each])).accounts.map(([username]) => username)).toEqual(usernames)
  // Its underscores become dashes at both ends.
  expect(named([['__proto__']])).toMatchObject({ accounts: [], problems: [['__proto__']] })
})

test('256 accounts are named one by one', () => {
  const usernames = Array.from({ length: 256 }, (_, index) => `u${index}`)
  const { accounts, problems } = named(usernames.map((each) => [each]))
  expect(accounts.map(([, secret]) => secret)).toEqual(
    usernames.map((each) => `postgres-orders.${each}.account`),
  )
  expect(problems).toEqual([])
})
