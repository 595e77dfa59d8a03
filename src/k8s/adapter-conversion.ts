import type { Deps } from '../core/deps.ts'
import { ok } from '../core/result.ts'
import { listCallOf, listPage, releaseOf } from './adapter-lists.ts'
import { guard, optional, releasePath, stored, writeOf } from './adapter-objects.ts'
import { type Caller, createCaller, JSON_PATCH, type KubeResult, measured } from './call.ts'
import type { ConversionKube, JsonPatchOperation, StoredConfigMap } from './conversion-kube.ts'
import type { ListOptions, Page, Preconditions } from './kube.ts'
import { pathOf } from './names.ts'
import type { Send } from './send.ts'

interface ConversionKubeOptions extends Pick<Deps, 'now' | 'metrics'> {
  readonly send: Send
  /** For each call, from before it is sent until its answer is read. */
  readonly timeoutMs: number
}

const configMapsPath = (namespace: string, ...name: readonly string[]): string =>
  pathOf('api', 'v1', 'namespaces', namespace, 'configmaps', ...name)

/** The conversion's own port over its seam. No entry that serves requests imports it. */
export function createConversionKube({ send, timeoutMs, ...deps }: ConversionKubeOptions): ConversionKube {
  const call = measured(createCaller(send, timeoutMs), deps)
  return {
    ...configMapsOf(call),
    patchHelmRelease: async (namespace, name, read, operations, options = {}) => {
      guard(read)
      const what = 'patch HelmRelease'
      const answer = await call({
        method: 'PATCH',
        path: releasePath(namespace, name),
        body: [...testsOf(read), ...operations],
        contentType: JSON_PATCH,
        what,
        ...writeOf(options),
      })
      const patched = stored(answer, 'HelmRelease', what)
      return patched.ok ? ok(releaseOf(patched.value)) : patched
    },
    listRoles: (namespace, options) => {
      const path = pathOf('apis', 'rbac.authorization.k8s.io', 'v1', 'namespaces', namespace, 'roles')
      return list(call, { path, what: 'list Roles', kind: 'RoleList' }, options)
    },
    listPods: (namespace, options) => {
      const path = pathOf('api', 'v1', 'namespaces', namespace, 'pods')
      return list(call, { path, what: 'list Pods', kind: 'PodList' }, options)
    },
  }
}

/** kube-apiserver applies a patch to whatever is there, and again when that has changed meanwhile. */
const testsOf = ({ uid, resourceVersion }: Preconditions): readonly JsonPatchOperation[] => [
  { op: 'test', path: '/metadata/uid', value: uid },
  { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
]

type ConfigMaps = Pick<ConversionKube, 'getConfigMap' | 'createConfigMap' | 'updateConfigMap'>

function configMapsOf(call: Caller): ConfigMaps {
  return {
    getConfigMap: async (namespace, name, options) => {
      const what = 'get ConfigMap'
      const path = configMapsPath(namespace, name)
      return optional(
        configMapOf(stored(await call({ method: 'GET', path, what, ...options }), 'ConfigMap', what)),
      )
    },
    createConfigMap: async (configMap, options = {}) => {
      const what = 'create ConfigMap'
      const path = configMapsPath(configMap.metadata.namespace ?? '')
      const answer = await call({ method: 'POST', path, body: { ...configMap }, what, ...writeOf(options) })
      return configMapOf(stored(answer, 'ConfigMap', what, options.dryRun))
    },
    updateConfigMap: async (configMap, options = {}) => {
      guard(configMap.metadata)
      const what = 'update ConfigMap'
      const path = configMapsPath(configMap.metadata.namespace ?? '', configMap.metadata.name)
      const answer = await call({ method: 'PUT', path, body: { ...configMap }, what, ...writeOf(options) })
      return configMapOf(stored(answer, 'ConfigMap', what))
    },
  }
}

const configMapOf = (answer: KubeResult<unknown>): KubeResult<StoredConfigMap> =>
  answer.ok ? ok(answer.value as StoredConfigMap) : answer

async function list<T>(
  call: Caller,
  of: { readonly path: string; readonly what: string; readonly kind: string },
  options: ListOptions,
): Promise<KubeResult<Page<T>>> {
  const page = await listPage(call, { ...of, ...listCallOf(options) })
  return page.ok ? ok(page.value as unknown as Page<T>) : page
}
