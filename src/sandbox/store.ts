import type { Deps } from '../core/deps.ts'
import { toTimestamp } from '../core/text.ts'
import type { ResourceType, StoredObject } from './objects.ts'

/** Objects by type, namespace and name, with one counter of versions as etcd has. */
export interface Store {
  readonly find: (type: ResourceType, namespace: string, name: string) => StoredObject | undefined
  /** Of one namespace, or of all; by namespace and name. */
  readonly list: (type: ResourceType, namespace?: string) => readonly StoredObject[]
  readonly all: () => readonly { readonly type: ResourceType; readonly object: StoredObject }[]
  /** Stores an object under a new version and answers it. */
  readonly put: (type: ResourceType, object: StoredObject) => StoredObject
  readonly remove: (type: ResourceType, object: StoredObject) => void
  readonly version: () => string
  readonly newUid: () => string
  readonly timestamp: () => string
}

const keyOf = ({ group, plural }: ResourceType, namespace: string, name: string): string =>
  `${plural}.${group}/${namespace}/${name}`

export function createStore({ now, randomBytes }: Pick<Deps, 'now' | 'randomBytes'>): Store {
  const objects = new Map<string, { type: ResourceType; object: StoredObject }>()
  let version = 100

  const list: Store['list'] = (type, namespace) => {
    const prefix = namespace === undefined ? `${type.plural}.${type.group}/` : keyOf(type, namespace, '')
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).sort()
    return keys.flatMap((key) => {
      const entry = objects.get(key)
      return entry === undefined ? [] : [structuredClone(entry.object)]
    })
  }
  return {
    find(type, namespace, name) {
      const entry = objects.get(keyOf(type, namespace, name))
      return entry === undefined ? undefined : structuredClone(entry.object)
    },
    list,
    all: () => [...objects.values()].map(({ type, object }) => ({ type, object: structuredClone(object) })),
    put(type, object) {
      version += 1
      const stored = structuredClone(object)
      stored.metadata.resourceVersion = String(version)
      objects.set(keyOf(type, stored.metadata.namespace ?? '', stored.metadata.name), {
        type,
        object: stored,
      })
      return structuredClone(stored)
    },
    remove(type, { metadata }) {
      version += 1
      objects.delete(keyOf(type, metadata.namespace ?? '', metadata.name))
    },
    version: () => String(version),
    newUid: () => uuid(randomBytes(16)),
    timestamp: () => toTimestamp(now()),
  }
}

/** RFC 9562, version 4. */
function uuid(bytes: Uint8Array): string {
  const hex = Array.from(bytes, (byte, index) => {
    if (index === 6) return ((byte & 0x0f) | 0x40).toString(16).padStart(2, '0')
    if (index === 8) return ((byte & 0x3f) | 0x80).toString(16).padStart(2, '0')
    return byte.toString(16).padStart(2, '0')
  }).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
