import { describe, expect, test } from 'vitest'
import type { Json } from '../../../src/core/json.ts'
import { findAccount } from '../../../src/credentials/accounts.ts'
import { parseRules } from '../../../src/definitions/parse.ts'
import { resolveDeclared } from '../../../src/definitions/resolve.ts'
import { definitionWith, inputWith, releaseWith, rulesOf } from '../definition.ts'

const FIELD = 'spec.credentials.accounts[0].expression'

const blockOf = (expression: unknown) => ({
  format: { name: 'sha256' },
  accounts: [{ kind: 'Expression', expression }],
})

function resolve(expression: string, values: Json = {}) {
  const [bound] = rulesOf(blockOf(expression)).sources
  return bound?.resolve(inputWith(values))
}
const tenants = (...usernames: readonly string[]) => ({
  ok: true,
  value: { accounts: usernames.map((username) => ({ username, owner: 'tenant' })), malformed: [] },
})
const failed = (problem: string) => ({
  ok: false,
  cause: {
    reason: 'FieldValueInvalid',
    field: FIELD,
    message: `ApplicationDefinition "postgres": the expression ${problem}`,
  },
})

const users = [{ name: 'web', login: true }, { name: 'App_User' }, { name: 'ä.b', login: false }]
const many = (count: number) => Array.from({ length: count }, (_, index) => `user${index}`)

describe('what an expression returns', () => {
  test.each<[string, Json, readonly string[]]>([
    ['spec.users.map(u, u.name)', { users }, ['web', 'App_User', 'ä.b']],
    ["spec.users.map(u, {'name': u.name})", { users }, ['web', 'App_User', 'ä.b']],
    ["has(spec.users) ? spec.users.map(u, u.name) : ['app']", {}, ['app']],
    ['spec.users.filter(u, u in spec.open).map(u, u)', { users: ['a', 'b'], open: ['b'] }, ['b']],
    ['spec.users.map(name, name)', { users: { web: {}, app: null } }, ['web', 'app']],
    ["spec.replicas > 1 ? ['replica'] : []", { replicas: 3 }, ['replica']],
    [
      "['ns-' + metadata.namespace, metadata.name, metadata.labels.team]",
      {},
      ['ns-tenant-acme', 'postgres-orders', 'orders'],
    ],
    ['[]', {}, []],
  ])('%s', async (expression, values, usernames) => {
    expect(await resolve(expression, values)).toEqual(tenants(...usernames))
  })

  test('may give each account its username and its owner', async () => {
    const expression =
      "[{'name': 'app'}, {'name': 'x', 'username': 'App_User'}, {'name': 'root', 'owner': 'platform'}]"
    expect(await resolve(expression)).toEqual({
      ok: true,
      value: {
        accounts: [
          { username: 'app', owner: 'tenant' },
          { username: 'App_User', owner: 'tenant' },
          { username: 'root', owner: 'platform' },
        ],
        malformed: [],
      },
    })
  })

  test.each([
    ["'app'", 'returns no list'],
    ["{'app': {}}", 'returns no list'],
    ['[1]', 'returns a list whose entry 0 is neither a username nor a map with a name'],
    ["['app', null]", 'returns a list whose entry 1 is neither a username nor a map with a name'],
    ["[['app']]", 'returns a list whose entry 0 is neither a username nor a map with a name'],
    ['[type(1)]', 'returns a list whose entry 0 is neither a username nor a map with a name'],
    ["[{'user': 'app'}]", 'returns a list whose entry 0 is neither a username nor a map with a name'],
    ["[{'name': 7}]", 'returns a list whose entry 0 has a username that is no text'],
    ["[{'name': 'a', 'username': []}]", 'returns a list whose entry 0 has a username that is no text'],
    [
      "[{'name': 'a', 'owner': 'Platform'}]",
      'returns a list whose entry 0 has an owner that is neither tenant nor platform',
    ],
    [
      "[{'name': 'a', 'owner': 5}]",
      'returns a list whose entry 0 has an owner that is neither tenant nor platform',
    ],
    [
      "[{'name': 'root', 'onwer': 'platform'}]",
      'returns a list whose entry 0 has other fields than name, username, owner',
    ],
  ])('is refused as a whole: %s', async (expression, problem) => {
    expect(await resolve(expression)).toEqual(failed(problem))
  })

  test('is held to what usernames may be, each for itself', async () => {
    const rules = rulesOf(blockOf("['web', 'a\\tb', '']"))
    expect(await resolveDeclared(rules, releaseWith({}))).toMatchObject({
      accounts: [{ username: 'web' }],
      malformed: [{ username: 'a\tb' }, { username: '' }],
      complete: false,
    })
  })
})

