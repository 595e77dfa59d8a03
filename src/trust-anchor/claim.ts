import { filledAt, isObject, own, textAt } from '../core/json.ts'
import { isDnsSubdomain } from '../k8s/names.ts'
import type { ObjectMeta, StoredSecret, TenantProjection } from '../k8s/objects.ts'
import { PUBLISH_KEY_ANNOTATION, PUBLISH_LABEL, PUBLISH_RELEASE_LABEL, RELEASE_LABEL } from './labels.ts'
import { DEFAULT_KEY } from './names.ts'
import { isPublishedFor, targetName } from './target.ts'

/** A key of a Secret in the namespace of whoever names it: as it was written, which may be no name at all. */
export interface Source {
  readonly name: string
  readonly key: string
}

/** What a TenantProjection asks for. */
export type Claim =
  | { readonly is: 'one'; readonly source: Source; readonly others: boolean }
  | { readonly is: 'many' }
  /** No CA, in so many words. `others`: something else, which nobody here knows. */
  | { readonly is: 'none'; readonly others: boolean }
  /** It does not say: a CRD that lost its schema hides what is stored. */
  | { readonly is: 'unreadable' }

const CA = 'CACert'

export function claimOf({ spec }: Pick<TenantProjection, 'spec'>): Claim {
  const projections = own(spec, 'projections')
  if (!Array.isArray(projections) || !projections.every((each) => filledAt(each, 'type') !== undefined)) {
    return { is: 'unreadable' }
  }
  const [first, second] = projections.filter((each) => textAt(each, 'type') === CA)
  if (second !== undefined) return { is: 'many' }
  if (first === undefined) return { is: 'none', others: projections.length > 0 }
  return { is: 'one', source: sourceIn(first), others: projections.length > 1 }
}

/** `api/internalapi/v1alpha1/tenantprojection_types.go`: white space around a key is none of it. */
function sourceIn(entry: unknown): Source {
  const key = textAt(entry, 'sourceKey')?.trim()
  return { name: textAt(entry, 'sourceSecretName') ?? '', key: key || DEFAULT_KEY }
}

/** Whether it asks for a CA, one or more: then no other leg speaks for the release. */
export const claimsCa = (projection: TenantProjection): boolean => {
  const { is } = claimOf(projection)
  return isLive(projection) && (is === 'one' || is === 'many')
}

/** Undefined when its label names none. */
export const releaseOfProjection = (projection: TenantProjection): string | undefined =>
  releaseAt(projection.metadata, RELEASE_LABEL)

/**
 * What the labels of a Secret ask for; undefined when they ask for nothing. Those of what is published ask for nothing: it
 * would be its own source, and never renewed.
 */
export function labelledClaim(secret: StoredSecret): LabelledClaim | undefined {
  const { metadata } = secret
  if (textAt(metadata.labels, PUBLISH_LABEL) !== 'true') return undefined
  const release = releaseAt(metadata, PUBLISH_RELEASE_LABEL)
  const isOurs = release !== undefined && metadata.name === targetName(release)
  if (isOurs && isPublishedFor(secret, release)) return undefined
  const key = textAt(metadata.annotations, PUBLISH_KEY_ANNOTATION)?.trim()
  return {
    release,
    source: { name: metadata.name, key: key || DEFAULT_KEY },
  }
}

export interface LabelledClaim {
  /** Undefined when the label that names it is missing, or names none. */
  readonly release: string | undefined
  readonly source: Source
}

function releaseAt({ labels }: ObjectMeta, label: string): string | undefined {
  const release = textAt(labels, label) ?? ''
  return isDnsSubdomain(release) ? release : undefined
}

/** One that is being deleted asks for nothing any more. */
export const isLive = ({ metadata }: { readonly metadata: ObjectMeta }): boolean =>
  isObject(metadata) && metadata.deletionTimestamp === undefined
