import { isObject, own, parseJson, textAt } from '../core/json.ts'
import { fromBase64, fromUtf8, toBase64, utf8 } from '../core/text.ts'
import { apiVersionOf, type ResourceType, type StoredObject } from './objects.ts'
import { fieldSelector, labelSelector } from './selectors.ts'
import { badRequest, expired } from './status.ts'
import type { Store } from './store.ts'

/** Where a list goes on: the version it is of, and the last key shown. */
interface Continue {
  readonly version: string
  readonly after: string
}

interface ListState {
  readonly store: Store
  /** Tokens of lists that are older than this version are expired. */
  readonly oldestVersion: number
  readonly shown: (object: StoredObject) => StoredObject
}

export function list(
  { store, oldestVersion, shown }: ListState,
  type: ResourceType,
  namespace: string | undefined,
  query: URLSearchParams,
): unknown {
  const next = readContinue(query.get('continue') ?? '')
  if (next !== undefined && Number(next.version) < oldestVersion) throw expired()
  const limit = Number(query.get('limit') ?? '0')
  if (!Number.isInteger(limit) || limit < 0) throw badRequest('limit must be a number of zero or more')

  const byLabel = labelSelector(query.get('labelSelector') ?? '')
  const byField = fieldSelector(query.get('fieldSelector') ?? '')
  const all = store.list(type, namespace).filter((object) => next === undefined || keyOf(object) > next.after)
  const matching = all.filter((object) => byLabel(object) && byField(object))
  const page = limit === 0 ? matching : matching.slice(0, limit)
  const last = page.at(-1)
  const version = next?.version ?? store.version()
  const more = last !== undefined && page.length < matching.length
  return {
    kind: `${type.kind}List`,
    apiVersion: apiVersionOf(type),
    metadata: {
      resourceVersion: version,
      ...(more ? { continue: writeContinue({ version, after: keyOf(last) }) } : {}),
    },
    items: page.map(shown).map((object) => itemOf(type, object)),
  }
}

/** Items of built-in types carry no kind of their own. */
function itemOf(type: ResourceType, object: StoredObject): unknown {
  if (type.group !== '' && type.group.includes('.io') && type.group.split('.').length > 2) return object
  if (type.group === 'cozystack.io') return object
  const { apiVersion: _apiVersion, kind: _kind, ...item } = object
  return item
}

const keyOf = ({ metadata }: StoredObject): string => `${metadata.namespace ?? ''}/${metadata.name}`

const writeContinue = (next: Continue): string => toBase64(utf8(JSON.stringify(next)))

function readContinue(text: string): Continue | undefined {
  if (text === '') return undefined
  const bytes = fromBase64(text)
  const parsed = bytes === undefined ? undefined : parseJson(fromUtf8(bytes) ?? '')
  const version = textAt(parsed, 'version')
  const after = own(parsed, 'after')
  if (!isObject(parsed) || version === undefined || typeof after !== 'string') {
    throw badRequest('continue key is not valid: illegal base64 data at input byte 0')
  }
  return { version, after }
}
