import type { KubeFailure } from '../core/failure.ts'
import { at, textAt } from '../core/json.ts'

const MAX_RETRY_AFTER_SECONDS = 60

/** The call that was refused. */
interface Called {
  readonly method: string
  readonly path: string
  readonly what: string
}

type Row = (refusal: Refusal) => KubeFailure

/** What a refused call is judged by: code, reason and causes of a Status. Its message is looked at and never kept. */
interface Refusal {
  readonly call: Called
  readonly status: unknown
  readonly retryAfter: string | null
}

const kubeInvalid: Row = ({ call }) => ({ reason: 'kube_invalid', call: call.what })

const byCode: ReadonlyMap<number, Row> = new Map<number, Row>([
  [400, kubeInvalid],
  [401, () => ({ reason: 'kube_unauthenticated' })],
  [403, forbidden],
  [404, notFound],
  [409, ({ status }) => ({ reason: reasonOf(status) === 'AlreadyExists' ? 'kube_exists' : 'kube_conflict' })],
  [410, () => ({ reason: 'kube_expired' })],
  [413, kubeInvalid],
  [422, invalid],
  [429, ({ retryAfter }) => ({ reason: 'kube_overloaded', retryAfterSeconds: secondsOf(retryAfter) })],
])

/** An answer that is no success. */
interface Refused {
  /** Of HTTP. */
  readonly code: number
  /** Its body, where that is JSON. */
  readonly status: unknown
  readonly retryAfter: string | null
}

/** Why the API server refused a call, from its code and `metav1.Status`. */
export function refusalOf({ code, status, retryAfter }: Refused, call: Called): KubeFailure {
  const row = byCode.get(code)
  return row === undefined
    ? { reason: 'kube_error', call: call.what, code }
    : row({ call, status, retryAfter })
}

const reasonOf = (status: unknown): string | undefined => textAt(status, 'reason')

const hasCause = (status: unknown, test: (cause: unknown) => boolean): boolean => {
  const causes = at(status, 'details', 'causes')
  return Array.isArray(causes) && causes.some(test)
}

/** Quotas and namespaces that go away are 403 too (`plugin/pkg/admission/{resourcequota,namespace/lifecycle}`). */
function forbidden({ call, status }: Refusal): KubeFailure {
  const message = textAt(status, 'message') ?? ''
  const isTerminating =
    hasCause(status, (cause) => textAt(cause, 'reason') === 'NamespaceTerminating') ||
    message.endsWith('because it is being terminated')
  const namespace = namespaceOf(call.path)
  if (isTerminating && namespace !== undefined) return { reason: 'kube_namespace_terminating', namespace }
  const quota = /exceeded quota: ([a-z0-9.-]{1,253})/.exec(message)?.[1]
  if (quota !== undefined) return { reason: 'kube_quota_exceeded', quota }
  return { reason: 'kube_forbidden', call: call.what }
}

/**
 * "Absent" is a NotFound Status about what was asked for; a group version that is not served answers in plain text. A
 * write may also miss its namespace.
 */
function notFound({ call, status }: Refusal): KubeFailure {
  const missing = reasonOf(status) === 'NotFound' ? textAt(status, 'details', 'name') : undefined
  const named = call.method === 'POST' ? undefined : namedIn(call.path)
  const namespace = call.method === 'GET' ? undefined : namespaceOf(call.path)
  if (missing !== undefined && (missing === named || missing === namespace)) return { reason: 'kube_absent' }
  return { reason: 'kube_not_served', groupVersion: groupVersionOf(call.path) }
}

/** The object that a path names, or whose subresource. */
const namedIn = (path: string): string | undefined =>
  /\/namespaces\/[^/]+\/[^/]+\/([^/]+)(?:\/[^/]+)?$/.exec(path)?.[1] ?? path.split('/').at(-1)

/** `k8s.io/kubernetes/pkg/apis/core/validation` ValidateSecretUpdate: data of an immutable Secret. */
function invalid(refusal: Refusal): KubeFailure {
  if (isUnapplied(refusal)) return { reason: 'kube_conflict' }
  const isImmutable = hasCause(refusal.status, (cause) =>
    /field is immutable when `immutable` is set/.test(textAt(cause, 'message') ?? ''),
  )
  return isImmutable ? { reason: 'kube_immutable' } : kubeInvalid(refusal)
}

/**
 * A JSON patch that does not apply, because of a failed `test` or of a place that is not there: 422 that names neither
 * an object nor a field (`k8s.io/apiserver/pkg/endpoints/handlers/patch.go`, applyJSPatch).
 */
const isUnapplied = ({ call, status }: Refusal): boolean =>
  call.method === 'PATCH' &&
  at(status, 'details', 'name') === undefined &&
  at(status, 'details', 'causes') === undefined

/** Delta seconds (RFC 9110, section 10.2.3); kube-apiserver never sends a date. */
function secondsOf(retryAfter: string | null): number | undefined {
  if (retryAfter === null || !/^\d+$/.test(retryAfter)) return undefined
  return Math.min(Number(retryAfter), MAX_RETRY_AFTER_SECONDS)
}

const namespaceOf = (path: string): string | undefined => /\/namespaces\/([^/]+)\//.exec(`${path}/`)?.[1]

/** `/apis/<group>/<version>/…` or `/api/v1/…`. */
function groupVersionOf(path: string): string {
  const [, root, first = '', second = ''] = path.split('/')
  return root === 'api' ? first : `${first}/${second}`
}
