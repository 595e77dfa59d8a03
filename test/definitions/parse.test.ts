import { describe, expect, test } from 'vitest'
import { parseRules } from '../../src/definitions/parse.ts'
import { formats } from '../../src/formats/index.ts'
import { postgres, served, wrong } from './blocks.ts'
import { CALLED } from './blocks-webhook.ts'
import { definitionWith, rulesOf } from './definition.ts'

const ANNOTATION = 'credentials.cozystack.io/definition'
const annotated = (block: unknown) => ({ annotations: { [ANNOTATION]: JSON.stringify(block) } })

const wrongAt = (field: string) => ({
  ok: false,
  failure: { reason: 'definition_wrong', definition: 'postgres', field },
})

describe('a block', () => {
  test('that is not there leaves the kind unserved', () => {
    expect(parseRules(definitionWith(undefined))).toEqual({ ok: true, value: undefined })
  })

  test('is read whole', () => {
    expect(
      rulesOf({ ...postgres, valuesPath: '_accounts' }, { openAPISchema: '{"title":"t"}' }),
    ).toMatchObject({
      definition: 'postgres',
      format: formats.get('scram-sha-256'),
      secretLabels: { 'cnpg.io/reload': 'true' },
      valuesPath: '_accounts',
      sources: [{ kind: 'ValuesMap' }, { kind: 'Static' }],
      schema: { title: 't' },
    })
  })

  test.each(served)('is accepted: %s', (_, block) => {
    expect(parseRules(definitionWith(block), CALLED)).toMatchObject({
      ok: true,
      value: { definition: 'postgres' },
    })
  })

  test.each(wrong)('is refused when it $why', ({ block, field }) => {
    expect(parseRules(definitionWith(block), CALLED)).toMatchObject(wrongAt(`spec.credentials${field}`))
  })

  test('SEC-14: gives labels as texts, and never a boolean', () => {
    expect(rulesOf(postgres).secretLabels).toEqual({ 'cnpg.io/reload': 'true' })
    const block = { ...postgres, secretLabels: { 'cnpg.io/reload': true } }
    expect(parseRules(definitionWith(block))).toMatchObject(
      wrongAt('spec.credentials.secretLabels["cnpg.io/reload"]'),
    )
  })

  test('VER-14: with an option that its format does not have names the option', () => {
    const block = { ...postgres, format: { name: 'sha256', algorithm: 'sha512' } }
    expect(parseRules(definitionWith(block))).toMatchObject(wrongAt('spec.credentials.format.algorithm'))
  })

  test('keeps a schema that is no JSON from being anything', () => {
    expect(rulesOf(postgres, { openAPISchema: '{' }).schema).toBeUndefined()
  })
})

describe('the annotation', () => {
  test('stands in where the field is pruned', () => {
    expect(parseRules(definitionWith(undefined, annotated(postgres)))).toMatchObject({
      ok: true,
      value: { format: { name: 'scram-sha-256' } },
    })
  })

  test('may say the same as the field, in another order', () => {
    const { format, ...rest } = postgres
    expect(parseRules(definitionWith(postgres, annotated({ ...rest, format })))).toMatchObject({ ok: true })
  })

  test.each([
    ['says something else', JSON.stringify({ ...postgres, format: { name: 'sha256' } })],
    [
      'has the sources in another order',
      JSON.stringify({ ...postgres, accounts: postgres.accounts.toReversed() }),
    ],
    ['is no JSON', '{format: sha256}'],
    ['is no object', '[]'],
    ['is null', 'null'],
    ['is empty', ''],
  ])('beside a field is refused when it %s', (_, text) => {
    expect(parseRules(definitionWith(postgres, { annotations: { [ANNOTATION]: text } }))).toMatchObject(
      wrongAt(`metadata.annotations[${ANNOTATION}]`),
    )
  })

  test('is refused when it gives a field twice, of which a parser keeps one', () => {
    const text = JSON.stringify(postgres).replace('{', '{"accounts":[{"kind":"Static","name":"app"}],')
    expect(parseRules(definitionWith(undefined, { annotations: { [ANNOTATION]: text } }))).toMatchObject({
      failure: { field: `metadata.annotations[${ANNOTATION}]`, problem: 'gives accounts twice' },
    })
  })

  test.each(wrong)('is held to the same rules: refused when it $why', ({ block, field }) => {
    const at = Array.isArray(block) ? `metadata.annotations[${ANNOTATION}]` : `spec.credentials${field}`
    expect(parseRules(definitionWith(undefined, annotated(block)), CALLED)).toMatchObject(wrongAt(at))
  })
})

test('a definition that shows account Secrets to tenants is refused', () => {
  const secrets = { include: [{ matchLabels: { 'cnpg.io/reload': 'true' } }] }
  expect(parseRules(definitionWith(postgres, { secrets }))).toMatchObject(wrongAt('spec.secrets'))
})

test('a definition without a block may show what it likes', () => {
  expect(parseRules(definitionWith(undefined, { secrets: { include: [{}] } }))).toEqual({
    ok: true,
    value: undefined,
  })
})

test.each([
  [
    'sixty-five sources',
    Array.from({ length: 65 }, (_, i) => ({ kind: 'Static', name: `u${i}` })),
    'must have at most 64 items',
  ],
  [
    'five expressions',
    Array.from({ length: 5 }, () => ({ kind: 'Expression', expression: "['a']" })),
    'must have at most 4 expressions',
  ],
])('%s are too many: each is asked for every release', (_, accounts, problem) => {
  expect(parseRules(definitionWith({ ...postgres, accounts }))).toMatchObject({
    ok: false,
    failure: { reason: 'definition_wrong', field: 'spec.credentials.accounts', problem },
  })
})

test('an unknown field is quoted when it could write lines of its own', () => {
  expect(parseRules(definitionWith({ ...postgres, 'red\nfake': 1 }))).toMatchObject({
    failure: { field: 'spec.credentials["red\\nfake"]' },
  })
})
