import { isObject, own } from '../core/json.ts'

/**
 * One field of a configuration document while it is read. Reading goes on after a mistake, so that one run names all
 * of them, worded as `k8s.io/apimachinery/pkg/util/validation/field` words them.
 */
export interface Field {
  readonly path: string
  /** Undefined when the field is absent or null: Kubernetes makes no difference. */
  readonly value: unknown
  /** Where mistakes are collected. */
  readonly problems: string[]
}

export const childOf = ({ path, value, problems }: Field, key: string): Field => ({
  path: path === '' ? key : `${path}.${key}`,
  value: own(value, key) ?? undefined,
  problems,
})

export function required({ path, problems }: Field, detail = ''): void {
  problems.push(`${path}: Required value${detail === '' ? '' : `: ${detail}`}`)
}

/** `shown` replaces the value where it may be secret or long. */
export function invalid({ path, value, problems }: Field, detail: string, shown = value): void {
  problems.push(`${path === '' ? '' : `${path}: `}Invalid value: ${JSON.stringify(shown)}: ${detail}`)
}

export function duplicate({ path, value, problems }: Field): void {
  problems.push(`${path}: Duplicate value: ${JSON.stringify(value)}`)
}

export function forbidden({ path, problems }: Field, detail: string): void {
  problems.push(`${path}: Forbidden: ${detail}`)
}

/** Names every key that is not in `known`. False when the field is no object. An absent one passes. */
export function checkKeys(field: Field, known: readonly string[]): boolean {
  const { value } = field
  if (value === undefined) return true
  if (!isObject(value)) {
    invalid(field, 'must be an object', '<omitted>')
    return false
  }
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) forbidden(childOf(field, key), 'unknown field')
  }
  return true
}

/** The text of a field; undefined when it is absent, and when it is something else, which is named. */
export function textOf(field: Field): string | undefined {
  if (field.value === undefined || typeof field.value === 'string') return field.value
  invalid(field, 'must be a string', '<omitted>')
  return undefined
}

/** The items of a list; none when it is absent, and when it is something else, which is named. */
export function itemsOf(field: Field): readonly Field[] {
  const { path, value, problems } = field
  if (value === undefined) return []
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => ({
      path: `${path}[${index}]`,
      value: item ?? undefined,
      problems,
    }))
  }
  invalid(field, 'must be a list', '<omitted>')
  return []
}

/** A list or a text with something in it. */
export const isFilled = ({ value }: Field): boolean =>
  value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0)
