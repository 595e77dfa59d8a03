import { expect, test } from 'vitest'
import { findAccount } from '../../src/credentials/accounts.ts'
import {
  accountNameOf,
  credentialNameOf,
  credentialOfSecret,
  parseCredentialName,
  secretNameOf,
} from '../../src/credentials/naming.ts'
import type { Declarations } from '../../src/definitions/resolve.ts'

const declaring = (...usernames: readonly string[]): Declarations => ({
  accounts: usernames.map((username) => ({ username, owner: 'tenant' })),
  malformed: [],
  causes: [],
  complete: true,
  valuesFrom: [],
})

test.each([
  ['web', 'web'],
  ['prometheus_exporter', 'prometheus-exporter'],
  ['AppUser', 'appuser'],
  ['svc@corp', 'svc-corp'],
  ['a.b', 'a-b'],
  ['a b', 'a-b'],
  ['007', '007'],
  // By code point: one dash, though UTF-16 has two units.
  ['a😀b', 'a-b'],
  // ASCII lower case only: the Kelvin sign, a dotted capital I and an umlaut are no letters here.
  ['\u212a', '-'],
  ['İstanbul', '-stanbul'],
  ['Ärger', '-rger'],
  ['straße', 'stra-e'],
])('NAM-01: the account of user %j is called %j', (username, account) => {
  expect(accountNameOf(username)).toBe(account)
})

test.each(['prometheus_exporter', 'AppUser', 'svc@corp'])(
  'NAM-01: user %j is found by the name that its account has, and by no other',
  (username) => {
    const name = { release: 'pg', account: accountNameOf(username) }
    expect(parseCredentialName(credentialNameOf(name))).toEqual(name)
    expect(findAccount(declaring(username), name)).toEqual({ ok: true, value: { username, owner: 'tenant' } })
    expect(findAccount(declaring(username), { release: 'pg', account: username })).toMatchObject({
      ok: false,
    })
  },
)

test('NAM-01: two users that map to one name are both refused, by their names', () => {
  for (const pair of [
    ['AppUser', 'appuser'],
    ['svc@corp', 'svc_corp'],
  ] as const) {
    const name = { release: 'pg', account: accountNameOf(pair[0]) }
    expect(findAccount(declaring('web', ...pair), name)).toEqual({
      ok: false,
      failure: { reason: 'accounts_collide', name: credentialNameOf(name), usernames: pair },
    })
    expect(findAccount(declaring('web', ...pair), { release: 'pg', account: 'web' })).toMatchObject({
      ok: true,
    })
  }
})

test('NAM-03: a dot in a username never moves the border between release and account', () => {
  const ofPg = { release: 'pg', account: accountNameOf('a.b') }
  expect(credentialNameOf(ofPg)).toBe('pg.a-b')
  expect(secretNameOf(ofPg)).toBe('pg.a-b.account')
  // The name that both would have had with plain joining belongs to neither of them.
  const joined = parseCredentialName('pg.a.b')
  expect(joined).toEqual({ release: 'pg', account: 'a.b' })
  if (joined !== undefined) expect(findAccount(declaring('a.b'), joined)).toMatchObject({ ok: false })
})

test.each(['-app', 'app-', '@corp', 'corp@', ' app', 'app\n', '\u200b', '_'])(
  'NAM-07: the user %j has no valid name, and none is trimmed into one',
  (username) => {
    const account = accountNameOf(username)
    expect(account).toHaveLength([...username].length)
    expect(parseCredentialName(credentialNameOf({ release: 'pg', account }))).toBeUndefined()
  },
)

test.each(['', '.', '..', 'a..b', 'app.'])(
  'NAM-07: the user %j reaches no route as it is written',
  (username) => {
    expect(parseCredentialName(`pg.${username}`)).toBeUndefined()
  },
)

test.each([
  ['postgres-orders.web', { release: 'postgres-orders', account: 'web' }],
  ['tenant-root.etcd', { release: 'tenant-root', account: 'etcd' }],
  ['a.b', { release: 'a', account: 'b' }],
  ['a.b.c', { release: 'a', account: 'b.c' }],
  ['a.account', { release: 'a', account: 'account' }],
])('the name %s splits at its first dot', (name, parts) => {
  expect(parseCredentialName(name)).toEqual(parts)
  expect(credentialNameOf(parts)).toBe(name)
  expect(credentialOfSecret(`${name}.account`)).toEqual(parts)
})

test.each([
  '',
  'web',
  '.web',
  'orders.',
  'orders..web',
  '-orders.web',
  'orders-.web',
  'Orders.web',
  'orders.we_b',
  '__proto__.x',
])('the name %j is no credential', (name) => {
  expect(parseCredentialName(name)).toBeUndefined()
  expect(credentialOfSecret(`${name}.account`)).toBeUndefined()
})

test('the Secret of a credential may have 253 characters and no more', () => {
  const longest = `${'a'.repeat(53)}.${'b'.repeat(253 - 54 - '.account'.length)}`
  expect(parseCredentialName(longest)).toBeDefined()
  expect(parseCredentialName(`${longest}b`)).toBeUndefined()
})

test.each(['postgres-orders.web', 'postgres-orders.tenant-ca', 'account', '.account', 'orders.account'])(
  'the Secret %j is of no account',
  (secretName) => {
    expect(credentialOfSecret(secretName)).toBeUndefined()
  },
)
