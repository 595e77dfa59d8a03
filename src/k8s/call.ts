import type { Deps } from '../core/deps.ts'
import { codeOf, wasNeverSent } from '../core/error-code.ts'
import type { KubeFailure } from '../core/failure.ts'
import { isObject, type Json, parseJson } from '../core/json.ts'
import { secondsBetween } from '../core/metrics.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { fromUtf8 } from '../core/text.ts'
import { timeLimit, whenAborted } from '../core/time-limit.ts'
import { refusalOf } from './refusal.ts'
import type { KubeRequest, Send } from './send.ts'

/** One request to the Kubernetes API. */
interface Call {
  readonly method: KubeRequest['method']
  /** Absolute, made by `pathOf`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: Json | readonly unknown[]
  /** Of the body, when it is not plain JSON. */
  readonly contentType?: string
  readonly signal?: AbortSignal | undefined
  /** What it does, for messages and metrics: `get Secret`. Never with a name in it. */
  readonly what: string
  /** A longer answer is a failure. */
  readonly maxBytes?: number
}

export type KubeResult<T> = Result<T, KubeFailure>
export type Caller = (call: Call) => Promise<KubeResult<Json>>

/** RFC 6902, section 6. */
export const JSON_PATCH = 'application/json-patch+json'

/** etcd takes no object of more than 1.5 MiB; base64, managed fields and escapes make it longer on the wire. */
const MAX_OBJECT_BYTES = 4 * 1024 * 1024
export const MAX_LIST_BYTES = 32 * 1024 * 1024

/** Sends a call once and reads its answer, an object, within `timeoutMs` also when `send` does not heed its signal. */
export function createCaller(send: Send, timeoutMs: number): Caller {
  return async (call) => {
    const { signal, end } = timeLimit(timeoutMs, call.signal)
    try {
      signal.throwIfAborted()
      return await Promise.race([exchange(send, call, signal), whenAborted(signal)])
    } catch (error) {
      return fail(lostCall(error, signal, call.what))
    } finally {
      end()
    }
  }
}

/** The same caller, each of whose calls is counted and timed. */
export function measured(call: Caller, { now, metrics }: Pick<Deps, 'now' | 'metrics'>): Caller {
  return async (each) => {
    const startedAt = now()
    const answer = await call(each)
    const outcome = answer.ok ? 'ok' : answer.failure.reason
    metrics.kubeCall({ call: each.what, outcome }, secondsBetween(startedAt, now()))
    return answer
  }
}

async function exchange(send: Send, call: Call, signal: AbortSignal): Promise<KubeResult<Json>> {
  const { status, header, bytes } = await send(requestOf(call, signal))
  const text = bytes === undefined ? undefined : fromUtf8(bytes)
  const answer = text === undefined ? undefined : parseJson(text)
  const isDone = status >= 200 && status < 300
  if (!isDone)
    return fail(refusalOf({ code: status, status: answer, retryAfter: header('retry-after') }, call))
  return isObject(answer) ? ok(answer) : fail(senseless(call.what, status))
}

/** A success that is not what was asked for. */
export const senseless = (what: string, code = 200): KubeFailure => ({
  reason: 'kube_error',
  call: what,
  code,
})

function requestOf(
  { method, path, query = {}, body, contentType = 'application/json', maxBytes = MAX_OBJECT_BYTES }: Call,
  signal: AbortSignal,
): KubeRequest {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined)
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`
  const common = { method, path: `${path}${search}`, signal, maxBytes }
  if (body === undefined) return { ...common, headers: { accept: 'application/json' } }
  const headers = { accept: 'application/json', 'content-type': contentType }
  return { ...common, headers, body: JSON.stringify(body) }
}

/** Whatever an error says stays here but for its code: texts of proxies and servers may quote what was sent. */
function lostCall(error: unknown, signal: AbortSignal, what: string): KubeFailure {
  if (signal.aborted) return { reason: 'kube_timeout', call: what }
  const why = codeOf(error) ?? 'no answer'
  return { reason: 'kube_unreachable', call: what, why, sent: !wasNeverSent(error) }
}
