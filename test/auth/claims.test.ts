import { describe, expect, test } from 'vitest'
import type { IssuerConfig } from '../../src/auth/authentication-config.ts'
import { callerFrom } from '../../src/auth/claims.ts'
import { issuerConfig } from './fake-issuer.ts'

const callerOf = (claims: object, rules: Partial<IssuerConfig> = {}) =>
  callerFrom({ sub: 'alice', ...claims }, { ...issuerConfig, ...rules })
const refused = { ok: false, failure: { reason: 'unauthenticated' } }

describe('username', () => {
  test.each([
    { claims: { sub: 'alice' }, mapping: { claim: 'sub', prefix: '' }, username: 'alice' },
    { claims: { sub: 'alice' }, mapping: { claim: 'sub', prefix: 'oidc:' }, username: 'oidc:alice' },
    {
      claims: { sub: 'alice' },
      mapping: { claim: 'sub', prefix: 'https://idp.example#' },
      username: 'https://idp.example#alice',
    },
    { claims: { email: 'a@b.example' }, mapping: { claim: 'email', prefix: '' }, username: 'a@b.example' },
    // In this file, unlike in --oidc-username-prefix, a hyphen is a prefix like any other.
    { claims: { sub: 'alice' }, mapping: { claim: 'sub', prefix: '-' }, username: '-alice' },
  ])('TOK-06: $claims by $mapping is $username', ({ claims, mapping, username }) => {
    expect(callerOf(claims, { username: mapping })).toMatchObject({ ok: true, value: { username } })
  })

  test.each(['', undefined, null, 7, ['alice'], { name: 'alice' }])('refuses %j as username', (sub) => {
    expect(callerOf({ sub })).toMatchObject(refused)
    expect(callerOf({ sub }, { username: { claim: 'sub', prefix: 'oidc:' } })).toMatchObject(refused)
  })

  test.each([
    ['false', { email_verified: false }, false],
    ['absent', {}, true],
    ['true', { email_verified: true }, true],
    ['null', { email_verified: null }, false],
    ['a text', { email_verified: 'true' }, false],
  ])('TOK-08: an email whose email_verified is %s', (_, claims, ok) => {
    const rules = { username: { claim: 'email', prefix: '' } }
    expect(callerOf({ email: 'a@b.example', ...claims }, rules).ok).toBe(ok)
  })

  test('TOK-08: email_verified says nothing about another claim', () => {
    expect(callerOf({ email_verified: false })).toMatchObject({ ok: true })
  })

  test('reads own claims only', () => {
    expect(callerOf({}, { username: { claim: 'constructor', prefix: '' } })).toMatchObject(refused)
    expect(
      callerOf(JSON.parse('{"__proto__": "eve"}'), { username: { claim: '__proto__', prefix: '' } }),
    ).toMatchObject({ ok: true, value: { username: 'eve' } })
  })
})

describe('groups', () => {
  test.each([
    { groups: 'db-admins', expected: ['db-admins', 'system:authenticated'] },
    { groups: ['db-admins', 'db-admins'], expected: ['db-admins', 'system:authenticated'] },
    { groups: ['b', 'a'], expected: ['b', 'a', 'system:authenticated'] },
    { groups: undefined, expected: ['system:authenticated'] },
    { groups: null, expected: ['system:authenticated'] },
    { groups: [], expected: ['system:authenticated'] },
    { groups: '', expected: ['system:authenticated'] },
    { groups: ['a, system:masters'], expected: ['a, system:masters', 'system:authenticated'] },
  ])('TOK-04: $groups is $expected', ({ groups, expected }) => {
    expect(callerOf({ groups })).toMatchObject({ ok: true, value: { groups: expected } })
  })

  test('TOK-06: every group gets the prefix', () => {
    const rules = { groups: { claim: 'roles', prefix: 'oidc:' } }
    expect(callerOf({ roles: ['a', 'b'], groups: ['c'] }, rules)).toMatchObject({
      ok: true,
      value: { groups: ['oidc:a', 'oidc:b', 'system:authenticated'] },
    })
  })

  test('an empty group stays none when there is a prefix', () => {
    const rules = { groups: { claim: 'groups', prefix: 'oidc:' } }
    expect(callerOf({ groups: ['', 'a'] }, rules)).toMatchObject({
      value: { groups: ['oidc:a', 'system:authenticated'] },
    })
  })

  test('without a mapping the claim means nothing', () => {
    expect(callerOf({ groups: ['a'] }, { groups: undefined })).toMatchObject({
      value: { groups: ['system:authenticated'] },
    })
  })

  test.each([7, { a: 1 }, [7], ['a', null], [['a']]])('refuses a token whose groups are %j', (groups) => {
    expect(callerOf({ groups })).toMatchObject(refused)
  })
})

