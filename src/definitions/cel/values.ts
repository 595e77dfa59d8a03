import { type CelInput, type CelMap, type CelValue, isCelList, isCelMap } from '@bufbuild/cel'
import { isObject, type Json } from '../../core/json.ts'

const MAX_DEPTH = 100

/** The library looks through all keys of a map for one that is a number. */
const MAX_KEYS = 500

/** What makes JSON too large for an expression; undefined when nothing does. */
export function sizeProblem(value: unknown, allowed = MAX_DEPTH): string | undefined {
  if (allowed < 0) return 'is given values that nest too deep'
  const parts = partsOf(value)
  if (isObject(value) && parts.length > MAX_KEYS) return `is given a map of more than ${MAX_KEYS} keys`
  for (const part of parts) {
    const problem = sizeProblem(part, allowed - 1)
    if (problem !== undefined) return problem
  }
  return undefined
}

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

/** What an entry of a list may be: a text, or a small map of texts. False stands for anything else. */
type Plain = string | null | false | Json

const MAX_ENTRIES = 1000
const MAX_FIELDS = 10

export type List =
  | { readonly ok: true; readonly list: readonly Plain[] }
  | { readonly ok: false; readonly problem: string }

/** The entries of what an expression returned, when it is a list. */
export function listIn(value: CelValue): List {
  if (!isCelList(value)) return { ok: false, problem: 'returns no list' }
  if (value.size > MAX_ENTRIES) {
    return { ok: false, problem: `returns more than ${MAX_ENTRIES} entries` }
  }
  return { ok: true, list: Array.from(value, (item) => (isCelMap(item) ? objectOf(item) : textOf(item))) }
}

const textOf = (value: CelValue) => (typeof value === 'string' || value === null ? value : false)

const objectOf = (map: CelMap): Json | false =>
  map.size <= MAX_FIELDS &&
  Object.fromEntries(Array.from(map.entries(), ([key, value]) => [String(key), textOf(value)]))
