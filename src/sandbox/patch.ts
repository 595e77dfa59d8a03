import { isObject } from '../core/json.ts'

/** JSON merge patch (RFC 7396). */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result = new Map(Object.entries(isObject(target) ? target : {}))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key)
    else result.set(key, mergePatch(result.get(key), value))
  }
  return Object.fromEntries(result)
}
