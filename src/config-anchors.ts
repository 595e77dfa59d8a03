import { isObject, own, parseJson } from './core/json.ts'
import { type AnchorNames, DEFAULT_NAMES, type NameRule, nameRuleOf } from './trust-anchor/names.ts'
import type { Legs } from './trust-anchor/services.ts'

export const ANCHOR_VARIABLES = [
  'MINTONCE_TRUST_ANCHORS',
  'MINTONCE_TRUST_ANCHOR_LABELS',
  'MINTONCE_TRUST_ANCHOR_NAMES',
] as const

export interface Anchors {
  /** Ways to declare that a CA be published. Undefined: none is. */
  readonly anchors: Legs | undefined
}

type Env = Readonly<Record<string, string | undefined>>

/** Adds to the problems, by variable. */
export function readAnchors(env: Env, problems: string[]): Anchors {
  const isOn = readSwitch(env, 'MINTONCE_TRUST_ANCHORS', problems)
  const labels = readSwitch(env, 'MINTONCE_TRUST_ANCHOR_LABELS', problems)
  const names = readNames(env, problems)
  if (isOn) return { anchors: { labels, names } }
  if (labels) problems.push('MINTONCE_TRUST_ANCHOR_LABELS: needs MINTONCE_TRUST_ANCHORS=on')
  if (names.size > 0) problems.push('MINTONCE_TRUST_ANCHOR_NAMES: needs MINTONCE_TRUST_ANCHORS=on')
  return { anchors: undefined }
}

function readSwitch(env: Env, name: (typeof ANCHOR_VARIABLES)[number], problems: string[]): boolean {
  const value = env[name] || 'off'
  if (value !== 'on' && value !== 'off') problems.push(`${name}: must be one of off, on`)
  return value === 'on'
}

/** Of an application, as a label's value has it too. */
const KIND = /^[A-Z][A-Za-z0-9]{0,62}$/
const NONE: AnchorNames = new Map()

/** `default`, or a table of one's own, which takes its place. */
function readNames({ MINTONCE_TRUST_ANCHOR_NAMES: text }: Env, problems: string[]): AnchorNames {
  if (!text) return NONE
  if (text === 'default') return DEFAULT_NAMES
  const table = parseJson(text)
  const rules = isObject(table)
    ? Object.keys(table).map((kind) => [kind, ruleOf(own(table, kind))] as const)
    : []
  const known = rules.filter(
    (rule): rule is readonly [string, NameRule] => KIND.test(rule[0]) && rule[1] !== undefined,
  )
  if (rules.length > 0 && known.length === rules.length) return new Map(known)
  problems.push(
    'MINTONCE_TRUST_ANCHOR_NAMES: must be default, or JSON such as {"Postgres":{"source":"{release}-ca","key":"ca.crt"}}: ' +
      'by kind of application, a name with {release} in it once, and the key of a Secret',
  )
  return NONE
}

/** Nothing but these two fields: a misspelt one would be left out in silence. */
function ruleOf(value: unknown): NameRule | undefined {
  if (!isObject(value) || Object.keys(value).some((field) => field !== 'source' && field !== 'key'))
    return undefined
  return nameRuleOf(own(value, 'source'), own(value, 'key'))
}
