/** What the released controller calls things (`cozystack/cozystack`, `api/internalapi/v1alpha1`). */

/** Of a TenantProjection: the HelmRelease that it speaks for. */
export const RELEASE_LABEL = 'helm.toolkit.fluxcd.io/name'

/** Of what is published: what definitions let tenants see. */
export const TENANT_CA_LABEL = 'internal.cozystack.io/tenant-ca'
export const COPY_LABEL = 'internal.cozystack.io/ca-cert-copy'
export const SOURCE_ANNOTATION = 'internal.cozystack.io/ca-cert-source'
export const SELECTORS_ANNOTATION = 'internal.cozystack.io/ca-cert-selectors'
/** While it is there, the platform's admission webhook does not look at the object again. */
export const MANAGED_LABEL = 'internal.cozystack.io/managed-by-cozystack'

/** Of a source that asks for itself. */
export const PUBLISH_LABEL = 'internal.cozystack.io/publish-ca-cert'
export const PUBLISH_RELEASE_LABEL = 'internal.cozystack.io/publish-ca-cert-release'
export const PUBLISH_KEY_ANNOTATION = 'internal.cozystack.io/publish-ca-cert-key'

/** Of a label's value. */
const MAX_VALUE = 63

/** Undefined when no label can have the value: then nothing has it. */
export const labelIs = (label: string, value: string): string | undefined =>
  value.length <= MAX_VALUE ? `${label}=${value}` : undefined
