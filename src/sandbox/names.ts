import { isDnsLabel, isDnsSubdomain } from '../k8s/names.ts'
import type { ResourceType } from './objects.ts'

/**
 * What kube-apiserver finds wrong with a name, in its words (`k8s.io/apimachinery/pkg/util/validation` and
 * `pkg/api/validate/content`). Empty when nothing is wrong.
 */

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const NAME_PART = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const KEY_PART = new RegExp(`^${NAME_PART}$`)
const LABEL_VALUE = new RegExp(`^(${NAME_PART})?$`)
const ENDS = 'and must start and end with an alphanumeric character'
const WORD = `must consist of alphanumeric characters, '-', '_' or '.', ${ENDS}`

const maxLength = (length: number) => `must be no more than ${length} characters`

const pattern = (problem: string, regex: string, ...examples: readonly string[]): string =>
  `${problem} (e.g. ${examples.map((example) => `'${example}'`).join(',  or ')}, regex used for validation is '${regex}')`

const NOT_A_SUBDOMAIN = pattern(
  `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ${ENDS}`,
  `${LABEL}(\\.${LABEL})*`,
  'example.com',
)
const NOT_A_LABEL = pattern(
  `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ${ENDS}`,
  LABEL,
  'my-name',
  '123-abc',
)
const NOT_A_KEY = pattern(WORD, NAME_PART, 'MyName', 'my.name', '123-abc')

export function nameProblems({ names }: ResourceType, name: string): readonly string[] {
  if (names === 'label') return labelProblems(name)
  if (names === 'subdomain') return subdomainProblems(name)
  if (name === '.' || name === '..') return [`may not be '${name}'`]
  return ['/', '%'].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`)
}

/** A prefix may end in a dash, the names made of it do not (`maskTrailingDash`). */
export const prefixProblems = (type: ResourceType, prefix: string): readonly string[] =>
  nameProblems(type, prefix.length > 1 ? prefix.replace(/-$/, 'a') : prefix)

function subdomainProblems(name: string): readonly string[] {
  if (isDnsSubdomain(name)) return []
  const tooLong = name.length > 253 ? [maxLength(253)] : []
  return isDnsSubdomain(name.slice(0, 253)) && tooLong.length > 0 ? tooLong : [...tooLong, NOT_A_SUBDOMAIN]
}

function labelProblems(name: string): readonly string[] {
  if (isDnsLabel(name)) return []
  if (name.length > 63) return [maxLength(63)]
  return [isDnsSubdomain(name) ? 'must not contain dots' : NOT_A_LABEL]
}

/** A key of a label or an annotation: `name` or `prefix/name`. */
export function keyProblems(key: string): readonly string[] {
  const parts = key.split('/')
  if (parts.length > 2) {
    return [
      `a valid label key ${NOT_A_KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ]
  }
  const prefix = parts.length === 2 ? parts[0] : undefined
  return [...(prefix === undefined ? [] : keyPrefixProblems(prefix)), ...keyNameProblems(parts.at(-1) ?? '')]
}

const keyPrefixProblems = (prefix: string): readonly string[] =>
  prefix === ''
    ? ['prefix part must be non-empty']
    : subdomainProblems(prefix).map((problem) => `prefix part ${problem}`)

const keyNameProblems = (name: string): readonly string[] => [
  ...(name === '' ? ['name part must be non-empty'] : []),
  ...(name.length > 63 ? [`name part ${maxLength(63)}`] : []),
  ...(KEY_PART.test(name) ? [] : [`name part ${NOT_A_KEY}`]),
]

export const labelValueProblems = (value: string): readonly string[] => [
  ...(value.length > 63 ? [maxLength(63)] : []),
  ...(LABEL_VALUE.test(value)
    ? []
    : [
        pattern(
          `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', ${ENDS}`,
          `(${NAME_PART})?`,
          'MyValue',
          'my_value',
          '12345',
        ),
      ]),
]

/** A key of a Secret's `data`. */
export function dataKeyProblems(key: string): readonly string[] {
  const word = /^[-._a-zA-Z0-9]+$/.test(key)
    ? []
    : [
        pattern(
          "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
          '[-._a-zA-Z0-9]+',
          'key.name',
          'KEY_NAME',
          'key-name',
        ),
      ]
  if (key === '.') return [...word, "must not be '.'"]
  if (key === '..') return [...word, "must not be '..'"]
  return key.startsWith('..') ? [...word, "must not start with '..'"] : word
}
