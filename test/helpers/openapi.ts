import type { Anything } from '../contract/kube.ts'

/** Every value of `$ref` in a document of OpenAPI 2.0 or 3.0. */
export function refsIn(value: Anything): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  const own = typeof value.$ref === 'string' ? [value.$ref] : []
  return [...own, ...Object.values(value).flatMap(refsIn)]
}

/** What a `$ref` points to: RFC 6901, in a URI fragment. Undefined when there is nothing. */
const resolveRef = (document: Anything, ref: string): Anything =>
  ref
    .replace(/^#\//, '')
    .split('/')
    .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((parent: Anything, part) => parent?.[part], document)

export const danglingRefs = (document: Anything): readonly string[] =>
  refsIn(document).filter((ref) => resolveRef(document, ref) === undefined)

export interface Checked {
  /** Where the value is not what the schema says: unknown, missing, of another type, not among the values. */
  readonly problems: readonly string[]
  /** `Definition.property`, for each property that the value has. */
  readonly seen: readonly string[]
}

/** Checks a value against a schema that describes it whole: a property that the schema does not name is a problem. */
export function check(document: Anything, schema: Anything, value: unknown, at = ''): Checked {
  const ref = schema.$ref ?? schema.allOf?.[0]?.$ref
  if (ref !== undefined) {
    const { problems, seen } = check(document, resolveRef(document, ref), value, at)
    const name = ref.split('.').at(-1)
    return { problems, seen: seen.map((each) => (each.startsWith('.') ? `${name}${each}` : each)) }
  }
  if (schema.type === 'object') return checkObject(document, schema, value, at)
  if (schema.type === 'array') {
    if (!Array.isArray(value)) return { problems: [`${at} is no array`], seen: [] }
    return together(value.map((item, index) => check(document, schema.items, item, `${at}[${index}]`)))
  }
  const isOk =
    schema.type === 'integer'
      ? Number.isInteger(value)
      : typeof value === schema.type && isFormatted(schema, value)
  return { problems: isOk ? [] : [`${at} is no ${schema.format ?? schema.type}`], seen: [] }
}

function checkObject(document: Anything, schema: Anything, value: Anything, at: string): Checked {
  if (typeof value !== 'object' || value === null) return { problems: [`${at} is no object`], seen: [] }
  const missing = (schema.required ?? [])
    .filter((name: string) => !Object.hasOwn(value, name))
    .map((name: string) => `${at}.${name} is missing`)
  const inner = Object.entries(value).map(([name, item]) => {
    const described = schema.properties?.[name]
    const property = described ?? schema.additionalProperties
    if (property === undefined) return { problems: [`${at}.${name} is unknown`], seen: [] }
    const checked = check(document, property, item, `${at}.${name}`)
    return described === undefined ? checked : { ...checked, seen: [`.${name}`, ...checked.seen] }
  })
  return together([{ problems: missing, seen: [] }, ...inner])
}

const together = (all: readonly Checked[]): Checked => ({
  problems: all.flatMap(({ problems }) => problems),
  seen: all.flatMap(({ seen }) => seen),
})

const isFormatted = (schema: Anything, value: unknown): boolean => {
  if (schema.enum !== undefined) return schema.enum.includes(value)
  // RFC 3339, section 5.6.
  return schema.format !== 'date-time' || /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(String(value))
}
