import { describe, expect, test } from 'vitest'
import { parseRules } from '../../src/definitions/parse.ts'
import { postgres } from './blocks.ts'
import { definitionWith, rulesOf } from './definition.ts'

/** Where a chart from before keeps a password: the name of the Secret, and the key. */
const placeOf = (legacy: unknown, release = 'postgres-orders', username = 'web') => {
  const rules = rulesOf({ ...postgres, ...(legacy === undefined ? {} : { legacy }) })
  return [rules.legacy.secretName(release), rules.legacy.key(username)]
}

describe('old passwords are', () => {
  test.each<[string, unknown, readonly [string, string]]>([
    ["where the platform's charts put them", undefined, ['postgres-orders-credentials', 'web']],
    ['there too when the block says nothing', {}, ['postgres-orders-credentials', 'web']],
    ['there too when it says null', null, ['postgres-orders-credentials', 'web']],
    ['under another name', { secretName: '{release}-auth' }, ['postgres-orders-auth', 'web']],
    ['under one key', { key: 'password' }, ['postgres-orders-credentials', 'password']],
    [
      'under another name and one key',
      { secretName: 'x.{release}', key: 'redis-password' },
      ['x.postgres-orders', 'redis-password'],
    ],
    ['in one Secret for all', { secretName: 'shared' }, ['shared', 'web']],
    [
      'in a name that holds the release twice',
      { secretName: '{release}.{release}' },
      ['postgres-orders.postgres-orders', 'web'],
    ],
  ])('%s', (_, legacy, expected) => {
    expect(placeOf(legacy)).toEqual(expected)
  })

  test.each(['__proto__', 'constructor', '$&', 'a.b', 'é'])('under the username as it is: %s', (username) => {
    expect(placeOf(undefined, 'r', username)).toEqual(['r-credentials', username])
  })
})

describe('a place that is none makes the block wrong', () => {
  test.each<[string, unknown, string]>([
    ['a text', 'x', 'legacy'],
    ['a list', [], 'legacy'],
    ['a field that nobody knows', { secret: 'x' }, 'legacy.secret'],
    ['a name in capitals', { secretName: '{release}-AUTH' }, 'legacy.secretName'],
    ['an empty name', { secretName: '' }, 'legacy.secretName'],
    ['a path', { secretName: '../{release}' }, 'legacy.secretName'],
    ['another placeholder', { secretName: '{name}-auth' }, 'legacy.secretName'],
    ['a placeholder with blanks', { secretName: '{ release }' }, 'legacy.secretName'],
    ['a number for a name', { secretName: 7 }, 'legacy.secretName'],
    [
      'a name that is too long for some releases',
      { secretName: `{release}-${'x'.repeat(190)}` },
      'legacy.secretName',
    ],
    ['an empty key', { key: '' }, 'legacy.key'],
    // `k8s.io/apimachinery/pkg/util/validation`, IsConfigMapKey.
    ['a key with a slash', { key: 'a/b' }, 'legacy.key'],
    ['a key with a brace', { key: '{username}' }, 'legacy.key'],
    ['a key of 254 characters', { key: 'k'.repeat(254) }, 'legacy.key'],
    ['a list of keys', { key: ['a'] }, 'legacy.key'],
  ])('%s', (_, legacy, field) => {
    expect(parseRules(definitionWith({ ...postgres, legacy }))).toMatchObject({
      ok: false,
      failure: { reason: 'definition_wrong', definition: 'postgres', field: `spec.credentials.${field}` },
    })
  })

  test('and the longest that is none too many is one', () => {
    const [name] = placeOf({ secretName: `{release}-${'x'.repeat(189)}` }, 'r'.repeat(63))
    expect(name).toHaveLength(253)
  })
})
