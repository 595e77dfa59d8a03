import type { Cause } from '../core/failure.ts'
import { isObject, type Json, own, textAt, textsOf } from '../core/json.ts'
import type { StoredObject } from './objects.ts'
import { invalidValue, requiredValue, unsupportedValue } from './status.ts'

const GROUP = 'rbac.authorization.k8s.io'

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** With defaults filled in (`k8s.io/kubernetes/pkg/apis/rbac/v1/defaults.go`). */
export const roleContent = (sent: Json): { readonly content: Json } => ({
  content: {
    rules: own(sent, 'rules') ?? null,
    ...(own(sent, 'aggregationRule') === undefined ? {} : { aggregationRule: own(sent, 'aggregationRule') }),
  },
})

export const bindingContent = (sent: Json): { readonly content: Json } => ({
  content: {
    ...(own(sent, 'subjects') === undefined
      ? {}
      : { subjects: listOf(own(sent, 'subjects')).map(withGroup) }),
    roleRef: { apiGroup: GROUP, ...Object(own(sent, 'roleRef')) },
  },
})

const withGroup = (subject: unknown): unknown =>
  own(subject, 'kind') === 'ServiceAccount' || !isObject(subject) ? subject : { apiGroup: GROUP, ...subject }

/** `k8s.io/kubernetes/pkg/apis/rbac/validation`. */
export function roleCauses(object: StoredObject, old: StoredObject | undefined): readonly Cause[] {
  if (object.kind === 'Role' || object.kind === 'ClusterRole') {
    return listOf(object.rules).flatMap((rule, index) => ruleCauses(rule, `rules[${index}]`))
  }
  const { roleRef } = object
  const changed =
    old !== undefined && ['kind', 'name'].some((field) => own(roleRef, field) !== own(old.roleRef, field))
  return [
    ...(changed ? [invalidValue('roleRef', roleRef, 'cannot change roleRef')] : []),
    ...roleRefCauses(object.kind, roleRef),
    ...listOf(object.subjects).flatMap((subject, index) => subjectCauses(subject, `subjects[${index}]`)),
  ]
}

function ruleCauses(rule: unknown, field: string): readonly Cause[] {
  const missing = (name: string) => textsOf(own(rule, name)).length === 0
  const needed = missing('nonResourceURLs') ? ['verbs', 'apiGroups', 'resources'] : ['verbs']
  return needed
    .filter(missing)
    .map((name) => requiredValue(`${field}.${name}`, `${name} must contain at least one value`))
}

function roleRefCauses(kind: string, roleRef: unknown): readonly Cause[] {
  const kinds = kind === 'RoleBinding' ? ['Role', 'ClusterRole'] : ['ClusterRole']
  const refKind = textAt(roleRef, 'kind') ?? ''
  return [
    ...(kinds.includes(refKind) ? [] : [unsupportedValue('roleRef.kind', refKind, kinds)]),
    ...(textAt(roleRef, 'name') ? [] : [requiredValue('roleRef.name')]),
  ]
}

function subjectCauses(subject: unknown, field: string): readonly Cause[] {
  const kind = textAt(subject, 'kind') ?? ''
  const kinds = ['ServiceAccount', 'User', 'Group']
  const group = textAt(subject, 'apiGroup') || (kind === 'ServiceAccount' ? '' : GROUP)
  const wanted = kind === 'ServiceAccount' ? '' : GROUP
  return [
    ...(textAt(subject, 'name') ? [] : [requiredValue(`${field}.name`)]),
    ...(kinds.includes(kind) ? [] : [unsupportedValue(`${field}.kind`, kind, kinds)]),
    ...(group === wanted ? [] : [unsupportedValue(`${field}.apiGroup`, group, [wanted])]),
  ]
}
