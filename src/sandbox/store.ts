import type { Deps } from '../core/deps.ts'
import { toTimestamp } from '../core/text.ts'
import type { ResourceType, StoredObject } from './objects.ts'

interface Entry {
  readonly type: ResourceType
  readonly object: StoredObject
}

/** Objects by type, namespace and name, under one counter of versions as in etcd. Stored objects never change. */
export interface Store {
  readonly find: (type: ResourceType, namespace: string, name: string) => StoredObject | undefined
  /** In the order of their keys: of one namespace, or of all. */
  readonly list: (type: ResourceType, namespace?: string) => readonly StoredObject[]
  readonly all: () => readonly Entry[]
  /** Stores a copy under a new version and answers it. */
  readonly put: (type: ResourceType, object: StoredObject) => StoredObject
  /** Counts as a write. */
  readonly remove: (type: ResourceType, object: StoredObject) => void
  readonly version: () => number
  readonly newUid: () => string
  /** Five characters that make a `generateName` a name (`k8s.io/apiserver/pkg/storage/names`). */
  readonly newSuffix: () => string
  readonly now: () => number
  readonly timestamp: () => string
}

const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789'

/** The objects of one type in one namespace, by name. */
interface Shelf {
  readonly type: ResourceType
  readonly objects: Map<string, StoredObject>
}

/** Sorts as keys do in etcd: with a slash after the namespace. */
const shelfKey = ({ group, plural }: ResourceType, namespace: string): string =>
  `${group}/${plural}/${namespace === '' ? '' : `${namespace}/`}`

export function createStore({ now, randomBytes }: Pick<Deps, 'now' | 'randomBytes'>): Store {
  const shelves = new Map<string, Shelf>()
  let version = 100

  function shelfOf(type: ResourceType, namespace: string): Shelf {
    const key = shelfKey(type, namespace)
    const shelf = shelves.get(key) ?? { type, objects: new Map() }
    shelves.set(key, shelf)
    return shelf
  }
  const byName = ({ objects }: Shelf): readonly StoredObject[] =>
    [...objects.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object)

  return {
    find: (type, namespace, name) => shelves.get(shelfKey(type, namespace))?.objects.get(name),
    list(type, namespace) {
      const prefix = shelfKey(type, namespace ?? '')
      return [...shelves.entries()]
        .filter(([key]) => (namespace === undefined ? key.startsWith(prefix) : key === prefix))
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .flatMap(([, shelf]) => byName(shelf))
    },
    all: () =>
      [...shelves.values()].flatMap((shelf) => byName(shelf).map((object) => ({ type: shelf.type, object }))),
    put(type, object) {
      version += 1
      const { namespace = '', name } = object.metadata
      const metadata = { ...object.metadata, resourceVersion: String(version) }
      const stored = structuredClone({ ...object, metadata })
      shelfOf(type, namespace).objects.set(name, stored)
      return stored
    },
    remove(type, { metadata }) {
      version += 1
      shelfOf(type, metadata.namespace ?? '').objects.delete(metadata.name)
    },
    version: () => version,
    newUid: () => uuid(randomBytes(16)),
    newSuffix: () =>
      Array.from(randomBytes(5), (byte) => SUFFIX_LETTERS[byte % SUFFIX_LETTERS.length]).join(''),
    now,
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
