import type { Fetch } from '../core/deps.ts'
import type { Access } from '../core/failure.ts'
import { at, isObject, type Json, own, textAt, textsOf } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import { type Caller, createCaller, type KubeResult, stored } from './call.ts'
import { eventOf } from './event.ts'
import type { Kube, ListOptions, Page, Subject, TokenReviewStatus, WriteOptions } from './kube.ts'
import { pathOf } from './names.ts'
import type { ApplicationDefinition, HelmRelease, Secret, StoredSecret } from './objects.ts'

interface KubeOptions {
  readonly fetch: Fetch
  /** For each call. */
  readonly timeoutMs: number
  /** The name of this replica in Events. */
  readonly reportingInstance: string
}

const PAGE_SIZE = '500'
const API_VERSION = 'v1alpha1'

const secretsPath = (namespace: string, ...name: readonly string[]) =>
  pathOf('api', 'v1', 'namespaces', namespace, 'secrets', ...name)
const releasePath = (namespace: string, name: string) =>
  pathOf('apis', 'helm.toolkit.fluxcd.io', 'v2', 'namespaces', namespace, 'helmreleases', name)

/** The port over fetch: the only code that knows URLs of the Kubernetes API. */
export function createKube({ fetch, timeoutMs, reportingInstance }: KubeOptions): Kube {
  const call = createCaller(fetch, timeoutMs)
  return {
    getHelmRelease: async (namespace, name, options) =>
      optional(
        stored<HelmRelease>(
          await call({
            method: 'GET',
            path: releasePath(namespace, name),
            what: 'get HelmRelease',
            ...options,
          }),
          'HelmRelease',
          'get HelmRelease',
        ),
      ),
    listDefinitions: (options) => listDefinitions(call, options?.signal),
    getSecret: async (namespace, name, options) =>
      optional(
        stored<StoredSecret>(
          await call({ method: 'GET', path: secretsPath(namespace, name), what: 'get Secret', ...options }),
          'Secret',
          'get Secret',
        ),
      ),
    listSecrets: (namespace, options) => listSecrets(call, namespace, options),
    ...writesOf(call),
    reviewToken: async (token, audiences, options) => {
      const spec = { token, audiences }
      const answer = await review(call, 'authentication.k8s.io', 'TokenReview', spec, options?.signal)
      return answer.ok ? ok(tokenStatusOf(answer.value)) : answer
    },
    reviewAccess: async (subject, access, options) => {
      const spec = accessSpecOf(subject, access)
      const answer = await review(call, 'authorization.k8s.io', 'SubjectAccessReview', spec, options?.signal)
      return answer.ok ? ok(at(answer.value, 'status', 'allowed') === true) : answer
    },
    createEvent: async (event, atMilliseconds) => {
      const { namespace } = event.regarding
      const path = pathOf('apis', 'events.k8s.io', 'v1', 'namespaces', namespace, 'events')
      const body = eventOf(event, atMilliseconds, reportingInstance)
      const answer = await call({ method: 'POST', path, body, what: 'create Event' })
      return answer.ok ? ok(undefined) : answer
    },
    ping: async (options) => {
      const answer = await call({ method: 'GET', path: '/version', what: 'get version', ...options })
      return answer.ok ? ok(undefined) : answer
    },
  }
}

/** Each of them is sent once. */
function writesOf(call: Caller): Pick<Kube, 'createSecret' | 'updateSecret' | 'deleteSecret'> {
  return {
    createSecret: async (secret, options = {}) => {
      const path = secretsPath(namespaceOf(secret))
      const what = 'create Secret'
      const answer = await call({ method: 'POST', path, body: bodyOf(secret), what, ...writeOf(options) })
      return stored<StoredSecret>(answer, 'Secret', what, options.dryRun)
    },
    updateSecret: async (secret, options = {}) => {
      const { uid, resourceVersion, name } = secret.metadata
      guard(uid, resourceVersion)
      const path = secretsPath(namespaceOf(secret), name)
      const what = 'update Secret'
      const answer = await call({ method: 'PUT', path, body: bodyOf(secret), what, ...writeOf(options) })
      return stored<StoredSecret>(answer, 'Secret', what, options.dryRun)
    },
    deleteSecret: async (namespace, name, { uid, resourceVersion }, options = {}) => {
      guard(uid, resourceVersion)
      const body = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid, resourceVersion },
        propagationPolicy: 'Background',
        ...(options.dryRun ? { dryRun: ['All'] } : {}),
      }
      const path = secretsPath(namespace, name)
      const answer = await call({ method: 'DELETE', path, body, what: 'delete Secret', ...writeOf(options) })
      return answer.ok ? ok(undefined) : answer
    },
  }
}

