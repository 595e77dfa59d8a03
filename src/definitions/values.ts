import type { Cause } from '../core/failure.ts'
import { isObject, type Json, own } from '../core/json.ts'

/** A dotted name (`users`, `auth.users`): no quoting, no indexes. */
export const PATH_PATTERN = /^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$/

/** What stands at a path, or the place on the way to it where no map is. */
export type Reading =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly cause: Cause }

/**
 * The value at a dotted path of a release's values, own properties only. Undefined when nothing is there; null when it,
 * or a map above it, is null: Helm then drops the chart's default. Anything but a map on the way is a failure that
 * names the place, so that it is never taken for "nothing there".
 *
 * With a schema (`openAPISchema` of a definition) an absent value takes its `default`, else what the default of a map
 * above it holds, the way kube-apiserver fills in defaults from the top down.
 */
export function readPath(values: Json, path: string, schema?: Json): Reading {
  let value: unknown = values
  let node: unknown = schema
  let standard: unknown = own(schema, 'default')
  const passed: string[] = []
  for (const name of path.split('.')) {
    if (value === null) return { ok: true, value }
    if (value !== undefined && !isObject(value)) return misshapen(passed.join('.'), 'a map', value)
    node = own(own(node, 'properties'), name)
    standard = own(node, 'default') ?? own(standard, name) ?? undefined
    const given = own(value, name)
    value = given === undefined ? standard : given
    passed.push(name)
  }
  return { ok: true, value }
}

/** The failure of a source that found another shape at a path of the release's values. */
export const misshapen = (path: string, wanted: string, found: unknown) =>
  ({ ok: false, cause: shapeCause(path, wanted, found) }) as const

export const shapeCause = (path: string, wanted: string, found: unknown): Cause => ({
  reason: 'FieldValueTypeInvalid',
  field: path === '' ? 'spec.values' : `spec.values.${path}`,
  message: `must be ${wanted}, and is ${shapeOf(found)}`,
})

/** A short word for what somebody wrote, without showing it. */
function shapeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (isObject(value)) return 'a map'
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`
}
