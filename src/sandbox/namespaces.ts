import { NAMESPACES, type ResourceType, type StoredObject } from './objects.ts'
import { forbidden, notFound, type Refused } from './status.ts'
import type { Store } from './store.ts'

/** `k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle`, on a create. */
export function checkNamespace(
  store: Store,
  type: ResourceType,
  namespace: string,
  name: string,
): Refused | undefined {
  if (!type.namespaced) return undefined
  const found = store.find(NAMESPACES, '', namespace)
  if (found === undefined) return notFound(NAMESPACES, namespace)
  if (found.metadata.deletionTimestamp === undefined) return undefined
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`
  const message = `namespace ${namespace} is being terminated`
  return forbidden(type, name, why, [
    { reason: 'NamespaceTerminating', message, field: 'metadata.namespace' },
  ])
}

/** With what the API server gives every namespace. */
export const newNamespace = (object: StoredObject): StoredObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    labels: { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name },
  },
  spec: object.spec ?? { finalizers: ['kubernetes'] },
  status: object.status ?? { phase: 'Active' },
})

export const terminating = (namespace: StoredObject): StoredObject => ({
  ...namespace,
  status: { phase: 'Terminating' },
})
