import { RESOURCE_TYPES, type StoredObject } from './objects.ts'
import type { Store } from './store.ts'
import { remove } from './write.ts'

/** Deletes what belonged to a namespace that is going, and the namespace when nothing holds it any more. */
export function emptyNamespace(store: Store, namespace: string): void {
  for (const type of RESOURCE_TYPES.filter(({ namespaced }) => namespaced)) {
    for (const { metadata } of store.list(type, namespace)) {
      remove(store, type, namespace, metadata.name, {}, { dryRun: false })
    }
  }
}

/**
 * One pass of the garbage collector: an object all of whose owners are gone, by UID, goes too. Answers whether
 * anything went: an owner may have owned an owner.
 */
export function collect(store: Store): void {
  const objects = store.all()
  const alive = new Set(objects.map(({ object }) => object.metadata.uid))
  const orphans = objects.filter(({ object }) => isOrphan(object, alive))
  for (const { type, object } of orphans) {
    remove(store, type, object.metadata.namespace ?? '', object.metadata.name, {}, { dryRun: false })
  }
  if (orphans.some(({ object }) => (object.metadata.finalizers ?? []).length === 0)) collect(store)
}

function isOrphan({ metadata }: StoredObject, alive: ReadonlySet<string>): boolean {
  const owners = metadata.ownerReferences ?? []
  return owners.length > 0 && owners.every(({ uid }) => !alive.has(uid))
}
