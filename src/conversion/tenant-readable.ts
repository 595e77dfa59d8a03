import { isObject, own, textAt, textsOf } from '../core/json.ts'
import { type Application, applicationOf } from '../credentials/application.ts'
import { type SelectedSecret, selectsSecret } from '../definitions/secret-selectors.ts'
import type { Role } from '../k8s/conversion-kube.ts'
import type { ApplicationDefinition, HelmRelease, StoredSecret } from '../k8s/objects.ts'

/** What the platform puts on what it shows to tenants. */
const TENANT_RESOURCE = 'internal.cozystack.io/tenantresource'

interface Routes {
  readonly definitions: readonly ApplicationDefinition[]
  /** All of the namespace. */
  readonly roles: readonly Role[]
}

/**
 * How tenants can still read this Secret of a release; undefined when no route that the platform opens is open: its label,
 * what a definition shows (`spec.secrets`), a Role that names it. Whoever may read every Secret of the namespace is
 * no tenant.
 */
export function readableBy(
  secret: StoredSecret,
  release: HelmRelease,
  { definitions, roles }: Routes,
): string | undefined {
  const { name, labels = {} } = secret.metadata
  if (textAt(labels, TENANT_RESOURCE) === 'true') return `it has the label ${TENANT_RESOURCE}`
  const selected = selectedOf(secret, applicationOf(release))
  const shows = definitions.find(({ spec }) => selectsSecret(own(spec, 'secrets'), selected))
  if (shows !== undefined) return `definition ${shows.metadata.name} selects it`
  const named = roles.find((role) => namesSecret(role, name))
  return named === undefined ? undefined : `Role ${named.metadata.name} names it`
}

const selectedOf = (
  { metadata: { name, namespace = '', labels = {} } }: StoredSecret,
  application: Application | undefined,
): SelectedSecret => ({
  name,
  labels,
  namespace,
  application: { name: application?.name ?? '', kind: application?.kind ?? '' },
})

/** `rbac.authorization.k8s.io/v1` PolicyRule. What it may do with the Secret does not count. */
function namesSecret({ rules }: Role, name: string): boolean {
  const list = Array.isArray(rules) ? rules : []
  return list.some((rule) => {
    const has = (field: string, ...values: readonly string[]) =>
      textsOf(own(rule, field)).some((each) => values.includes(each))
    return (
      isObject(rule) &&
      has('apiGroups', '', '*') &&
      has('resources', 'secrets', '*') &&
      has('resourceNames', name)
    )
  })
}