/** An empty version, or "0", means "whatever is there" to the API server: a bug here would overwrite in silence. */
function guard(uid: string, resourceVersion: string): void {
  if (uid === '' || resourceVersion === '' || resourceVersion === '0') {
    throw new TypeError('a write needs the uid and the resourceVersion that were read')
  }
}

const writeOf = ({ dryRun, signal }: WriteOptions) => ({
  signal,
  query: { dryRun: dryRun ? 'All' : undefined, fieldManager: 'mintonce' },
})

const namespaceOf = ({ metadata }: Secret): string => metadata.namespace ?? ''
const bodyOf = (secret: Secret): Json => ({ ...secret })

function optional<T>(answer: KubeResult<T>): KubeResult<T | undefined> {
  return !answer.ok && answer.failure.reason === 'kube_absent' ? ok(undefined) : answer
}

async function listSecrets(
  call: Caller,
  namespace: string,
  { signal, limit, labelSelector, fieldSelector, continue: next }: ListOptions,
): Promise<KubeResult<Page<StoredSecret>>> {
  const query = { labelSelector, fieldSelector, limit: limit?.toString(), continue: next }
  const what = 'list Secrets'
  const answer = await call({ method: 'GET', path: secretsPath(namespace), query, what, signal })
  if (!answer.ok) return answer
  const page = pageOf<StoredSecret>(answer.value, 'SecretList')
  if (page === undefined) return fail({ reason: 'kube_error', call: what, code: 200 })
  // The items of a list carry neither kind nor apiVersion.
  const items = page.items.map((item) => ({ ...item, apiVersion: 'v1' as const, kind: 'Secret' as const }))
  return ok({ ...page, items })
}

/** One broken page breaks the list: a definition that is not seen would be a kind without rules. */
async function listDefinitions(
  call: Caller,
  signal: AbortSignal | undefined,
  restarts = 1,
): Promise<KubeResult<readonly ApplicationDefinition[]>> {
  const path = pathOf('apis', 'cozystack.io', API_VERSION, 'applicationdefinitions')
  const what = 'list ApplicationDefinitions'
  const items: ApplicationDefinition[] = []
  let next: string | undefined
  do {
    const answer = await call({
      method: 'GET',
      path,
      query: { limit: PAGE_SIZE, continue: next },
      what,
      signal,
    })
    if (!answer.ok && answer.failure.reason === 'kube_expired' && restarts > 0) {
      return listDefinitions(call, signal, restarts - 1)
    }
    if (!answer.ok) return answer
    const page = pageOf<ApplicationDefinition>(answer.value, 'ApplicationDefinitionList')
    if (page === undefined) return fail({ reason: 'kube_error', call: what, code: 200 })
    items.push(...page.items)
    next = page.continue
  } while (next !== undefined)
  return ok(items)
}

function pageOf<T>(answer: Json, kind: string): Page<T> | undefined {
  // An empty list of a typed resource has `items: null` in some releases.
  const items = own(answer, 'items') ?? []
  if (textAt(answer, 'kind') !== kind || !Array.isArray(items) || !items.every(isObject)) return undefined
  const next = textAt(answer, 'metadata', 'continue') || undefined
  return {
    items: items as unknown as readonly T[],
    resourceVersion: textAt(answer, 'metadata', 'resourceVersion') ?? '',
    ...(next === undefined ? {} : { continue: next }),
  }
}

function review(
  call: Caller,
  group: string,
  kind: 'TokenReview' | 'SubjectAccessReview',
  spec: Json,
  signal: AbortSignal | undefined,
): Promise<KubeResult<Json>> {
  const path = pathOf('apis', group, 'v1', `${kind.toLowerCase()}s`)
  return call({
    method: 'POST',
    path,
    body: { apiVersion: `${group}/v1`, kind, spec },
    what: `create ${kind}`,
    signal,
  })
}

function tokenStatusOf(answer: Json): TokenReviewStatus {
  const user = at(answer, 'status', 'user')
  return {
    authenticated: at(answer, 'status', 'authenticated'),
    audiences: textsOf(at(answer, 'status', 'audiences')),
    user: {
      username: textAt(user, 'username') ?? '',
      uid: textAt(user, 'uid'),
      groups: textsOf(own(user, 'groups')),
      extra: extraOf(own(user, 'extra')),
    },
    error: textAt(answer, 'status', 'error'),
  }
}

const extraOf = (extra: unknown): TokenReviewStatus['user']['extra'] =>
  isObject(extra)
    ? Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, textsOf(values)]))
    : {}

function accessSpecOf({ username, uid, groups, extra }: Subject, access: Access): Json {
  const { verb, group, resource, subresource, namespace, name } = access
  return {
    user: username,
    groups,
    ...(uid === undefined ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
    resourceAttributes: {
      verb,
      group,
      version: API_VERSION,
      resource,
      ...(subresource === undefined ? {} : { subresource }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(name === undefined ? {} : { name }),
    },
  }
}
