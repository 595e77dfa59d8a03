import { readBytes } from '../core/bytes.ts'
import type { Deps, Fetch } from '../core/deps.ts'
import { codeOf, wasNeverSent } from '../core/error-code.ts'
import type { KubeFailure } from '../core/failure.ts'
import { isObject, type Json, parseJson } from '../core/json.ts'
import { secondsBetween } from '../core/metrics.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { fromUtf8 } from '../core/text.ts'
import { timeLimit, whenAborted } from '../core/time-limit.ts'
import { refusalOf } from './refusal.ts'

/** One request to the Kubernetes API. */
interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
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

/** In the cluster this is the API server's name; elsewhere the seam maps it to an address. */
const KUBE_ORIGIN = 'https://kubernetes.default.svc'

/** etcd takes no object of more than 1.5 MiB; base64, managed fields and escapes make it longer on the wire. */
const MAX_OBJECT_BYTES = 4 * 1024 * 1024
export const MAX_LIST_BYTES = 32 * 1024 * 1024

/**
 * Sends a call once and reads its answer, an object, within `timeoutMs` also when `fetch` does not heed its signal.
 * Redirects are failures: following one would carry the body, a token review's token for example, to another host.
 */
export function createCaller(fetch: Fetch, timeoutMs: number): Caller {
  return async (call) => {
    const { signal, release } = timeLimit(timeoutMs, call.signal)
    const request = requestOf(call, signal)
    try {
      signal.throwIfAborted()
      return await Promise.race([exchange(fetch, request, call), whenAborted(signal)])
    } catch (error) {
      return fail(lostCall(error, signal, call.what))
    } finally {
      release()
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

async function exchange(fetch: Fetch, request: Request, call: Call): Promise<KubeResult<Json>> {
  const response = await fetch(request)
  const text = await readText(response, call.maxBytes ?? MAX_OBJECT_BYTES)
  const answer = text === undefined ? undefined : parseJson(text)
  if (!response.ok) return fail(refusalOf(response, answer, call))
  return isObject(answer) ? ok(answer) : fail(senseless(call.what, response.status))
}

/** A success that is not what was asked for. */
export const senseless = (what: string, code = 200): KubeFailure => ({
  reason: 'kube_error',
  call: what,
  code,
})

function requestOf(
  { method, path, query = {}, body, contentType = 'application/json' }: Call,
  signal: AbortSignal,
): Request {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined)
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`
  return new Request(`${KUBE_ORIGIN}${path}${search}`, {
    method,
    redirect: 'manual',
    signal,
    headers: {
      Accept: 'application/json',
      ...(body === undefined ? {} : { 'Content-Type': contentType }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

/** Undefined when the answer is longer than `maxBytes`, or no UTF-8. */
async function readText(response: Response, maxBytes: number): Promise<string | undefined> {
  const bytes = await readBytes(response.body, maxBytes)
  return bytes === undefined ? undefined : fromUtf8(bytes)
}

/** Whatever an error says stays here but for its code: texts of proxies and servers may quote what was sent. */
function lostCall(error: unknown, signal: AbortSignal, what: string): KubeFailure {
  if (signal.aborted) return { reason: 'kube_timeout', call: what }
  const why = codeOf(error) ?? 'no answer'
  return { reason: 'kube_unreachable', call: what, why, sent: !wasNeverSent(error) }
}
