import type { Admin } from '../contract/kube.ts'

/** Lets the function's own ServiceAccount keep the record of a conversion in a namespace, beside the rights that it has. */
export async function allowRecord(admin: Admin, namespace: string): Promise<void> {
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const path = `/apis/${apiVersion}/namespaces/${namespace}`
  const metadata = { name: 'convert-hook' }
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create', 'update'] }]
  await admin.create(`${path}/roles`, { apiVersion, kind: 'Role', metadata, rules })
  await admin.create(`${path}/rolebindings`, {
    apiVersion,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'convert-hook' },
    subjects: [{ kind: 'ServiceAccount', name: 'mintonce', namespace: 'mintonce' }],
  })
}
