import type { Cause } from '../core/failure.ts'
import { isObject, own } from '../core/json.ts'
import { utf8 } from '../core/text.ts'
import { keyProblems, labelValueProblems, nameProblems, prefixProblems } from './names.ts'
import type { Metadata, OwnerReference, ResourceType } from './objects.ts'
import { forbiddenValue, invalidValue, requiredValue, tooLong } from './status.ts'

const MAX_ANNOTATION_BYTES = 256 * 1024
const STANDARD_FINALIZERS = ['kubernetes', 'orphan', 'foregroundDeletion']

type Shape = 'text' | 'number' | 'texts' | 'map' | 'objects'

const SHAPES: readonly (readonly [keyof Metadata, Shape])[] = [
  ['name', 'text'],
  ['generateName', 'text'],
  ['namespace', 'text'],
  ['uid', 'text'],
  ['resourceVersion', 'text'],
  ['generation', 'number'],
  ['creationTimestamp', 'text'],
  ['deletionTimestamp', 'text'],
  ['deletionGracePeriodSeconds', 'number'],
  ['labels', 'map'],
  ['annotations', 'map'],
  ['ownerReferences', 'objects'],
  ['finalizers', 'texts'],
]

const isText = (value: unknown): boolean => typeof value === 'string'

const FITS: Readonly<Record<Shape, (value: unknown) => boolean>> = {
  text: isText,
  number: (value) => typeof value === 'number',
  texts: (value) => Array.isArray(value) && value.every(isText),
  map: (value) => isObject(value) && Object.values(value).every(isText),
  objects: (value) => Array.isArray(value) && value.every(isObject),
}

/** The known fields of `metadata`, or what does not fit. Unknown fields, nulls and empty values are dropped. */
export function readMetadata(
  sent: unknown,
): { readonly metadata: Partial<Metadata> } | { readonly problem: string } {
  if (sent !== undefined && sent !== null && !isObject(sent))
    return { problem: goError('ObjectMeta', 'metadata') }
  const metadata: Record<string, unknown> = {}
  for (const [field, shape] of SHAPES) {
    const value = own(sent, field) ?? undefined
    if (value === undefined) continue
    if (!FITS[shape](value)) return { problem: goError('ObjectMeta', `metadata.${field}`) }
    if (!isEmpty(value)) metadata[field] = value
  }
  return { metadata: metadata as Partial<Metadata> }
}

export const goError = (struct: string, field: string): string =>
  `json: cannot unmarshal into Go struct field ${struct}.${field}`

const isEmpty = (value: unknown): boolean =>
  value === '' ||
  (Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0)

/** `k8s.io/apimachinery/pkg/api/validation/objectmeta.go`. */
export function metadataCauses(type: ResourceType, metadata: Metadata): readonly Cause[] {
  const { name, generateName = '' } = metadata
  return [
    ...(generateName === '' ? [] : prefixProblems(type, generateName)).map((problem) =>
      invalidValue('metadata.generateName', generateName, problem),
    ),
    ...(name === '' ? [requiredValue('metadata.name', 'name or generateName is required')] : []),
    ...(name === '' ? [] : nameProblems(type, name)).map((problem) =>
      invalidValue('metadata.name', name, problem),
    ),
    ...labelCauses(metadata.labels ?? {}),
    ...annotationCauses(metadata.annotations ?? {}),
    ...ownerCauses(metadata.ownerReferences ?? []),
    ...finalizerCauses(type, metadata.finalizers ?? []),
  ]
}

const labelCauses = (labels: Readonly<Record<string, string>>): readonly Cause[] =>
  Object.entries(labels).flatMap(([key, value]) => [
    ...keyProblems(key).map((problem) => invalidValue('metadata.labels', key, problem)),
    ...labelValueProblems(value).map((problem) => invalidValue('metadata.labels', value, problem)),
  ])

function annotationCauses(annotations: Readonly<Record<string, string>>): readonly Cause[] {
  const entries = Object.entries(annotations)
  const bytes = entries.reduce((sum, [key, value]) => sum + utf8(key).length + utf8(value).length, 0)
  return [
    ...entries.flatMap(([key]) =>
      keyProblems(key.toLowerCase()).map((problem) => invalidValue('metadata.annotations', key, problem)),
    ),
    ...(bytes > MAX_ANNOTATION_BYTES ? [tooLong('metadata.annotations', MAX_ANNOTATION_BYTES)] : []),
  ]
}

function ownerCauses(owners: readonly OwnerReference[]): readonly Cause[] {
  const field = 'metadata.ownerReferences'
  const controllers = owners.filter(({ controller }) => controller === true)
  const [first, second] = controllers
  const twice =
    first === undefined || second === undefined
      ? []
      : [
          invalidValue(
            field,
            owners,
            `Only one reference can have Controller set to true. Found "true" in references for ${first.kind}/${first.name} and ${second.kind}/${second.name}`,
          ),
        ]
  return [...owners.flatMap((owner) => ownerProblems(field, owner)), ...twice]
}

function ownerProblems(field: string, owner: OwnerReference): readonly Cause[] {
  const missing = (['apiVersion', 'kind', 'name', 'uid'] as const).filter((part) => !own(owner, part))
  const causes = missing.map((part) =>
    invalidValue(
      `${field}.${part}`,
      '',
      part === 'apiVersion' ? 'version must not be empty' : 'must not be empty',
    ),
  )
  if (owner.apiVersion !== 'v1' || owner.kind !== 'Event') return causes
  return [...causes, invalidValue(field, owner, '/v1, Kind=Event is disallowed from being an owner')]
}

function finalizerCauses(type: ResourceType, finalizers: readonly string[]): readonly Cause[] {
  return finalizers.flatMap((finalizer, index) => {
    const problems = keyProblems(finalizer)
    if (problems.length > 0) {
      return problems.map((problem) => invalidValue('metadata.finalizers', finalizer, problem))
    }
    const isQualified = finalizer.includes('/') || STANDARD_FINALIZERS.includes(finalizer)
    if (type.group !== '' || isQualified) return []
    const problem = 'name is neither a standard finalizer name nor is it fully qualified'
    return [invalidValue(`metadata.finalizers[${index}]`, finalizer, problem)]
  })
}

/** What is wrong with a change of `metadata`: a deletion that has begun takes no new finalizers. */
export function metadataChangeCauses(metadata: Metadata, old: Metadata): readonly Cause[] {
  if (old.deletionTimestamp === undefined) return []
  const added = (metadata.finalizers ?? []).filter((each) => !old.finalizers?.includes(each)).sort()
  if (added.length === 0) return []
  const list = added.map((each) => JSON.stringify(each)).join(', ')
  return [
    forbiddenValue(
      'metadata.finalizers',
      `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
    ),
  ]
}
