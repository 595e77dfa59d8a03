import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { own } from '../../src/core/json.ts'
import { sourceKinds } from '../../src/definitions/sources/index.ts'
import { served, wrong } from './blocks.ts'
import { accepts, schemasIn } from './structural.ts'

const FOLDER = join(import.meta.dirname, '../../deploy/crd')
const read = async (file: string) => parse(await readFile(join(FOLDER, file), 'utf8'))

const { patches } = await read('kustomization.yaml')
const [guard, add] = await read(patches[0].path)
const schemas = schemasIn(add.value, 'spec.credentials')

test('the patch adds one field to the version that it was written for', () => {
  expect(guard).toEqual({ op: 'test', path: '/spec/versions/0/name', value: 'v1alpha1' })
  expect(add).toMatchObject({
    op: 'add',
    path: '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/credentials',
  })
  expect(patches[0].target.name).toBe('applicationdefinitions.cozystack.io')
})

describe('its schema', () => {
  test.each(served)('lets pass what is served: %s', (_, block) => {
    expect(accepts(add.value, block)).toBe(true)
  })

  test.each(wrong.filter((row) => row.guard === 'schema'))('refuses a block that $why', ({ block }) => {
    expect(accepts(add.value, block)).toBe(false)
  })

  test.each(wrong.filter((row) => row.guard !== 'schema'))('cannot see that a block $why', ({ block }) => {
    expect(accepts(add.value, block)).toBe(true)
  })

  test('drops no unknown field: a pruned one would be a rule that nobody misses', () => {
    const pruning = schemas
      .filter(({ schema }) => own(schema, 'properties') !== undefined)
      .filter(({ schema }) => own(schema, 'x-kubernetes-preserve-unknown-fields') !== true)
    expect(pruning.map(({ path }) => path)).toEqual([])
  })

  test('sets no default, which would tell the field from the annotation', () => {
    expect(schemas.filter(({ schema }) => own(schema, 'default') !== undefined)).toEqual([])
  })

  test('explains every field', () => {
    const silent = schemas.filter(({ path, schema }) => !path.endsWith('[]') && !own(schema, 'description'))
    expect(silent.map(({ path }) => path)).toEqual([])
  })

  test('knows every source and its fields', () => {
    const { properties } = add.value.properties.accounts.items
    expect(properties.kind.enum).toEqual(expect.arrayContaining([...sourceKinds.keys()]))
    for (const { fields } of sourceKinds.values()) {
      expect(Object.keys(properties)).toEqual(expect.arrayContaining([...fields]))
    }
  })
})
