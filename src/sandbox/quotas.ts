import { at, isObject, type Json } from '../core/json.ts'
import { QUOTAS, qualifiedName, RESOURCE_TYPES, type ResourceType, type StoredObject } from './objects.ts'
import { forbidden, type Refused } from './status.ts'
import type { Store } from './store.ts'

const SUFFIXES = new Map([
  ['', 1],
  ['k', 1e3],
  ['M', 1e6],
  ['Ki', 2 ** 10],
  ['Mi', 2 ** 20],
])

/** `spec.hard` of a ResourceQuota: whole numbers, of objects only. */
export function quotaContent(sent: Json): { readonly content: Json } | { readonly problem: string } {
  const hard = at(sent, 'spec', 'hard')
  const limits = isObject(hard)
    ? Object.entries(hard).map(([name, limit]) => [name, String(limit)] as const)
    : []
  if (limits.some(([, limit]) => quantityOf(limit) === undefined)) {
    return {
      problem: "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    }
  }
  return { content: { spec: { hard: Object.fromEntries(limits) } } }
}

function quantityOf(text: string): number | undefined {
  const [, digits = '', suffix = ''] = /^(\d+)([A-Za-z]*)$/.exec(text) ?? []
  const factor = SUFFIXES.get(suffix)
  return digits === '' || factor === undefined ? undefined : Number(digits) * factor
}

/** What a quota calls a type: `count/<resource>.<group>`, and the plural of some in the core group. */
const countedAs = (type: ResourceType): readonly string[] => [
  `count/${qualifiedName(type)}`,
  ...(type.group === '' ? [type.plural] : []),
]

interface Limit {
  readonly resource: string
  readonly limit: string
  readonly used: number
}

function limitsOf(store: Store, quota: StoredObject, types: readonly ResourceType[]): readonly Limit[] {
  const hard = at(quota, 'spec', 'hard')
  const limits = isObject(hard) ? Object.entries(hard) : []
  return limits.flatMap(([resource, limit]) => {
    const type = types.find((each) => countedAs(each).includes(resource))
    if (type === undefined) return []
    const used = store.list(type, quota.metadata.namespace).length
    return [{ resource, limit: String(limit), used }]
  })
}

/** `k8s.io/apiserver/pkg/admission/plugin/resourcequota`, before one more object of a type. */
export function checkQuota(
  store: Store,
  type: ResourceType,
  namespace: string,
  name: string,
): Refused | undefined {
  if (!type.namespaced) return undefined
  for (const quota of store.list(QUOTAS, namespace)) {
    const exceeded = limitsOf(store, quota, [type])
      .filter(({ used, limit }) => used + 1 > (quantityOf(limit) ?? 0))
      .sort((a, b) => (a.resource < b.resource ? -1 : 1))
    if (exceeded.length === 0) continue
    const join = (value: (limit: Limit) => string | number) =>
      exceeded.map((limit) => `${limit.resource}=${value(limit)}`).join(',')
    const why = `exceeded quota: ${quota.metadata.name}, requested: ${join(() => 1)}, used: ${join(({ used }) => used)}, limited: ${join(({ limit }) => limit)}`
    return forbidden(type, name, why)
  }
  return undefined
}

/** With the status that the quota controller keeps. */
export function withQuotaStatus(store: Store, quota: StoredObject): StoredObject {
  const limits = limitsOf(store, quota, RESOURCE_TYPES)
  const hard = Object.fromEntries(limits.map(({ resource, limit }) => [resource, limit]))
  const used = Object.fromEntries(limits.map(({ resource, used: count }) => [resource, String(count)]))
  return { ...quota, status: { hard, used } }
}
