import { isObject, type Json, own } from '../../src/core/json.ts'

type Check = (setting: unknown, value: unknown) => boolean

const every = <T>(list: readonly T[], holds: (item: T) => boolean) => list.every(holds)
const sizeAtMost: Check = (limit, value) => typeof value !== 'string' || [...value].length <= Number(limit)
const sizeAtLeast: Check = (limit, value) => typeof value !== 'string' || [...value].length >= Number(limit)

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
}

/** The keywords of a structural schema that our patch uses. CEL rules are left to a real API server. */
const KEYWORDS: Readonly<Record<string, Check>> = {
  type: (type, value) => TYPES[String(type)]?.(value) === true,
  enum: (values, value) => Array.isArray(values) && values.includes(value),
  pattern: (pattern, value) => typeof value !== 'string' || new RegExp(String(pattern)).test(value),
  minLength: sizeAtLeast,
  maxLength: sizeAtMost,
  minimum: (limit, value) => typeof value !== 'number' || value >= Number(limit),
  maximum: (limit, value) => typeof value !== 'number' || value <= Number(limit),
  minItems: (limit, value) => !Array.isArray(value) || value.length >= Number(limit),
  maxItems: (limit, value) => !Array.isArray(value) || value.length <= Number(limit),
  items: (schema, value) => !Array.isArray(value) || every(value, (item) => accepts(schema, item)),
  required: (names, value) =>
    !isObject(value) || (Array.isArray(names) && every(names, (name) => Object.hasOwn(value, name))),
  properties: (properties, value) =>
    !isObject(value) ||
    every(
      Object.keys(value).filter((name) => own(properties, name) !== undefined),
      (name) => accepts(own(properties, name), value[name]),
    ),
  additionalProperties: (schema, value) =>
    !isObject(value) || every(Object.values(value), (item) => accepts(schema, item)),
}

const WITHOUT_EFFECT = new Set([
  'description',
  'format',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-validations',
])

/** Whether kube-apiserver's structural validation lets a value pass. Throws on a keyword that it does not know. */
export function accepts(schema: unknown, value: unknown): boolean {
  if (!isObject(schema)) throw new TypeError('no schema')
  return every(Object.keys(schema), (keyword) => {
    if (WITHOUT_EFFECT.has(keyword)) return true
    const check = KEYWORDS[keyword]
    if (check === undefined) throw new TypeError(`unknown keyword ${keyword}`)
    return check(schema[keyword], value)
  })
}

/** A schema and all schemas in it, with where they are. */
export function schemasIn(
  schema: unknown,
  path: string,
): readonly { readonly path: string; readonly schema: Json }[] {
  if (!isObject(schema)) return []
  const properties = own(schema, 'properties')
  return [
    { path, schema },
    ...Object.entries(isObject(properties) ? properties : {}).flatMap(([name, inner]) =>
      schemasIn(inner, `${path}.${name}`),
    ),
    ...schemasIn(own(schema, 'items'), `${path}[]`),
  ]
}
