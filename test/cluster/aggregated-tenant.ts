import { type Admin, type Anything, adminOf } from '../contract/kube.ts'
import { releaseOf } from '../contract/tenant.ts'
import type { Finished } from '../control-plane/command.ts'
import { type Aggregated, GROUP } from './aggregated.ts'

type Kubectl = (args: readonly string[], stdin?: string) => Promise<Finished>

/** A namespace whose people call through kube-apiserver, each with a client certificate. */
export interface AggregatedTenant {
  readonly namespace: string
  /** May look and mint, by her name. */
  readonly jane: Kubectl
  /** May look. */
  readonly victor: Kubectl
  /** May nothing. */
  readonly bob: Kubectl
  readonly release: (kind: string, name: string, values: object) => Promise<Anything>
  /** Binds these rules in the namespace, to a user or a group. */
  readonly bindRole: (name: string, rules: readonly object[], kind?: 'User' | 'Group') => Promise<void>
  /** Of a call, on kube-apiserver. */
  readonly path: (credential: string, verb?: string) => string
}

const RBAC = 'rbac.authorization.k8s.io'
let roles = 0

/** Beside the people, the group `acme-dba` may look. */
export async function createAggregatedTenant(
  { plane, kubectlAs }: Aggregated,
  namespace: string,
): Promise<AggregatedTenant> {
  const admin = adminOf(plane.adminFetch)
  await admin.create('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  })
  await bind(admin, namespace, 'mintonce:view', [
    user('jane'),
    user('victor'),
    { ...user('acme-dba'), kind: 'Group' },
  ])
  await bind(admin, namespace, 'mintonce:mint', [user('jane')])
  const [jane, victor, bob] = await Promise.all(['jane', 'victor', 'bob'].map((name) => kubectlAs(name, [])))
  if (jane === undefined || victor === undefined || bob === undefined) throw new Error('nobody is there')
  return {
    namespace,
    jane,
    victor,
    bob,
    release: (kind, name, values) =>
      admin.create(
        `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases`,
        releaseOf(kind, name, values),
      ),
    bindRole: async (name, rules, kind = 'User') => {
      roles += 1
      const metadata = { name: `only-${roles}`, namespace }
      await plane.apply([
        { apiVersion: `${RBAC}/v1`, kind: 'Role', metadata, rules },
        {
          apiVersion: `${RBAC}/v1`,
          kind: 'RoleBinding',
          metadata,
          roleRef: { apiGroup: RBAC, kind: 'Role', name: metadata.name },
          subjects: [{ ...user(name), kind }],
        },
      ])
    },
    path: (credential, verb) =>
      `/apis/${GROUP}/v1alpha1/namespaces/${namespace}/credentials/${credential}${verb === undefined ? '' : `/${verb}`}`,
  }
}

const user = (name: string) => ({ apiGroup: RBAC, kind: 'User', name })

async function bind(
  admin: Admin,
  namespace: string,
  role: string,
  subjects: readonly object[],
): Promise<void> {
  await admin.create(`/apis/${RBAC}/v1/namespaces/${namespace}/rolebindings`, {
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata: { name: role.replace(':', '.') },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
    subjects,
  })
}