describe('names of Kubernetes itself', () => {
  const names = ['system:admin', 'system:masters', 'system:authenticated', 'system:', 'system:node:a']
  test.each(names)('refuses the token for the username %s', (sub) => {
    expect(callerOf({ sub })).toMatchObject(refused)
  })
  test.each(names)('refuses the token for one group %s among others', (group) => {
    expect(callerOf({ groups: ['a', group] })).toMatchObject(refused)
    expect(callerOf({ groups: group })).toMatchObject(refused)
  })
  test('refuses one that a prefix completes', () => {
    const rules = { username: { claim: 'sub', prefix: 'sys' }, groups: { claim: 'groups', prefix: 'system' } }
    expect(callerOf({ sub: 'tem:admin' }, rules)).toMatchObject(refused)
    expect(callerOf({ groups: ':masters' }, rules)).toMatchObject(refused)
  })
  test('a prefix makes such a name harmless', () => {
    const rules = { username: { claim: 'sub', prefix: 'oidc:' } }
    expect(callerOf({ sub: 'system:admin' }, rules)).toMatchObject({
      value: { username: 'oidc:system:admin' },
    })
  })
})

describe('names that would read differently elsewhere', () => {
  const names = [
    ' jane',
    'jane ',
    '\tjane',
    'jane\n',
    'ja\u0000ne',
    'ja\nne',
    'jane\u007f',
    '\u00a0jane',
    ' ',
    'a\ud800',
  ]
  test.each(names)('refuses %j as username, group and uid', (name) => {
    expect(callerOf({ sub: name })).toMatchObject(refused)
    expect(callerOf({ sub: name }, { username: { claim: 'sub', prefix: 'oidc:' } })).toMatchObject(refused)
    expect(callerOf({ groups: ['a', name] })).toMatchObject(refused)
    expect(callerOf({ uid: name }, { uid: 'uid' })).toMatchObject(refused)
  })
  test('accepts white space inside, and other scripts', () => {
    expect(callerOf({ sub: 'Jane Doe', groups: ['Größen', '数据库'] })).toMatchObject({
      value: { username: 'Jane Doe', groups: ['Größen', '数据库', 'system:authenticated'] },
    })
  })
})

describe('uid', () => {
  test('is the mapped claim', () => {
    expect(callerOf({ oid: '42' }, { uid: 'oid' })).toMatchObject({ value: { uid: '42' } })
    expect(callerOf({ oid: '42' })).toMatchObject({ value: { uid: undefined } })
  })
  test.each([undefined, null, '', 42])('refuses the token when it is %j', (oid) => {
    expect(callerOf({ oid }, { uid: 'oid' })).toMatchObject(refused)
  })
})

describe('required claims', () => {
  const rules = { requiredClaims: new Map([['hd', 'acme.example']]) }
  test('accepts the required value', () => {
    expect(callerOf({ hd: 'acme.example' }, rules)).toMatchObject({ ok: true })
  })
  test.each(['other.example', undefined, null, ['acme.example'], ''])('refuses %j', (hd) => {
    expect(callerOf({ hd }, rules)).toMatchObject(refused)
  })
  test('a required empty text is not met by an absent claim', () => {
    const empty = { requiredClaims: new Map([['hd', '']]) }
    expect(callerOf({ hd: '' }, empty)).toMatchObject({ ok: true })
    expect(callerOf({}, empty)).toMatchObject(refused)
  })
})

test.each(['kubernetes.io', 'kubernetes.io/serviceaccount/namespace'])(
  'refuses a ServiceAccount token, known by the claim %s',
  (claim) => {
    expect(callerOf({ [claim]: {} })).toMatchObject(refused)
  },
)
