/** Labels that decide who may read, own or reconcile an object: an account Secret never carries one by definition. */
const RESERVED_DOMAINS = [
  'internal.cozystack.io',
  'apps.cozystack.io',
  'credentials.cozystack.io',
  'helm.toolkit.fluxcd.io',
  'kubernetes.io',
  'k8s.io',
]

const NAME = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/
const VALUE = /^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/
const PREFIX = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** What is wrong with a label that a definition asks for; undefined when nothing is. */
export function labelProblem(key: string, value: unknown): string | undefined {
  const slash = key.lastIndexOf('/')
  const domain = slash < 0 ? '' : key.slice(0, slash)
  if (!NAME.test(key.slice(slash + 1)) || (slash >= 0 && (domain.length > 253 || !PREFIX.test(domain)))) {
    return 'is no label key'
  }
  const reserved = RESERVED_DOMAINS.find((each) => domain === each || domain.endsWith(`.${each}`))
  if (reserved !== undefined) return `labels under ${reserved} are not allowed`
  if (typeof value !== 'string') return 'must be a string'
  return VALUE.test(value) ? undefined : 'is no label value'
}
