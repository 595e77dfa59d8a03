import { isObject, type Json, own } from '../core/json.ts'
import { ok } from '../core/result.ts'
import { listCallOf, listPage } from './adapter-lists.ts'
import { guard, optional, stored, writeOf } from './adapter-objects.ts'
import type { Caller, KubeResult } from './call.ts'
import type { Kube } from './kube.ts'
import { pathOf } from './names.ts'
import type { TenantProjection } from './objects.ts'

const KIND = 'TenantProjection'
const GROUP = ['apis', 'internal.cozystack.io', 'v1alpha1'] as const

const projectionPath = (namespace: string, name: string, ...more: readonly string[]): string =>
  pathOf(...GROUP, 'namespaces', namespace, 'tenantprojections', name, ...more)

type Projections = Pick<
  Kube,
  'getTenantProjection' | 'listTenantProjections' | 'updateTenantProjectionStatus'
>

/** What asks for the CA of an engine to be published: `internal.cozystack.io/v1alpha1`. */
export function projectionsOf(call: Caller): Projections {
  return {
    getTenantProjection: async (namespace, name, options) => {
      const what = `get ${KIND}`
      const answer = await call({ method: 'GET', path: projectionPath(namespace, name), what, ...options })
      const found = optional(stored(answer, KIND, what))
      return found.ok && found.value !== undefined
        ? ok(projectionOf(found.value))
        : (found as KubeResult<undefined>)
    },
    listTenantProjections: async (namespace, options) => {
      const path =
        namespace === undefined
          ? pathOf(...GROUP, 'tenantprojections')
          : pathOf(...GROUP, 'namespaces', namespace, 'tenantprojections')
      const what = `list ${KIND}s`
      const page = await listPage(call, { path, what, kind: `${KIND}List`, ...listCallOf(options) })
      return page.ok ? ok({ ...page.value, items: page.value.items.map(projectionOf) }) : page
    },
    updateTenantProjectionStatus: async (projection, options = {}) => {
      guard(projection.metadata)
      const { namespace = '', name } = projection.metadata
      const what = `update status of ${KIND}`
      const path = projectionPath(namespace, name, 'status')
      const answer = stored(
        await call({ method: 'PUT', path, body: { ...projection }, what, ...writeOf(options) }),
        KIND,
        what,
      )
      return answer.ok ? ok(projectionOf(answer.value)) : answer
    },
  }
}

/** The CRD asks for a `spec`; what was stored before it did may have none. */
function projectionOf(item: Json): TenantProjection {
  const spec = own(item, 'spec')
  return { ...item, spec: isObject(spec) ? spec : {} } as unknown as TenantProjection
}
