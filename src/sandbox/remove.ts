import { at, isObject, own, textAt } from '../core/json.ts'
import { ok } from '../core/result.ts'
import { terminating } from './namespaces.ts'
import type { ResourceType, StoredObject } from './objects.ts'
import { conflict, notFound, type Outcome, type Refused } from './status.ts'
import type { Store } from './store.ts'

/** What is left: the object while finalizers hold it (or a namespace its content), nothing otherwise. */
export interface Removed {
  readonly object: StoredObject
  readonly isHeld: boolean
}

/** A DELETE. `options` are the DeleteOptions of its body. */
export function remove(
  store: Store,
  {
    type,
    namespace,
    name,
  }: { readonly type: ResourceType; readonly namespace: string; readonly name: string },
  options: unknown,
  dryRun: boolean,
): Outcome<Removed> {
  const old = store.find(type, namespace, name)
  if (old === undefined) return notFound(type, name)
  const refused = checkPreconditions(type, old, own(options, 'preconditions'))
  if (refused !== undefined) return refused
  return ok(end(store, type, old, dryRun))
}

/** `rest.BeforeDelete`, which names the kind where others name the resource. An empty UID is compared too. */
function checkPreconditions(
  type: ResourceType,
  { metadata }: StoredObject,
  wanted: unknown,
): Refused | undefined {
  if (!isObject(wanted)) return undefined
  const named = { group: type.group, plural: type.kind }
  const uid = textAt(wanted, 'uid')
  if (uid !== undefined && uid !== metadata.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`
    return conflict(named, metadata.name, why)
  }
  const version = textAt(wanted, 'resourceVersion')
  if (version === undefined || version === metadata.resourceVersion) return undefined
  const why = `the ResourceVersion in the precondition (${version}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`
  return conflict(named, metadata.name, why)
}

/** Deletes, or marks as being deleted what something still holds. */
export function end(store: Store, type: ResourceType, old: StoredObject, dryRun: boolean): Removed {
  const { finalizers = [], deletionTimestamp, generation } = old.metadata
  const isNamespace = type.kind === 'Namespace'
  if (!isNamespace && finalizers.length === 0) {
    if (!dryRun) store.remove(type, old)
    return { object: old, isHeld: false }
  }
  if (deletionTimestamp !== undefined) return { object: old, isHeld: true }
  const metadata = {
    ...old.metadata,
    deletionTimestamp: store.timestamp(),
    ...(isNamespace ? {} : { deletionGracePeriodSeconds: 0 }),
    ...(generation === undefined ? {} : { generation: generation + 1 }),
  }
  const marked = { ...old, metadata }
  const object = isNamespace ? terminating(marked) : marked
  return { object: dryRun ? object : store.put(type, object), isHeld: true }
}

/** `details` of the Status that says an object is gone. */
export const removedDetails = ({ group, plural }: ResourceType, object: StoredObject): object => ({
  name: object.metadata.name,
  ...(group === '' ? {} : { group }),
  kind: plural,
  uid: at(object, 'metadata', 'uid'),
})
