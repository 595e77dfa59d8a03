import { isObject, type Json, own, textAt, textsOf } from '../core/json.ts'

/** A label that is there, with a value that nobody knows beforehand: the name of the application. */
const ANY = Symbol('any')
/** A label that may be there: the platform puts it on when the object is admitted. */
const STAMPED = Symbol('stamped')
type Label = string | typeof ANY | typeof STAMPED | undefined

/** `sure`: whatever the application is called. `maybe`: for some name, or some day. */
type Match = 'no' | 'maybe' | 'sure'

/**
 * Whether a definition's `spec.secrets` (what a platform shows to tenants) could select an account Secret of its kind.
 * Within a selector labels and names must both match; selectors are alternatives; an exclusion wins. In doubt an
 * inclusion counts and an exclusion does not: what has another shape than the CRD's is in doubt.
 */
export function selectsAccountSecrets(
  secrets: unknown,
  kind: string,
  secretLabels: Readonly<Record<string, string>>,
): boolean {
  const labels = new Map<string, Label>([
    ...Object.entries(secretLabels),
    ['credentials.cozystack.io/account', 'true'],
    ['apps.cozystack.io/application.group', 'apps.cozystack.io'],
    ['apps.cozystack.io/application.kind', kind],
    ['apps.cozystack.io/application.name', ANY],
    ['internal.cozystack.io/managed-by-cozystack', STAMPED],
    ['internal.cozystack.io/tenantresource', STAMPED],
  ])
  const included = listAt(secrets, 'include').some((selector) => matchOf(selector, labels) !== 'no')
  return included && !listAt(secrets, 'exclude').some((selector) => matchOf(selector, labels) === 'sure')
}

/** Something that is no list counts as one of a thing that nobody knows. */
const listAt = (value: unknown, key: string): readonly unknown[] => {
  const list = own(value, key) ?? []
  return Array.isArray(list) ? list : [list]
}

function matchOf(selector: unknown, labels: ReadonlyMap<string, Label>): Match {
  if (!isObject(selector)) return 'maybe'
  return weakest([...labelMatches(selector, labels), nameMatch(selector)])
}

const weakest = (matches: readonly Match[]): Match => {
  if (matches.includes('no')) return 'no'
  return matches.includes('maybe') ? 'maybe' : 'sure'
}

/** No list of names means every name. An empty one means none to the platform, until something drops the empty list. */
function nameMatch(selector: Json): Match {
  if (own(selector, 'resourceNames') === undefined) return 'sure'
  const names = listAt(selector, 'resourceNames')
  if (names.length === 0) return 'maybe'
  if (!Array.isArray(own(selector, 'resourceNames'))) return 'maybe'
  return names.some((name) => typeof name !== 'string' || mayNameAccountSecret(name)) ? 'maybe' : 'no'
}

/** What a template may refer to. None of it holds a dot. */
const FIELD = /\{\{-?\s*\.(?:name|kind|namespace)\s*-?\}\}/g

/** Whether a template could stand for `<release>.<account>.account`, whose first two parts hold no dot. */
function mayNameAccountSecret(template: string): boolean {
  const text = template.replaceAll(FIELD, 'x').trim()
  return text.includes('{{') || /^[^.]+\.[^.]+\.account$/.test(text)
}

function labelMatches(selector: Json, labels: ReadonlyMap<string, Label>): readonly Match[] {
  const exact = own(selector, 'matchLabels') ?? {}
  const pairs = isObject(exact) ? Object.keys(exact) : []
  return [
    ...(isObject(exact) ? [] : ['maybe' as const]),
    ...pairs.map((key) => valueMatch(labels.get(key), [textAt(exact, key) ?? ''])),
    ...listAt(selector, 'matchExpressions').map((expression) => expressionMatch(expression, labels)),
  ]
}

function valueMatch(label: Label, values: readonly string[]): Match {
  if (typeof label === 'symbol') return 'maybe'
  return label !== undefined && values.includes(label) ? 'sure' : 'no'
}

function presence(label: Label): Match {
  if (label === STAMPED) return 'maybe'
  return label === undefined ? 'no' : 'sure'
}

function expressionMatch(expression: unknown, labels: ReadonlyMap<string, Label>): Match {
  const label = labels.get(textAt(expression, 'key') ?? '')
  switch (textAt(expression, 'operator')) {
    case 'In':
      return valueMatch(label, textsOf(own(expression, 'values')))
    case 'NotIn':
      return opposite(valueMatch(label, textsOf(own(expression, 'values'))))
    case 'Exists':
      return presence(label)
    case 'DoesNotExist':
      return opposite(presence(label))
    default:
      // An operator that nobody knows: assume the worst.
      return 'maybe'
  }
}

const opposite = (match: Match): Match => {
  if (match === 'maybe') return 'maybe'
  return match === 'no' ? 'sure' : 'no'
}
