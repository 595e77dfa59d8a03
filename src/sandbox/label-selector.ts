import { ok } from '../core/result.ts'
import { keyProblems, labelValueProblems } from './names.ts'
import { badRequest, type Outcome } from './status.ts'

type Labels = Readonly<Record<string, string>>
export type LabelSelector = (labels: Labels) => boolean

/** A token of the grammar in `k8s.io/apimachinery/pkg/labels/selector.go`; `''` ends the text. */
type Token = string

/** What the parser found where it expected something else. Stays within this file. */
interface Wrong {
  readonly wrong: string
}
const isWrong = (value: object): value is Wrong => 'wrong' in value

const OPERATORS = ['in', 'notin', '=', '==', '!=', 'gt', 'lt']
const SYMBOLS = ['', ',', '(', ')', '!', '=', '==', '!=', '>', '<']
const isWord = (token: Token): boolean => !SYMBOLS.includes(token)
const startsRequirement = (token: Token): boolean => isWord(token) || token === '!'

/** Equality and set-based requirements, all of which must hold. Refused, in the API server's words, when malformed. */
export function parseLabelSelector(text: string): Outcome<LabelSelector> {
  const tokens = [...(text.match(/==|!=|[=!<>(),]|[^\s=!<>(),]+/g) ?? []), '']
  const first = tokens[0] ?? ''
  if (first !== '' && !startsRequirement(first)) {
    return badRequest(`found '${first}', expected: !, identifier, or 'end of string'`)
  }
  const requirements: LabelSelector[] = []
  while (tokens[0] !== '') {
    const requirement = parseRequirement(tokens)
    if (isWrong(requirement)) return badRequest(`unable to parse requirement: ${requirement.wrong}`)
    requirements.push(requirement.holds)
    const separator = parseSeparator(tokens)
    if (separator !== undefined) return badRequest(separator.wrong)
  }
  return ok((labels) => requirements.every((holds) => holds(labels)))
}

/** Consumes a comma, which must not be the last token. */
function parseSeparator(tokens: Token[]): Wrong | undefined {
  const [token = '', next = ''] = tokens
  if (token === '') return undefined
  if (token !== ',') return { wrong: `found '${token}', expected: ',' or 'end of string'` }
  tokens.shift()
  return startsRequirement(next) ? undefined : { wrong: `found '${next}', expected: identifier after ','` }
}

/** Consumes one requirement from the front. */
function parseRequirement(tokens: Token[]): { readonly holds: LabelSelector } | Wrong {
  const negated = tokens[0] === '!'
  if (negated) tokens.shift()
  const key = tokens.shift() ?? ''
  if (!isWord(key)) return { wrong: `found '${key}', expected: identifier` }
  const problems = keyProblems(key)
  if (problems.length > 0)
    return { wrong: `<nil>: Invalid value: ${JSON.stringify(key)}: ${problems.join('; ')}` }
  if (negated) return { holds: (labels) => !Object.hasOwn(labels, key) }
  if (tokens[0] === '' || tokens[0] === ',') return { holds: (labels) => Object.hasOwn(labels, key) }

  const operator = tokens.shift() ?? ''
  const isSet = operator === 'in' || operator === 'notin'
  if (!isSet && !['=', '==', '!=', '>', '<'].includes(operator)) {
    return { wrong: `found '${operator}', expected: ${OPERATORS.join(', ')}` }
  }
  const values = isSet ? parseSet(tokens) : parseExact(tokens)
  if (isWrong(values)) return values
  return requirementOf(key, operator, values)
}

function parseExact(tokens: Token[]): readonly string[] | Wrong {
  if (tokens[0] === '' || tokens[0] === ',') return ['']
  const value = tokens.shift() ?? ''
  return isWord(value) ? [value] : { wrong: `found '${value}', expected: identifier` }
}

/** `(a,b)`: an empty place is an empty value. */
function parseSet(tokens: Token[]): readonly string[] | Wrong {
  const open = tokens.shift()
  if (open !== '(') return { wrong: `found '${open}' expected: '('` }
  const values: string[] = []
  let value = ''
  for (let token = tokens.shift() ?? ''; token !== ')'; token = tokens.shift() ?? '') {
    if (token === ',') {
      values.push(value)
      value = ''
      continue
    }
    if (value !== '') return { wrong: `found '${token}', expected: ',' or ')'` }
    if (!isWord(token)) return { wrong: `found '${token}', expected: ',', or identifier` }
    value = token
  }
  return [...values, value]
}

function requirementOf(
  key: string,
  operator: string,
  values: readonly string[],
): { readonly holds: LabelSelector } | Wrong {
  for (const [index, value] of values.entries()) {
    const problems = labelValueProblems(value)
    if (problems.length > 0) {
      return {
        wrong: `values[${index}][${key}]: Invalid value: ${JSON.stringify(value)}: ${problems.join('; ')}`,
      }
    }
  }
  const [first = ''] = values
  if (operator === '>' || operator === '<') return compare(key, operator, first)
  const isOneOf = (labels: Labels) => Object.hasOwn(labels, key) && values.includes(labels[key] ?? '')
  const isNegative = operator === '!=' || operator === 'notin'
  return { holds: isNegative ? (labels) => !isOneOf(labels) : isOneOf }
}

function compare(key: string, operator: '>' | '<', limit: string): { readonly holds: LabelSelector } | Wrong {
  if (!/^[+-]?\d+$/.test(limit)) {
    const why = "for 'Gt', 'Lt' operators, the value must be an integer"
    return { wrong: `values[0]: Invalid value: ${JSON.stringify(limit)}: ${why}` }
  }
  return {
    holds: (labels) => {
      const value = Object.hasOwn(labels, key) ? (labels[key] ?? '') : ''
      if (!/^[+-]?\d+$/.test(value)) return false
      return operator === '>' ? Number(value) > Number(limit) : Number(value) < Number(limit)
    },
  }
}
