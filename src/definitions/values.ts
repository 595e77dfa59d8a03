import { at, isObject, type Json, own } from '../core/json.ts'

/** A dotted name (`users`, `auth.users`): no quoting, no indexes. */
export const PATH_PATTERN = /^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$/

/** The value at a dotted path, own properties only; undefined when it is not there. */
export const valueAt = (values: Json, path: string): unknown => at(values, ...path.split('.'))

/** A short word for what somebody wrote, without showing it. */
export function shapeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (isObject(value)) return 'a map'
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`
}

/**
 * The default that a JSON schema (`openAPISchema` of a definition) gives a dotted path: its own `default`, or the value
 * inside the default of an object above it.
 */
export function defaultAt(schema: Json | undefined, path: string): unknown {
  let here: unknown = schema
  let inherited: unknown
  for (const name of path.split('.')) {
    inherited = own(inherited, name) ?? own(own(here, 'default'), name)
    here = own(own(here, 'properties'), name)
  }
  return own(here, 'default') ?? inherited
}
