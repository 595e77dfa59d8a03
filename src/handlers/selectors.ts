import { fail, ok, type Result } from '../core/result.ts'
import { SHOWN_LABELS } from '../credentials/view.ts'

const KEY = '([A-Za-z0-9./_-]+)'
const VALUE = '([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?'
/** Long enough for sets of many names; patterns with two open ends take the square of it. */
const MAX_SELECTOR = 4096
const REQUIREMENTS = [
  new RegExp(`^!?\\s*${KEY}$`),
  new RegExp(`^${KEY}\\s*(==|=|!=)\\s*${VALUE}$`),
  new RegExp(`^${KEY}\\s+(in|notin)\\s*\\(\\s*${VALUE}(\\s*,\\s*${VALUE})*\\s*\\)$`),
]

/**
 * Checks a label selector of a caller, which may name the application labels only: the others on an account Secret are
 * the operators'. Answers it for use on Secrets. Fails with `request_malformed`.
 */
export function parseLabelSelector(selector: string): Result<string> {
  if (selector.length > MAX_SELECTOR)
    return malformed(`labelSelector is longer than ${MAX_SELECTOR} characters`)
  if (selector.trim() === '') return ok('')
  for (const requirement of splitOutsideParentheses(selector)) {
    const key = REQUIREMENTS.map((pattern) => pattern.exec(requirement)?.[1]).find(
      (found) => found !== undefined,
    )
    if (key === undefined) return malformed('labelSelector is no label selector')
    if (!SHOWN_LABELS.includes(key)) {
      return malformed(`labelSelector may name these labels only: ${SHOWN_LABELS.join(', ')}`)
    }
  }
  return ok(selector)
}

/**
 * Turns a field selector over Credentials into one over their Secrets. `metadata.name` and `metadata.namespace` are
 * selectable, with `=`, `==` and `!=`. Fails with `request_malformed`.
 */
export function parseFieldSelector(selector: string): Result<string> {
  if (selector.length > MAX_SELECTOR)
    return malformed(`fieldSelector is longer than ${MAX_SELECTOR} characters`)
  const parts: string[] = []
  for (const requirement of selector.split(',').map((part) => part.trim())) {
    if (requirement === '') continue
    const match = /^(metadata\.name|metadata\.namespace)\s*(==|=|!=)\s*([a-z0-9.-]*)$/.exec(requirement)
    if (match === null) {
      return malformed('fieldSelector may compare metadata.name and metadata.namespace only')
    }
    const [, field = '', operator = '', value = ''] = match
    parts.push(`${field}${operator}${value}${field === 'metadata.name' ? '.account' : ''}`)
  }
  return ok(parts.join(','))
}

/**
 * The one name that a field selector allows. kube-apiserver asks RBAC about a list with it as about that object
 * (`k8s.io/apiserver/pkg/endpoints/request/requestinfo.go`), so that a role with `resourceNames` is good for it.
 */
export const exactNameIn = (selector: string): string | undefined =>
  selector
    .split(',')
    .map((requirement) => /^\s*metadata\.name\s*==?\s*([a-z0-9.-]+)\s*$/.exec(requirement)?.[1])
    .find((name) => name !== undefined && name !== '.' && name !== '..')

const malformed = (message: string): Result<never> => fail({ reason: 'request_malformed', message })

const splitOutsideParentheses = (selector: string): readonly string[] =>
  selector.split(/,(?![^(]*\))/).map((requirement) => requirement.trim())
