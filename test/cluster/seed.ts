import type { ControlPlane } from '../control-plane/start.ts'
import { type Aggregated, GROUP } from './aggregated.ts'

const RBAC = 'rbac.authorization.k8s.io'

/** Lets this user or ServiceAccount bring the releases of Postgres applications in a namespace in step. */
export async function letSync(
  { apply }: Pick<ControlPlane, 'apply'>,
  namespace: string,
  subject: { readonly kind: 'User' | 'ServiceAccount'; readonly name: string },
): Promise<void> {
  const metadata = { name: 'seeds', namespace }
  const rules = [
    { apiGroups: [GROUP, 'core.cozystack.io'], resources: ['helmreleases/sync'], verbs: ['create'] },
    { apiGroups: ['apps.cozystack.io'], resources: ['postgreses'], verbs: ['update'] },
  ]
  const roleRef = { apiGroup: RBAC, kind: 'Role', name: metadata.name }
  const subjects = [subject.kind === 'User' ? subject : { ...subject, namespace }]
  await apply([
    { apiVersion: `${RBAC}/v1`, kind: 'Role', metadata, rules },
    { apiVersion: `${RBAC}/v1`, kind: 'RoleBinding', metadata, roleRef, subjects },
  ])
}

/** For the tick: the account Secrets of `postgres-orders` are there before anybody mints. */
export async function seedOrders({ plane, kubectlAs }: Aggregated, namespace: string): Promise<void> {
  await letSync(plane, namespace, { kind: 'User', name: 'keeper' })
  const keeper = await kubectlAs('keeper', [])
  const path = `/apis/${GROUP}/v1alpha1/namespaces/${namespace}/helmreleases/postgres-orders/sync`
  const { code, stderr } = await keeper(['create', '--raw', path, '-f', '-'], '{}')
  if (code !== 0) throw new Error(`sync: ${stderr}`)
}
