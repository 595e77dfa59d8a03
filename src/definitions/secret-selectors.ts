import { isObject, type Json, own, textAt, textsOf } from '../core/json.ts'

/** A label whose value is not known beforehand: the name of the application. */
const ANY = Symbol('any')
type Labels = ReadonlyMap<string, string | typeof ANY>

/** `sure`: whatever the application is called. `maybe`: for some name. */
type Match = 'no' | 'maybe' | 'sure'

/**
 * Whether a definition's `spec.secrets` (what a platform shows to tenants) could select an account Secret of its kind.
 * Within a selector labels and names must both match; selectors are alternatives; `exclude` wins.
 */
export function selectsAccountSecrets(
  secrets: unknown,
  kind: string,
  secretLabels: Readonly<Record<string, string>>,
): boolean {
  const labels: Labels = new Map<string, string | typeof ANY>([
    ...Object.entries(secretLabels),
    ['credentials.cozystack.io/account', 'true'],
    ['apps.cozystack.io/application.group', 'apps.cozystack.io'],
    ['apps.cozystack.io/application.kind', kind],
    ['apps.cozystack.io/application.name', ANY],
  ])
  const included = listAt(secrets, 'include').some((selector) => matchOf(selector, labels) !== 'no')
  return included && !listAt(secrets, 'exclude').some((selector) => matchOf(selector, labels) === 'sure')
}

const listAt = (value: unknown, key: string): readonly unknown[] => {
  const list = own(value, key)
  return Array.isArray(list) ? list : []
}

function matchOf(selector: unknown, labels: Labels): Match {
  if (!isObject(selector)) return 'no'
  return weakest([...labelMatches(selector, labels), nameMatch(selector)])
}

const weakest = (matches: readonly Match[]): Match => {
  if (matches.includes('no')) return 'no'
  return matches.includes('maybe') ? 'maybe' : 'sure'
}

/** Account Secrets end in `.account`, and what a template inserts has no dot: the end must stand in the template. */
function nameMatch(selector: Json): Match {
  const names = listAt(selector, 'resourceNames')
  if (names.length === 0) return 'sure'
  return names.some((name) => typeof name === 'string' && name.trimEnd().endsWith('.account'))
    ? 'maybe'
    : 'no'
}

function labelMatches(selector: Json, labels: Labels): readonly Match[] {
  const exact = own(selector, 'matchLabels')
  const pairs = isObject(exact) ? Object.keys(exact) : []
  return [
    ...pairs.map((key) => valueMatch(labels.get(key), [textAt(exact, key) ?? ''])),
    ...listAt(selector, 'matchExpressions').map((expression) => expressionMatch(expression, labels)),
  ]
}

function valueMatch(label: string | typeof ANY | undefined, values: readonly string[]): Match {
  if (label === ANY) return 'maybe'
  return label !== undefined && values.includes(label) ? 'sure' : 'no'
}

function expressionMatch(expression: unknown, labels: Labels): Match {
  const label = labels.get(textAt(expression, 'key') ?? '')
  switch (textAt(expression, 'operator')) {
    case 'In':
      return valueMatch(label, textsOf(own(expression, 'values')))
    case 'NotIn':
      return opposite(valueMatch(label, textsOf(own(expression, 'values'))))
    case 'Exists':
      return label === undefined ? 'no' : 'sure'
    case 'DoesNotExist':
      return label === undefined ? 'sure' : 'no'
    default:
      // An operator that nobody knows: assume the worst.
      return 'maybe'
  }
}

const opposite = (match: Match): Match => {
  if (match === 'maybe') return 'maybe'
  return match === 'no' ? 'sure' : 'no'
}
