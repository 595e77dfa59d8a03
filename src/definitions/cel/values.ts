import { type CelInput, type CelValue, isCelList, isCelMap } from '@bufbuild/cel'
import { isObject, type Json } from '../../core/json.ts'

const MAX_DEPTH = 100

/** Whether JSON nests deeper than a recursive function may follow. */
export const isTooDeep = (value: unknown, allowed = MAX_DEPTH): boolean =>
  allowed < 0 || partsOf(value).some((part) => isTooDeep(part, allowed - 1))

const partsOf = (value: unknown): readonly unknown[] => {
  if (Array.isArray(value)) return value
  return isObject(value) ? Object.values(value) : []
}

/**
 * JSON as CEL's own values: maps for objects, so that no name is a property that every object has, and integers for
 * whole numbers.
 */
export function toInput(value: unknown): CelInput {
  if (Array.isArray(value)) return value.map(toInput)
  if (isObject(value)) return new Map(Object.entries(value).map(([key, item]) => [key, toInput(item)]))
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  return typeof value === 'string' || typeof value === 'boolean' ? value : null
}

/** The entries of a list: texts, and maps as objects. Undefined when it is no list. Anything else in it stays what it is. */
export function listOf(value: CelValue): readonly unknown[] | undefined {
  return isCelList(value) ? Array.from(value, (item) => (isCelMap(item) ? objectOf(item) : item)) : undefined
}

function objectOf(map: ReadonlyMap<unknown, CelValue>): Json {
  const fields = Array.from(map.entries(), ([key, value]) => [String(key), value] as const)
  return Object.fromEntries(fields)
}
