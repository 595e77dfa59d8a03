import { describe, expect, test } from 'vitest'
import type { Json } from '../../../src/core/json.ts'
import { inputWith, rulesOf } from '../definition.ts'

function resolve(source: Json, values: Json = {}, schema?: Json) {
  const block = { format: { name: 'sha256' }, accounts: [{ kind: 'Static', name: 'default', ...source }] }
  const [bound] = rulesOf(block).sources
  return bound?.resolve(inputWith(values, schema))
}
const declared = { ok: true, value: { accounts: [{ username: 'default', owner: 'tenant' }], malformed: [] } }
const absent = { ok: true, value: { accounts: [], malformed: [] } }

test('every application has the account', async () => {
  expect(await resolve({})).toEqual(declared)
})

test('the account may be the platform’s', async () => {
  expect(await resolve({ owner: 'platform' })).toMatchObject({ value: { accounts: [{ owner: 'platform' }] } })
})

describe('a setting decides', () => {
  test.each([
    ['true', { authEnabled: true }, declared],
    ['false', { authEnabled: false }, absent],
    ['null', { authEnabled: null }, absent],
    ['nothing', {}, declared],
  ])('and says %s', async (_, values, answer) => {
    expect(await resolve({ when: 'authEnabled' }, values)).toEqual(answer)
  })

  test.each([['true'], [1], [0], [''], [[]], [{}]])('and fails when it says %j', async (authEnabled) => {
    expect(await resolve({ when: 'authEnabled' }, { authEnabled })).toMatchObject({
      ok: false,
      cause: { reason: 'FieldValueTypeInvalid', field: 'spec.values.authEnabled' },
    })
  })

  test('and a null above it switches it off, as it does for the chart', async () => {
    expect(await resolve({ when: 'auth.enabled' }, { auth: null })).toEqual(absent)
  })

  test('and something else above it fails, and names the place', async () => {
    expect(await resolve({ when: 'auth.enabled' }, { auth: 'on' })).toMatchObject({
      ok: false,
      cause: { field: 'spec.values.auth' },
    })
  })
})

describe('an absent setting takes the default of the schema', () => {
  const enabled = (value: unknown) => ({ properties: { enabled: { type: 'boolean', default: value } } })
  const auth = (schema: Json) => ({ properties: { auth: { type: 'object', ...schema } } })

  test.each<[string, Json, Json, Json]>([
    ['its own', {}, auth(enabled(false)), absent],
    ['its own, true', {}, auth(enabled(true)), declared],
    ['that of the map above', {}, auth({ default: { enabled: false } }), absent],
    [
      'that of the map above, when the map is there without it',
      { auth: {} },
      auth({ default: { enabled: false } }),
      absent,
    ],
    [
      'that of the map above before its own',
      {},
      auth({ ...enabled(true), default: { enabled: false } }),
      absent,
    ],
    [
      'its own where the map is there',
      { auth: {} },
      auth({ ...enabled(true), default: { enabled: false } }),
      declared,
    ],
    ['that of the whole', {}, { default: { auth: { enabled: false } } }, absent],
    ['none', {}, auth({ properties: { enabled: { type: 'boolean' } } }), declared],
    ['null, which is none', {}, auth(enabled(null)), declared],
    ['none, for a property of every object', {}, { properties: {} }, declared],
  ])('%s', async (_, values, schema, answer) => {
    expect(await resolve({ when: 'auth.enabled' }, values, schema)).toEqual(answer)
  })

  test('and a setting that is there takes none', async () => {
    expect(
      await resolve({ when: 'auth.enabled' }, { auth: { enabled: true } }, auth(enabled(false))),
    ).toEqual(declared)
  })

  test('and fails on one that is no boolean', async () => {
    expect(await resolve({ when: 'auth.enabled' }, {}, auth(enabled('yes')))).toMatchObject({ ok: false })
  })
})