describe('EXT-03: a field that one entry lacks', () => {
  const values = { users: [{ name: 'web', login: true }, { name: 'app' }] }

  test('is an error of the source, and never an empty list', async () => {
    const expression = 'spec.users.filter(u, u.login)'
    expect(await resolve(expression, values)).toEqual(failed('finds no field "login" (line 1, character 23)'))
    const declared = await resolveDeclared(rulesOf(blockOf(expression)), releaseWith(values))
    expect(declared).toMatchObject({ accounts: [], complete: false, causes: [{ field: FIELD }] })
    expect(findAccount(declared, { release: 'postgres-orders', account: 'web' })).toMatchObject({
      failure: { reason: 'account_invalid', causes: [{ field: FIELD }] },
    })
  })

  test('may be asked for first', async () => {
    const expression = 'spec.users.filter(u, has(u.login) && u.login).map(u, u.name)'
    expect(await resolve(expression, values)).toEqual(tenants('web'))
  })
})

describe('what goes wrong for a release is said without its values', () => {
  const values = { secret: 's3cret', n: 5, zero: 0, users: [] }
  test.each([
    ['[spec.nope]', 'finds no field "nope" (line 1, character 6)'],
    ['spec[spec.secret]', 'finds no such field (line 1, character 1)'],
    ['[spec.constructor]', 'finds no field "constructor" (line 1, character 6)'],
    ['[spec.__proto__]', 'finds no field "__proto__" (line 1, character 6)'],
    ['[spec.users[3]]', 'asks for an entry that is not there (line 1, character 2)'],
    ['[spec.n / spec.zero]', 'divides by zero'],
    ['[int(spec.secret)]', 'cannot be evaluated (line 1, character 2)'],
    ['[bool(spec.secret)]', 'cannot be evaluated (line 1, character 2)'],
    ["'a'.matches(spec.secret + '(') ? ['a'] : []", 'cannot be evaluated (line 1, character 4)'],
    ['{spec.secret: 1, spec.secret: 2}', 'cannot be evaluated (line 1, character 1)'],
    ["[spec.n + 'a']", 'applies an operator or a function to (int, string) (line 1, character 9)'],
    ["spec.n ? ['a'] : ['b']", 'applies an operator or a function to (int) (line 1, character 1)'],
    ['spec.n.map(x, x)', 'finds int where it cannot use one (line 1, character 7)'],
  ])('%s', async (expression, problem) => {
    expect(await resolve(expression, values)).toEqual(failed(problem))
  })
})

describe('EXT-05: an expression that does not compile is the definition’s mistake, with its position', () => {
  test.each([
    ['spec.users.map(', 'is no CEL expression (line 1, character 11)'],
    ['spec.users.map(u,\n  v.name)', 'unknown name "v" (line 2, character 3)'],
    ["install == 'x'", 'unknown name "install" (line 1, character 1)'],
    ['values.users', 'unknown name "values" (line 1, character 1)'],
    ['constructor', 'unknown name "constructor" (line 1, character 1)'],
    ['nosuch(1)', 'unknown function "nosuch" (line 1, character 1)'],
    ['has([1])', 'unknown function "has" (line 1, character 1)'],
    [
      "google.protobuf.Value{string_value: 'a'}",
      'unknown type "google.protobuf.Value" (line 1, character 1)',
    ],
    ['@turns([1], 0)', 'is no CEL expression (line 1, character 1)'],
    ['('.repeat(2000), 'nests too deep'],
    [`${'['.repeat(2000)}1${']'.repeat(2000)}`, 'nests too deep'],
    [`${'['.repeat(200)}1${']'.repeat(200)}`, 'nests deeper than 100'],
    [`${'true ? 1 : '.repeat(300)}1`, 'nests deeper than 100'],
  ])('%s', async (expression, problem) => {
    const [bound] = rulesOf(blockOf(expression)).sources
    expect(await bound?.resolve(inputWith({}))).toMatchObject({
      ok: false,
      failure: { reason: 'definition_wrong', definition: 'postgres', field: FIELD, problem },
    })
    expect(await bound?.check?.()).toEqual({ field: FIELD, problem })
  })

  test('a source of a megabyte is not even parsed', () => {
    expect(parseRules(definitionWith(blockOf(`['${'a'.repeat(1_000_000)}']`)))).toMatchObject({
      failure: { reason: 'definition_wrong', field: FIELD, problem: 'is longer than 4096 characters' },
    })
  })

  test('is what a mint is answered, and leaves nothing declared completely', async () => {
    const declared = await resolveDeclared(rulesOf(blockOf('nosuch(1)')), releaseWith({}))
    expect(declared).toMatchObject({ accounts: [], complete: false, causes: [{ field: FIELD }] })
    expect(findAccount(declared, { release: 'postgres-orders', account: 'web' })).toMatchObject({
      failure: { reason: 'definition_wrong', field: FIELD },
    })
  })

  test('one that compiles has nothing wrong, with names that begin like keywords too', async () => {
    const expression = "spec.installed.filter(input, input != 'x').map(inner, inner)"
    const [bound] = rulesOf(blockOf(expression)).sources
    expect(await bound?.check?.()).toBeUndefined()
    expect(await bound?.resolve(inputWith({ installed: ['x', 'y'] }))).toEqual(tenants('y'))
  })
})

