import { at, isObject, own, textAt } from '../core/json.ts'
import { fromBase64, toBase64, utf8 } from '../core/text.ts'
import { isDnsLabel, isDnsSubdomain } from '../k8s/names.ts'
import type { ResourceType, StoredObject } from './objects.ts'
import { badRequest, invalid } from './status.ts'

const META_FIELDS = [
  'name',
  'generateName',
  'namespace',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'generation',
]
const MAX_ANNOTATION_BYTES = 256 * 1024

/** A typed resource drops what it does not know. */
export function prune(type: ResourceType, object: StoredObject): StoredObject {
  const metadata = Object.fromEntries(
    META_FIELDS.flatMap((field) => {
      const value = own(object.metadata, field) ?? undefined
      return value === undefined ? [] : [[field, value]]
    }),
  ) as unknown as StoredObject['metadata']
  if (type.plural !== 'secrets') return { ...object, metadata }
  const { apiVersion, kind, immutable } = object
  return {
    apiVersion,
    kind,
    metadata,
    type: textAt(object, 'type') ?? 'Opaque',
    ...(immutable === undefined ? {} : { immutable }),
    data: { ...(isObject(object.data) ? object.data : {}), ...encoded(object.stringData) },
  }
}

const encoded = (stringData: unknown): Record<string, string> =>
  isObject(stringData)
    ? Object.fromEntries(
        Object.entries(stringData).map(([key, value]) => [key, toBase64(utf8(String(value)))]),
      )
    : {}

/** Refuses what kube-apiserver would refuse (`k8s.io/kubernetes/pkg/apis/core/validation`). Throws a Refusal. */
export function validate(type: ResourceType, object: StoredObject, old: StoredObject | undefined): void {
  validateMeta(type, object)
  if (type.plural === 'secrets') validateSecret(type, object, old)
  if (type.plural === 'events') validateEvent(type, object)
}

function validateMeta(type: ResourceType, { metadata }: StoredObject): void {
  const refuse = (field: string, problem: string) => invalid(type, metadata.name, field, problem)
  const isName = type.plural === 'namespaces' ? isDnsLabel : isDnsSubdomain
  // RBAC names are path segments only.
  const loose = type.group === 'rbac.authorization.k8s.io' && /^[^/%]+$/.test(metadata.name)
  if (!loose && !isName(metadata.name)) {
    throw refuse(
      'metadata.name',
      `Invalid value: ${JSON.stringify(metadata.name)}: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'`,
    )
  }
  const annotations = Object.entries(metadata.annotations ?? {})
  const bytes = annotations.reduce((sum, [key, value]) => sum + utf8(key).length + utf8(value).length, 0)
  if (bytes > MAX_ANNOTATION_BYTES)
    throw refuse('metadata.annotations', 'Too long: may not be more than 262144 bytes')
  validateLabels(type, metadata)
  for (const [index, owner] of (metadata.ownerReferences ?? []).entries()) {
    if (!textAt(owner, 'uid')) {
      throw refuse(`metadata.ownerReferences[${index}].uid`, 'Invalid value: "": must not be empty')
    }
  }
}

function validateLabels(type: ResourceType, { name, labels = {} }: StoredObject['metadata']): void {
  for (const [key, value] of Object.entries(labels)) {
    if (typeof value !== 'string') {
      throw badRequest('json: cannot unmarshal into Go struct field ObjectMeta.labels of type string')
    }
    if (!/^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/.test(value)) {
      const problem = `Invalid value: ${JSON.stringify(value)}: a valid label of ${key} is needed`
      throw invalid(type, name, 'metadata.labels', problem)
    }
  }
}

function validateSecret(type: ResourceType, object: StoredObject, old: StoredObject | undefined): void {
  const { name } = object.metadata
  const data = isObject(object.data) ? object.data : {}
  for (const [key, value] of Object.entries(data)) {
    if (!/^[-._a-zA-Z0-9]+$/.test(key))
      throw invalid(type, name, `data[${key}]`, 'Invalid value: a valid config key is needed')
    if (typeof value !== 'string' || fromBase64(value) === undefined) {
      throw badRequest(
        'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0',
      )
    }
  }
  if (object.type === 'kubernetes.io/basic-auth' && !('username' in data) && !('password' in data)) {
    throw invalid(type, name, 'data[username]', 'Required value')
  }
  if (old !== undefined) validateChange(type, object, old)
}

function validateChange(type: ResourceType, object: StoredObject, old: StoredObject): void {
  const { name } = object.metadata
  if (object.type !== old.type) throw invalid(type, name, 'type', 'Invalid value: field is immutable')
  if (old.immutable !== true) return
  const problem = 'Forbidden: field is immutable when `immutable` is set'
  if (object.immutable !== true) throw invalid(type, name, 'immutable', problem)
  if (JSON.stringify(object.data) !== JSON.stringify(old.data)) throw invalid(type, name, 'data', problem)
}

function validateEvent(type: ResourceType, object: StoredObject): void {
  const refuse = (field: string, problem: string) => invalid(type, object.metadata.name, field, problem)
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(textAt(object, 'eventTime') ?? '')) {
    throw badRequest('parsing time: eventTime is no RFC 3339 time with six decimals')
  }
  for (const field of ['reportingController', 'reportingInstance', 'action', 'reason']) {
    const length = textAt(object, field)?.length ?? 0
    if (length === 0) throw refuse(field, 'Required value')
    if (length > 128) throw refuse(field, 'Invalid value: can have at most 128 characters')
  }
  if (!['Normal', 'Warning'].includes(textAt(object, 'type') ?? ''))
    throw refuse('type', 'Invalid value: has to be Normal or Warning')
  if (utf8(textAt(object, 'note') ?? '').length > 1024)
    throw refuse('note', 'Invalid value: can have at most 1024 bytes')
  if (at(object, 'regarding', 'namespace') !== object.metadata.namespace) {
    throw refuse('involvedObject.namespace', 'Invalid value: does not match event.namespace')
  }
}
