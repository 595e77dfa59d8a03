import { textAt } from '../core/json.ts'
import { ok } from '../core/result.ts'
import type { ResourceType, StoredObject } from './objects.ts'
import { badRequest, type Outcome } from './status.ts'

export interface FieldSelector {
  readonly matches: (object: StoredObject) => boolean
  /** The one name that `metadata.name=` asks for: the authoriser sees it as the name of the request. */
  readonly name: string | undefined
}

interface Term {
  readonly field: string
  readonly equal: boolean
  readonly value: string
}

/** `k8s.io/apimachinery/pkg/fields`, over the fields that every type has, and a Secret's `type`. */
export function parseFieldSelector(type: ResourceType | undefined, text: string): Outcome<FieldSelector> {
  const terms: Term[] = []
  for (const part of text.match(/(?:[^\\,]|\\.|\\$)+/g) ?? []) {
    const split = /^(.*?)(!=|==|=)(.*)$/s.exec(part)
    if (split === null) return badRequest(`invalid selector: '${text}'; can't understand '${part}'`)
    const [, field = '', operator, raw = ''] = split
    const value = unescaped(raw)
    if (!value.ok) return value
    if (!isSupported(type, field)) return badRequest(`field label not supported: ${field}`)
    terms.push({ field, equal: operator !== '!=', value: value.value })
  }
  return ok({
    matches: (object) =>
      terms.every(({ field, equal, value }) => (fieldValue(object, field) === value) === equal),
    name: terms.find(({ field, equal }) => field === 'metadata.name' && equal)?.value,
  })
}

const isSupported = (type: ResourceType | undefined, field: string): boolean =>
  ['metadata.name', 'metadata.namespace'].includes(field) || (type?.kind === 'Secret' && field === 'type')

const fieldValue = (object: StoredObject, field: string): string => textAt(object, ...field.split('.')) ?? ''

function unescaped(raw: string): Outcome<string> {
  const wrong = /\\(?![\\,=])(.?)/s.exec(raw.replace(/\\[\\,=]/g, ''))
  if (wrong !== null) return badRequest(`invalid field selector: invalid escape sequence: ${wrong[0]}`)
  if (raw.replace(/\\./g, '').includes('=')) {
    return badRequest('invalid field selector: unescaped character in value: =')
  }
  return ok(raw.replace(/\\(.)/gs, '$1'))
}
