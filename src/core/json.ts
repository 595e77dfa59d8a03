/** Readers for values that came off a wire: own properties only, so that `__proto__` is a name like any other. */

export type Json = { readonly [key: string]: unknown }

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The own property `key` of `value`, or undefined when there is none or `value` is no object. */
export const own = (value: unknown, key: string): unknown =>
  isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined

/** Follows own properties: `at(release, 'spec', 'values')`. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value
  for (const key of path) found = own(found, key)
  return found
}

export const textAt = (value: unknown, ...path: readonly string[]): string | undefined => {
  const found = at(value, ...path)
  return typeof found === 'string' ? found : undefined
}

/** A text, or undefined for `""` and anything else. */
export const filledAt = (value: unknown, ...path: readonly string[]): string | undefined =>
  textAt(value, ...path) || undefined

/** The strings of an array; an empty list for anything else. */
export const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []

/** Parses JSON text; undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** JSON with sorted keys: equal for equal values. Undefined for what is no JSON. */
export const canonicalJson = (value: unknown): string | undefined =>
  JSON.stringify(value, (_key, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  )

/** Whether two values are the same JSON, whatever the order of their keys. */
export const isSameJson = (a: unknown, b: unknown): boolean => canonicalJson(a) === canonicalJson(b)
