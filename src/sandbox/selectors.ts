import type { StoredObject } from './objects.ts'
import { badRequest } from './status.ts'

type Labels = Readonly<Record<string, string>>
type Requirement = (labels: Labels) => boolean

/** `k8s.io/apimachinery/pkg/labels`: equality and set-based requirements, all of which must hold. */
export function labelSelector(text: string): (object: StoredObject) => boolean {
  const requirements = text
    .split(/,(?![^(]*\))/)
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(requirementOf)
  return ({ metadata }) => requirements.every((holds) => holds(metadata.labels ?? {}))
}

function requirementOf(text: string): Requirement {
  const set = /^([^\s!=()]+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(text)
  if (set !== null) {
    const [, key = '', operator, list = ''] = set
    const values = list.split(',').map((value) => value.trim())
    return operator === 'in'
      ? (labels) => Object.hasOwn(labels, key) && values.includes(labels[key] ?? '')
      : (labels) => !Object.hasOwn(labels, key) || !values.includes(labels[key] ?? '')
  }
  const equality = /^([^\s!=()]+)\s*(==|=|!=)\s*([A-Za-z0-9._-]*)$/.exec(text)
  if (equality !== null) {
    const [, key = '', operator, value] = equality
    return operator === '!=' ? (labels) => labels[key] !== value : (labels) => labels[key] === value
  }
  const existence = /^(!?)\s*([^\s!=()]+)$/.exec(text)
  if (existence === null) throw badRequest(`unable to parse requirement: ${JSON.stringify(text)}`)
  const [, not, key = ''] = existence
  return (labels) => Object.hasOwn(labels, key) === (not === '')
}

/** `metadata.name` and `metadata.namespace`, with `=`, `==` and `!=`. */
export function fieldSelector(text: string): (object: StoredObject) => boolean {
  const requirements = text
    .split(',')
    .filter((part) => part.trim() !== '')
    .map(fieldOf)
  return (object) => requirements.every((holds) => holds(object))
}

function fieldOf(text: string): (object: StoredObject) => boolean {
  const match = /^\s*metadata\.(name|namespace)\s*(==|=|!=)\s*(\S*)\s*$/.exec(text)
  if (match === null) throw badRequest(`field label not supported: ${text.split(/[=!]/)[0]}`)
  const [, field, operator, value] = match
  return ({ metadata }) => {
    const equal = (field === 'name' ? metadata.name : (metadata.namespace ?? '')) === value
    return operator === '!=' ? !equal : equal
  }
}
