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
  return selects(secrets, { labels, nameOf: mayBeAccountSecret })
}

/** A Secret that is there, and the application that it is of. */
export interface SelectedSecret {
  readonly name: string
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly application: { readonly name: string; readonly kind: string }
}

/** Whether a definition's `spec.secrets` selects this very Secret, as it is labelled now. */
export function selectsSecret(secrets: unknown, selected: SelectedSecret): boolean {
  const labels = new Map<string, Label>(Object.entries(selected.labels))
  return selects(secrets, { labels, nameOf: (template) => nameMatchOf(template, selected) })
}

/** What is selected: its labels, and whether a template names it. */
interface Selected {
  readonly labels: ReadonlyMap<string, Label>
  readonly nameOf: (template: string) => Match
}

function selects(secrets: unknown, selected: Selected): boolean {
  const included = listAt(secrets, 'include').some((selector) => matchOf(selector, selected) !== 'no')
  return included && !listAt(secrets, 'exclude').some((selector) => matchOf(selector, selected) === 'sure')
}

/** Something that is no list counts as one of a thing that nobody knows. */
const listAt = (value: unknown, key: string): readonly unknown[] => {
  const list = own(value, key) ?? []
  return Array.isArray(list) ? list : [list]
}

function matchOf(selector: unknown, { labels, nameOf }: Selected): Match {
  if (!isObject(selector)) return 'maybe'
  return weakest([...labelMatches(selector, labels), nameMatch(selector, nameOf)])
}

const weakest = (matches: readonly Match[]): Match => {
  if (matches.includes('no')) return 'no'
  return matches.includes('maybe') ? 'maybe' : 'sure'
}

/** No list of names means every name. An empty one means none to the platform, until something drops the empty list. */
function nameMatch(selector: Json, nameOf: Selected['nameOf']): Match {
  if (own(selector, 'resourceNames') === undefined) return 'sure'
  const names = listAt(selector, 'resourceNames')
  if (names.length === 0) return 'maybe'
  if (!Array.isArray(own(selector, 'resourceNames'))) return 'maybe'
  const matches = names.map((name) => (typeof name === 'string' ? nameOf(name) : 'maybe'))
  return matches.find((match) => match === 'sure') ?? matches.find((match) => match === 'maybe') ?? 'no'
}

/** What a template may refer to (`internal/lineagecontrollerwebhook/matcher.go`). No value of them holds a dot. */
const FIELD = /\{\{-?\s*\.(name|kind|namespace)\s*-?\}\}/g

/** Whether a template could stand for `<release>.<account>.account`, whose first two parts hold no dot. */
function mayBeAccountSecret(template: string): Match {
  const text = template.replaceAll(FIELD, 'x').trim()
  return text.includes('{{') || /^[^.]+\.[^.]+\.account$/.test(text) ? 'maybe' : 'no'
}

/** A template that does more than name fields may stand for anything. */
function nameMatchOf(template: string, { name, namespace, application }: SelectedSecret): Match {
  const fields = { name: application.name, kind: application.kind.toLowerCase(), namespace }
  const text = template.replaceAll(FIELD, (_whole, field: keyof typeof fields) => fields[field]).trim()
  if (text.includes('{{')) return 'maybe'
  return text === name ? 'sure' : 'no'
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
