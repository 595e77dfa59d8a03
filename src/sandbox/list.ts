import { isObject, own, parseJson, textAt } from '../core/json.ts'
import { ok } from '../core/result.ts'
import { fromBase64, fromUtf8, toBase64, utf8 } from '../core/text.ts'
import { parseFieldSelector } from './field-selector.ts'
import { parseLabelSelector } from './label-selector.ts'
import { apiVersionOf, qualifiedName, type ResourceType, type StoredObject } from './objects.ts'
import { badRequest, expired, type Outcome } from './status.ts'
import type { Store } from './store.ts'

/** Where a list goes on. */
interface Continue {
  /** The version that the first page showed, or -1: what is there now. */
  readonly version: number
  /** The last key shown, below the list's own path. */
  readonly after: string
}

export interface Page {
  readonly items: readonly StoredObject[]
  readonly version: number
  readonly next: string
  readonly remaining: number | undefined
}

export interface Lister {
  readonly list: (type: ResourceType, namespace: string | undefined, query: URLSearchParams) => Outcome<Page>
  /** As when etcd is compacted: every token handed out so far answers 410. */
  readonly expire: () => void
}

/** Lists that are continued while objects come and go; the oldest are forgotten. */
const MAX_SNAPSHOTS = 64
const NOW = -1

/** Every page of a list is of the version that the first one was of. */
export function createLister(store: Store): Lister {
  const snapshots = new Map<string, readonly StoredObject[]>()

  function objectsAt(type: ResourceType, namespace: string | undefined, version: number) {
    if (version === NOW) return store.list(type, namespace)
    const snapshot = snapshots.get(`${version}/${qualifiedName(type)}`)
    return snapshot?.filter(
      ({ metadata }) => namespace === undefined || (metadata.namespace ?? '') === namespace,
    )
  }

  function keep(type: ResourceType): void {
    snapshots.set(`${store.version()}/${qualifiedName(type)}`, store.list(type))
    const [oldest] = snapshots.keys()
    if (snapshots.size > MAX_SNAPSHOTS && oldest !== undefined) snapshots.delete(oldest)
  }

  return {
    list(type, namespace, query) {
      const asked = readQuery(type, query)
      if (!asked.ok) return asked
      const version = asked.value.from?.version ?? NOW
      const objects = objectsAt(type, namespace, version)
      if (objects === undefined)
        return expired(writeContinue({ version: NOW, after: asked.value.from?.after ?? '' }))
      const page = pageOf(objects, namespace, version === NOW ? store.version() : version, asked.value)
      if (page.next !== '' && version === NOW) keep(type)
      return ok(page)
    },
    expire: () => snapshots.clear(),
  }
}

function pageOf(
  objects: readonly StoredObject[],
  namespace: string | undefined,
  version: number,
  { limit, from, matches, isFiltered }: ListQuery,
): Page {
  const keyOf = ({ metadata }: StoredObject) =>
    namespace === undefined ? `/${metadata.namespace ?? ''}/${metadata.name}` : `/${metadata.name}`
  const after = from?.after ?? ''
  const rest = objects.filter((object) => keyOf(object) > after)
  const matching = rest.filter(matches)
  const items = limit === 0 ? matching : matching.slice(0, limit)
  const last = items.at(-1)
  // Storage counts what lies behind before it looks whether that matches: the next page may be empty.
  const isLast = items.length < limit || last === undefined || last === rest.at(-1)
  if (limit === 0 || isLast) return { items, version, next: '', remaining: undefined }
  return {
    items,
    version,
    next: writeContinue({ version, after: keyOf(last) }),
    remaining: isFiltered ? undefined : rest.length - items.length,
  }
}

interface ListQuery {
  readonly limit: number
  readonly from: Continue | undefined
  readonly matches: (object: StoredObject) => boolean
  readonly isFiltered: boolean
}

/** Of a parameter that is given twice the first counts. */
function readQuery(type: ResourceType, query: URLSearchParams): Outcome<ListQuery> {
  const text = (name: string) => query.get(name) ?? ''
  const limit = query.get('limit') ?? '0'
  if (!/^[+-]?\d+$/.test(limit))
    return badRequest(`strconv.ParseInt: parsing ${JSON.stringify(limit)}: invalid syntax`)
  const byLabel = parseLabelSelector(text('labelSelector'))
  if (!byLabel.ok) return byLabel
  const byField = parseFieldSelector(type, text('fieldSelector'))
  if (!byField.ok) return byField
  if (text('continue') !== '' && text('resourceVersion') !== '') {
    return badRequest('specifying resource version is not allowed when using continue')
  }
  const from = readContinue(text('continue'))
  if (!from.ok) return from
  return ok({
    limit: Math.max(0, Number(limit)),
    from: from.value,
    matches: (object) => byLabel.value(object.metadata.labels ?? {}) && byField.value.matches(object),
    isFiltered: text('labelSelector') !== '' || text('fieldSelector') !== '',
  })
}

/** `k8s.io/apiserver/pkg/storage/continue.go`: JSON in unpadded base64url. */
function writeContinue({ version, after }: Continue): string {
  const token = JSON.stringify({ v: 'meta.k8s.io/v1', rv: version, start: `${after}\0` })
  return toBase64(utf8(token)).replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_')
}

function readContinue(token: string): Outcome<Continue | undefined> {
  if (token === '') return ok(undefined)
  const refuse = (why: string) => badRequest(`invalid continue token: continue key is not valid: ${why}`)
  const bytes = /^[A-Za-z0-9_-]+$/.test(token)
    ? fromBase64(token.replaceAll('-', '+').replaceAll('_', '/'))
    : undefined
  if (bytes === undefined) return refuse('illegal base64 data at input byte 0')
  const parsed = parseJson(fromUtf8(bytes) ?? '')
  if (!isObject(parsed)) return refuse('invalid character looking for beginning of value')
  const encoding = textAt(parsed, 'v') ?? ''
  if (encoding !== 'meta.k8s.io/v1')
    return refuse(`server does not recognize this encoded version ${encoding}`)
  const version = own(parsed, 'rv')
  const start = textAt(parsed, 'start') ?? ''
  if (typeof version !== 'number' || version === 0)
    return refuse('incorrect encoded start resourceVersion (version meta.k8s.io/v1)')
  if (start === '') return refuse('encoded start key empty (version meta.k8s.io/v1)')
  if (start.split('/').includes('..')) return refuse(start)
  return ok({ version, after: start.replace(/\0$/, '') })
}

/** The List of a page. Items of built-in types carry no kind of their own. */
export function listOf(
  type: ResourceType,
  page: Page,
  shown: (object: StoredObject) => StoredObject,
): unknown {
  const { version, next, remaining } = page
  return {
    kind: `${type.kind}List`,
    apiVersion: apiVersionOf(type),
    metadata: {
      resourceVersion: String(version),
      ...(next === '' && !type.custom ? {} : { continue: next }),
      ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
    },
    items: page.items.map(shown).map((object) => {
      if (type.custom) return object
      const { apiVersion: _apiVersion, kind: _kind, ...item } = object
      return item
    }),
  }
}
