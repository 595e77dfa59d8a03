import { describe, expect, test } from 'vitest'
import { type FileDefinition, kindsToConvert } from '../../src/conversion/definitions.ts'
import type { ApplicationDefinition } from '../../src/k8s/objects.ts'
import { fileDefinitions } from './hook-place.ts'

const HOSTS = ['.svc']
const [postgres] = fileDefinitions('Postgres') as [FileDefinition]

/** The definition with another spec. */
const withSpec = (
  { definition, ...rest }: FileDefinition,
  spec: object,
  name = definition.metadata.name,
): FileDefinition => ({
  ...rest,
  definition: { metadata: { name }, spec: { ...definition.spec, ...spec } },
})

const withBlock = (block: object): FileDefinition => withSpec(postgres, { credentials: block })
const BLOCK = Reflect.get(postgres.definition.spec, 'credentials') as object
const WEBHOOK = { webhook: { clientConfig: { url: 'https://hashes.tools.svc/x' } } }

const read = (files: readonly FileDefinition[], inCluster: readonly ApplicationDefinition[] = []) =>
  kindsToConvert(files, inCluster, HOSTS)

const kindsIn = (result: ReturnType<typeof read>) =>
  result.ok ? result.value.map(({ kind }) => kind) : result.failure

describe('definitions out of files', () => {
  test('say which kinds are to be converted, when the cluster has none of them', () => {
    expect(kindsIn(read(fileDefinitions()))).toEqual(['Postgres', 'MariaDB', 'ClickHouse', 'Redis'])
  })

  test('may stand in the annotation, as for a CRD that prunes the block', () => {
    const { credentials, ...spec } = postgres.definition.spec
    const annotations = { 'credentials.cozystack.io/definition': JSON.stringify(credentials) }
    const annotated = { file: 'a.yaml', definition: { metadata: { name: 'postgres', annotations }, spec } }
    expect(kindsIn(read([annotated]))).toEqual(['Postgres'])
  })

  test.each([
    ['no block', withSpec(postgres, { credentials: undefined }), 'spec.credentials'],
    ['no kind', withSpec(postgres, { application: {} }), 'spec.application.kind'],
    ['an unknown format', withBlock({ ...BLOCK, format: { name: 'rot13' } }), 'spec.credentials.format.name'],
    ['an unknown field', withBlock({ ...BLOCK, colour: 'red' }), 'spec.credentials.colour'],
    ['no accounts', withBlock({ format: { name: 'sha256' } }), 'spec.credentials.accounts'],
  ])('fail with the file and the field for %s', (_what, file, field) => {
    expect(kindsIn(read([file]))).toMatchObject({
      reason: 'definition_wrong',
      definition: 'postgres in postgres.yaml',
      field,
    })
  })

  test('that define one kind twice are of no use', () => {
    const other = { ...withSpec(postgres, {}, 'postgres-2'), file: 'other.yaml' }
    expect(kindsIn(read([postgres, other]))).toEqual({
      reason: 'definitions_ambiguous',
      kind: 'Postgres',
      definitions: ['postgres in postgres.yaml', 'postgres-2 in other.yaml'],
    })
  })

  test.each([
    ['format', { ...BLOCK, format: { kind: 'Webhook', name: 'x', ...WEBHOOK } }],
    ['source', { ...BLOCK, accounts: [{ kind: 'Webhook', ...WEBHOOK }] }],
  ])('whose %s is a webhook are read, and marked', (_what, block) => {
    const result = read([withBlock(block)])
    expect(result.ok ? result.value : result.failure).toMatchObject([
      { kind: 'Postgres', needsWebhook: true },
    ])
  })
})

describe('a definition in the cluster', () => {
  const inCluster = (spec: object, name = 'postgres') => withSpec(postgres, spec, name).definition

  test('counts when it says the same, whatever the order of its fields', () => {
    const reversed = Object.fromEntries(Object.entries(BLOCK).reverse())
    const result = read([postgres], [inCluster({ credentials: reversed })])
    expect(result.ok && result.value[0]?.rules.definition).toBe('postgres')
  })

  test('without a block is of before, and the file counts', () => {
    const result = read([postgres], [inCluster({ credentials: undefined })])
    expect(result.ok && result.value[0]?.rules.definition).toBe('postgres in postgres.yaml')
  })

  test('of another kind has no say', () => {
    const other = inCluster({ application: { kind: 'Kafka' }, credentials: { format: 'x' } }, 'kafka')
    expect(kindsIn(read([postgres], [other]))).toEqual(['Postgres'])
  })

  test.each([
    ['differs', { ...BLOCK, secretLabels: {} }, 'differs from that of postgres in postgres.yaml'],
    ['is no block', 'x', 'must be an object'],
  ])(
    'that %s stops the conversion: nobody knows what the charts will read',
    (_what, credentials, problem) => {
      expect(kindsIn(read([postgres], [inCluster({ credentials })]))).toMatchObject({
        reason: 'definition_wrong',
        definition: 'postgres in the cluster',
        field: 'spec.credentials',
        problem,
      })
    },
  )

  test('of which there are two with a block is ambiguous', () => {
    const both = [inCluster({}), inCluster({}, 'postgres-2')]
    expect(kindsIn(read([postgres], both))).toMatchObject({ reason: 'definitions_ambiguous' })
  })
})
