import type { Deps } from '../core/deps.ts'
import { isObject, type Json, own } from '../core/json.ts'
import { ok } from '../core/result.ts'
import { listDefinitions, listHelmReleases, listSecrets, releaseOf } from './adapter-lists.ts'
import { guard, optional, releasePath, stored, writeOf } from './adapter-objects.ts'
import { projectionsOf } from './adapter-projections.ts'
import { reviewAccess, reviewToken, whoAmI } from './adapter-reviews.ts'
import { type Caller, createCaller, type KubeResult, measured } from './call.ts'
import { eventOf } from './event.ts'
import type { CallOptions, Kube } from './kube.ts'
import { pathOf } from './names.ts'
import type { Namespace, Secret, StoredSecret } from './objects.ts'
import type { Send } from './send.ts'

interface KubeOptions extends Pick<Deps, 'now' | 'metrics'> {
  readonly send: Send
  /** For each call, from before it is sent until its answer is read. */
  readonly timeoutMs: number
  /** The name of this replica in Events. */
  readonly reportingInstance: string
}

/**
 * The port over its seam: with its parts in `adapter-*.ts` the only code that knows URLs of the Kubernetes API. Names are
 * validated by callers: a TypeError says that one was not. Fails with the arms of `KubeFailure`; each call is sent once.
 */
export function createKube({ send, timeoutMs, reportingInstance, ...deps }: KubeOptions): Kube {
  const call = measured(createCaller(send, timeoutMs), deps)
  return {
    ...readsOf(call),
    ...writesOf(call),
    ...projectionsOf(call),
    listDefinitions: (options) => listDefinitions(call, options?.signal),
    listSecrets: (namespace, options) => listSecrets(call, namespace, options),
    listHelmReleases: (namespace, options) => listHelmReleases(call, namespace, options),
    reviewToken: (token, audiences, options) => reviewToken(call, token, audiences, options?.signal),
    reviewAccess: (subject, access, options) => reviewAccess(call, subject, access, options?.signal),
    whoAmI: (options) => whoAmI(call, options?.signal),
    createEvent: async (event, atMilliseconds) => {
      const { namespace } = event.regarding
      const path = pathOf('apis', 'events.k8s.io', 'v1', 'namespaces', namespace, 'events')
      const body = eventOf(event, atMilliseconds, reportingInstance)
      const answer = await call({ method: 'POST', path, body, what: 'create Event' })
      return answer.ok || answer.failure.reason === 'kube_exists' ? ok(undefined) : answer
    },
    ping: async (options) => {
      const answer = await call({ method: 'GET', path: pathOf('version'), what: 'get version', ...options })
      return answer.ok ? ok(undefined) : answer
    },
  }
}

const secretsPath = (namespace: string, ...name: readonly string[]): string =>
  pathOf('api', 'v1', 'namespaces', namespace, 'secrets', ...name)

type Reads = Pick<Kube, 'getHelmRelease' | 'getSecret' | 'getNamespace' | 'getConfigMap'>

function readsOf(call: Caller): Reads {
  const get = async (kind: string, path: string, options: CallOptions | undefined) => {
    const what = `get ${kind}`
    return stored(await call({ method: 'GET', path, what, ...options }), kind, what)
  }
  return {
    getHelmRelease: async (namespace, name, options) => {
      const answer = optional(await get('HelmRelease', releasePath(namespace, name), options))
      if (!answer.ok || answer.value === undefined) return answer as KubeResult<undefined>
      return ok(releaseOf(answer.value))
    },
    getSecret: async (namespace, name, options) =>
      optional(secretOf(await get('Secret', secretsPath(namespace, name), options))),
    getNamespace: async (name, options) => {
      const answer = optional(await get('Namespace', pathOf('api', 'v1', 'namespaces', name), options))
      return answer.ok ? ok(answer.value as unknown as Namespace | undefined) : answer
    },
    getConfigMap: async (namespace, name, options) => {
      const path = pathOf('api', 'v1', 'namespaces', namespace, 'configmaps', name)
      const answer = optional(await get('ConfigMap', path, options))
      if (!answer.ok || answer.value === undefined) return answer as KubeResult<undefined>
      const data = own(answer.value, 'data')
      return ok(isObject(data) ? data : {})
    },
  }
}

/** Each of them is sent once. */
function writesOf(call: Caller): Pick<Kube, 'createSecret' | 'updateSecret' | 'deleteSecret'> {
  return {
    createSecret: async (secret, options = {}) => {
      const path = secretsPath(namespaceOf(secret))
      const what = 'create Secret'
      const answer = await call({ method: 'POST', path, body: { ...secret }, what, ...writeOf(options) })
      // What would be created has no version yet.
      return secretOf(stored(answer, 'Secret', what, options.dryRun))
    },
    updateSecret: async (secret, options = {}) => {
      guard(secret.metadata)
      const path = secretsPath(namespaceOf(secret), secret.metadata.name)
      const what = 'update Secret'
      const answer = await call({ method: 'PUT', path, body: { ...secret }, what, ...writeOf(options) })
      return secretOf(stored(answer, 'Secret', what))
    },
    deleteSecret: async (namespace, name, { uid, resourceVersion }, options = {}) => {
      guard({ uid, resourceVersion })
      const body = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid, resourceVersion },
        propagationPolicy: 'Background',
        // A body replaces the query's options on the server: a dry run must be in both to be one.
        ...(options.dryRun ? { dryRun: ['All'] } : {}),
      }
      const path = secretsPath(namespace, name)
      const answer = await call({ method: 'DELETE', path, body, what: 'delete Secret', ...writeOf(options) })
      return answer.ok ? ok(undefined) : answer
    },
  }
}

const namespaceOf = ({ metadata }: Secret): string => metadata.namespace ?? ''

const secretOf = (answer: KubeResult<Json>): KubeResult<StoredSecret> =>
  answer.ok ? ok(answer.value as unknown as StoredSecret) : answer
