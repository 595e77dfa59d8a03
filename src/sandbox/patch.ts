import { isObject } from '../core/json.ts'
import type { ResourceType } from './objects.ts'
import { notFound, unsupportedMediaType } from './status.ts'
import type { Store } from './store.ts'

/** The object that a JSON merge patch (RFC 7396) makes of the stored one. Throws a Refusal for another patch type. */
export function merged(
  store: Store,
  type: ResourceType,
  namespace: string,
  name: string,
  patch: unknown,
  contentType: string,
): unknown {
  if (contentType.split(';')[0] !== 'application/merge-patch+json') throw unsupportedMediaType()
  const old = store.find(type, namespace, name)
  if (old === undefined) throw notFound(type, name)
  return merge(old, patch)
}

function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result = new Map(Object.entries(isObject(target) ? target : {}))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key)
    else result.set(key, merge(result.get(key), value))
  }
  return Object.fromEntries(result)
}
