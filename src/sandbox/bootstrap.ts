/** What every API server starts with, as far as the sandbox serves it. */

const GROUP = 'rbac.authorization.k8s.io'

const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })

const clusterRole = (name: string, rules: readonly object[]) => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'ClusterRole',
  metadata: { name, labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' } },
  rules,
})

const toGroups = (name: string, groups: readonly string[]) => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name, labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' } },
  roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name },
  subjects: groups.map((group) => ({ apiGroup: GROUP, kind: 'Group', name: group })),
})

/** `k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy`, the roles that everybody has. */
export const BOOTSTRAP_OBJECTS: readonly object[] = [
  namespace('default'),
  namespace('kube-system'),
  clusterRole('cluster-admin', [
    { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
    { nonResourceURLs: ['*'], verbs: ['*'] },
  ]),
  toGroups('cluster-admin', ['system:masters']),
  clusterRole('system:public-info-viewer', [
    { nonResourceURLs: ['/healthz', '/livez', '/readyz', '/version', '/version/'], verbs: ['get'] },
  ]),
  toGroups('system:public-info-viewer', ['system:authenticated', 'system:unauthenticated']),
  clusterRole('system:basic-user', [
    { apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'], verbs: ['create'] },
  ]),
  toGroups('system:basic-user', ['system:authenticated']),
]