describe('EXT-05: an expression that costs too much is stopped', () => {
  const text = 'a'.repeat(1_000_000)
  const values = { big: many(100_000), list: many(2000), text, word: 'a'.repeat(60) }
  const STEPS = 'takes more than 10000 steps'
  const nested = 'spec.list.map(a, spec.list.map(b, spec.list.map(c, spec.list.map(d, a))))'
  const doubled = (start: string, times: number) => `${start}${'.map(x, x + x)'.repeat(times)}`
  const paired = `[[1]]${'.map(x, [x, x])'.repeat(25)}`

  test.each([
    ['loops in loops', nested, STEPS],
    ['that an error is swallowed of', `${nested} == [] || true ? ['a'] : ['b']`, STEPS],
    ['a loop over a huge list', "spec.big.map(x, 'a')", STEPS],
    ['a loop that stops at once, over and over', 'spec.list.filter(x, spec.big.exists(y, true))', STEPS],
    ['a search in a huge list', 'spec.list.map(x, x in spec.big)', STEPS],
    ['comparing everything', 'spec.list.map(x, spec == spec)', STEPS],
    ['comparing what is shared', `${paired}.map(x, x == x)`, STEPS],
    ['long texts', "spec.list.map(x, spec.text.contains('aaab'))", STEPS],
    ['a long body', `spec.list.map(x, [${'1, '.repeat(1000)}1])`, STEPS],
    ['a large pattern', `[spec.word.matches('${'a{1000}'.repeat(400)}')]`, STEPS],
    ['a pattern that repeats without end', "spec.list.filter(x, spec.text.matches('(a.{900,}[cd])'))", STEPS],
    [
      'a pattern that repeats up to often',
      "spec.list.filter(x, spec.text.matches('(a.{1,900}[cd])'))",
      STEPS,
    ],
    ['a text that doubles', doubled("['aaaa']", 40), 'makes a text of more than 65536 characters'],
    ['a list that doubles', doubled('[[1]]', 40), 'makes a list of more than 10000 entries'],
    ['a list of ten million', doubled('[spec.big]', 7), 'makes a list of more than 10000 entries'],
    ['a result that is too long', 'spec.list', 'returns more than 1000 entries'],
  ])('%s', async (_, expression, problem) => {
    expect(await resolve(expression, values)).toEqual(failed(problem))
  })

  test('a pattern that makes others backtrack is matched like any other', async () => {
    expect(await resolve("[spec.word + 'b'].filter(x, x.matches('^(a+)+$'))", values)).toEqual(tenants())
  })

  test('what an application may want is not', async () => {
    const users = many(256)
    const expression =
      "spec.users.filter(u, u in spec.open && u.matches('^[a-z][a-z0-9_]*$')).map(u, {'name': u})"
    expect(await resolve(expression, { users, open: users })).toEqual(tenants(...users))
  })

  test('the next evaluation starts anew', async () => {
    const [bound] = rulesOf(blockOf("spec.list.map(x, 'a' + x)")).sources
    const list = many(1000)
    expect(await bound?.resolve(inputWith({ list: many(20_000) }))).toEqual(failed(STEPS))
    expect(await bound?.resolve(inputWith({ list }))).toEqual(tenants(...list.map((name) => `a${name}`)))
  })

  test('a map of very many keys, which is searched for each that is a number, is not looked at', async () => {
    const users = Object.fromEntries(many(501).map((name) => [name, {}]))
    expect(await resolve("1 in spec.users ? ['a'] : []", { users })).toEqual(
      failed('is given a map of more than 500 keys'),
    )
  })

  test('entries that are no accounts are not read through', async () => {
    const wide = Object.fromEntries(many(11).map((name) => [name, 'x']))
    expect(await resolve('[spec]', wide)).toEqual(
      failed('returns a list whose entry 0 is neither a username nor a map with a name'),
    )
  })

  test('values that nest deep are an error, not a crash', async () => {
    const deep = JSON.parse(`{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`)
    expect(await resolve("['app']", deep)).toEqual(failed('is given values that nest too deep'))
  })
})
