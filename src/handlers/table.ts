import type { CredentialView } from '../credentials/view.ts'

/** `metav1.Table`: what kubectl prints. Priority 1 columns are for `-o wide`. */
const COLUMNS = [
  { name: 'Name', type: 'string', format: 'name', description: 'Name of the credential', priority: 0 },
  { name: 'Application', type: 'string', format: '', description: 'Name of the application', priority: 0 },
  {
    name: 'User',
    type: 'string',
    format: '',
    description: 'Name of the user in the application',
    priority: 0,
  },
  { name: 'Origin', type: 'string', format: '', description: 'Who can know the password', priority: 0 },
  { name: 'Age', type: 'string', format: '', description: 'Time since the account was created', priority: 0 },
  { name: 'Kind', type: 'string', format: '', description: 'Kind of the application', priority: 1 },
  { name: 'Issued', type: 'string', format: '', description: 'When the password last changed', priority: 1 },
  { name: 'By', type: 'string', format: '', description: 'Who changed the password last', priority: 1 },
] as const

type IncludeObject = 'None' | 'Metadata' | 'Object'

interface TableOptions {
  readonly apiVersion: string
  readonly includeObject: IncludeObject
  readonly now: number
}

export function tableOf(
  views: readonly CredentialView[],
  metadata: Readonly<Record<string, unknown>>,
  options: TableOptions,
): unknown {
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: COLUMNS,
    rows: views.map((view) => ({ cells: cellsOf(view, options.now), ...objectOf(view, options) })),
  }
}

function cellsOf({ metadata, spec, status }: CredentialView, now: number): readonly string[] {
  const { origin, at = '<none>', by = '<none>' } = status.password
  const age = ageOf(metadata.creationTimestamp, now)
  return [metadata.name, spec.application.name, spec.user, origin, age, spec.application.kind, at, by]
}

function objectOf(view: CredentialView, { apiVersion, includeObject }: TableOptions): { object?: unknown } {
  if (includeObject === 'None') return {}
  if (includeObject === 'Object') return { object: { apiVersion, kind: 'Credential', ...view } }
  const { metadata } = view
  return { object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata } }
}

function ageOf(creationTimestamp: string | undefined, now: number): string {
  // biome-ignore lint/style/noRestrictedGlobals: parses a given time, reads no clock
  const created = Date.parse(creationTimestamp ?? '')
  return Number.isNaN(created) ? '<unknown>' : humanDuration(Math.trunc((now - created) / 1000))
}

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const YEAR = 365 * DAY

/** Units and their limits as in `k8s.io/apimachinery/pkg/util/duration` (HumanDuration). */
const STEPS: readonly {
  under: number
  large: readonly [number, string]
  small?: readonly [number, string]
}[] = [
  { under: 2 * MINUTE, large: [1, 's'] },
  { under: 10 * MINUTE, large: [MINUTE, 'm'], small: [1, 's'] },
  { under: 3 * HOUR, large: [MINUTE, 'm'] },
  { under: 8 * HOUR, large: [HOUR, 'h'], small: [MINUTE, 'm'] },
  { under: 2 * DAY, large: [HOUR, 'h'] },
  { under: 8 * DAY, large: [DAY, 'd'], small: [HOUR, 'h'] },
  { under: 2 * YEAR, large: [DAY, 'd'] },
  { under: 8 * YEAR, large: [YEAR, 'y'], small: [DAY, 'd'] },
  { under: Number.POSITIVE_INFINITY, large: [YEAR, 'y'] },
]

/** Of whole seconds, cut towards zero: `93` is `93s`, `4000` is `66m`, `300000` is `3d11h`. */
export function humanDuration(seconds: number): string {
  if (seconds < -1) return '<invalid>'
  const age = Math.max(seconds, 0)
  const step = STEPS.find(({ under }) => age < under)
  if (step === undefined) return '<unknown>'
  const [unit, letter] = step.large
  const large = `${Math.floor(age / unit)}${letter}`
  const rest = step.small === undefined ? 0 : Math.floor((age % unit) / step.small[0])
  return rest === 0 || step.small === undefined ? large : `${large}${rest}${step.small[1]}`
}
