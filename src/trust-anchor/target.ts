import { isSameJson, textAt } from '../core/json.ts'
import { encodeData } from '../core/text.ts'
import type { OwnerReference, Secret, StoredSecret } from '../k8s/objects.ts'
import {
  COPY_LABEL,
  MANAGED_LABEL,
  SELECTORS_ANNOTATION,
  SOURCE_ANNOTATION,
  TENANT_CA_LABEL,
} from './labels.ts'

/** The one key of a projection, and its type. */
export const CA_KEY = 'ca.crt'
export const CA_TYPE = 'Opaque'

const SUFFIX = '.tenant-ca'

/** No operator makes up a name with a dot in it: what stands there is ours, or somebody wanted it to look so. */
export const targetName = (release: string): string => `${release}${SUFFIX}`

/** The release that a projection's name speaks of; undefined for the name of anything else. */
export const releaseOfTarget = (name: string): string | undefined =>
  name.endsWith(SUFFIX) && name.length > SUFFIX.length ? name.slice(0, -SUFFIX.length) : undefined

/** Whose object a projection is: the garbage collector takes it when that goes. */
export type Owner = Pick<OwnerReference, 'apiVersion' | 'kind' | 'name' | 'uid'>

export const PROJECTION_KIND = {
  apiVersion: 'internal.cozystack.io/v1alpha1',
  kind: 'TenantProjection',
} as const
export const RELEASE_KIND = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease' } as const

/** What a projection is to be. */
export interface Desired {
  readonly namespace: string
  readonly release: string
  readonly owner: Owner
  readonly source: string
  /** Nothing but certificates. */
  readonly pem: string
  readonly selectors: string
}

/**
 * By type and owner alone: labels say nothing, everybody who may write Secrets can set them. The UID is not looked at, so
 * that what a recreated owner left is healed.
 */
export const isOwnedBy = (
  { type, metadata }: StoredSecret,
  { apiVersion, kind, name }: Omit<Owner, 'uid'>,
): boolean =>
  type === CA_TYPE &&
  (metadata.ownerReferences ?? []).some(
    (each) => each.kind === kind && each.apiVersion === apiVersion && each.name === name,
  )

/**
 * Whether it was published for this release by a declaration that speaks for it no more: another leg, or a TenantProjection
 * that is gone, going or of another release by now. Whoever asks has seen, after it read the target, that no other
 * TenantProjection speaks for the release. Beside an owner such as we write it needs the marks of a projection; without both it
 * is somebody else's.
 */
export function isLeftOver(target: StoredSecret, release: string): boolean {
  const { type, metadata } = target
  const isMarked =
    textAt(metadata.labels, COPY_LABEL) === 'true' &&
    textAt(metadata.annotations, SOURCE_ANNOTATION)?.startsWith(`${metadata.namespace ?? ''}/`) === true
  return type === CA_TYPE && isMarked && isPublishedFor(target, release)
}

/** Whether its owner is one that a projection of this release has. */
export const isPublishedFor = (secret: StoredSecret, release: string): boolean =>
  isOwnedBy(secret, { ...RELEASE_KIND, name: release }) ||
  (secret.metadata.ownerReferences ?? []).some(
    ({ kind, apiVersion }) => kind === PROJECTION_KIND.kind && apiVersion === PROJECTION_KIND.apiVersion,
  )

/** Whether the platform was last asked to look at it with these selectors in its definition. */
export const hasSelectors = ({ metadata }: StoredSecret, digest: string): boolean =>
  textAt(metadata.annotations, SELECTORS_ANNOTATION) === digest

/** A projection that is not there yet. */
export const newTarget = (desired: Desired): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type: CA_TYPE,
  metadata: {
    name: targetName(desired.release),
    namespace: desired.namespace,
    labels: LABELS,
    annotations: annotationsOf(desired),
    ownerReferences: [referenceTo(desired.owner)],
  },
  data: dataOf(desired),
})

/** The projection as it should be, with whatever else others put on it; undefined when it is so already. */
export function healed(target: StoredSecret, desired: Desired): StoredSecret | undefined {
  const { metadata } = target
  const labels = { ...metadata.labels, ...LABELS }
  const isSeenAlready = hasSelectors(target, desired.selectors)
  const next: StoredSecret = {
    ...target,
    metadata: {
      ...metadata,
      labels: isSeenAlready ? labels : without(labels, MANAGED_LABEL),
      annotations: { ...metadata.annotations, ...annotationsOf(desired) },
      ownerReferences: [referenceTo(desired.owner)],
    },
    data: dataOf(desired),
  }
  return isSameJson(next, target) ? undefined : next
}

/** An immutable Secret keeps its data for as long as it lives. */
export const isStuck = ({ immutable, data }: StoredSecret, next: StoredSecret): boolean =>
  immutable === true && !isSameJson(data, next.data)

const LABELS = { [TENANT_CA_LABEL]: 'true', [COPY_LABEL]: 'true' } as const

const annotationsOf = ({ namespace, source, selectors }: Desired) => ({
  [SOURCE_ANNOTATION]: `${namespace}/${source}`,
  [SELECTORS_ANNOTATION]: selectors,
})

const dataOf = ({ pem }: Desired) => ({ [CA_KEY]: encodeData(pem) })

/** Deleting the owner waits for nothing: `blockOwnerDeletion` would need rights over its finalizers besides. */
const referenceTo = ({ apiVersion, kind, name, uid }: Owner): OwnerReference => ({
  apiVersion,
  kind,
  name,
  uid,
  controller: true,
  blockOwnerDeletion: false,
})

function without(labels: Readonly<Record<string, string>>, key: string): Readonly<Record<string, string>> {
  const { [key]: _dropped, ...rest } = labels
  return rest
}
