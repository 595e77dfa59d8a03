import type { Fetch } from '../core/deps.ts'
import type { KubeFailure } from '../core/failure.ts'
import { isObject, type Json, parseJson, textAt } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { fromUtf8 } from '../core/text.ts'
import { refusalOf } from './refusal.ts'

/** One request to the Kubernetes API. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Absolute, made by `pathOf`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: Json
  readonly signal?: AbortSignal | undefined
  /** What it does, for messages: `get Secret`. */
  readonly what: string
}

export type KubeResult<T> = Result<T, KubeFailure>
export type Caller = (call: Call) => Promise<KubeResult<Json>>

/** In the cluster this is the API server's name; elsewhere the seam maps it to an address. */
export const KUBE_ORIGIN = 'https://kubernetes.default.svc'

const MAX_ANSWER_BYTES = 32 * 1024 * 1024
/** Errors of a connection that was never made, or of credentials that could not be read. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'EACCES',
])

/**
 * Sends a call once and reads its answer as a JSON object. Redirects are failures: following one would carry the body,
 * a token review's token for example, to another host.
 */
export function createCaller(fetch: Fetch, timeoutMs: number): Caller {
  return async (call) => {
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = call.signal === undefined ? timeout : AbortSignal.any([call.signal, timeout])
    try {
      const response = await fetch(requestOf(call, signal))
      const text = await readText(response, signal)
      const answer = text === undefined ? undefined : parseJson(text)
      if (response.ok && isObject(answer)) return ok(answer)
      if (response.ok) return fail({ reason: 'kube_error', call: call.what, code: response.status })
      return fail(refusalOf(response, answer, call))
    } catch (error) {
      return fail(lostCall(error, signal, call.what))
    }
  }
}

function requestOf({ method, path, query = {}, body }: Call, signal: AbortSignal): Request {
  const url = new URL(path, KUBE_ORIGIN)
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, value)
  }
  return new Request(url, {
    method,
    redirect: 'manual',
    signal,
    headers: {
      Accept: 'application/json',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

/** Undefined when the answer is larger than anything that we ask for, or no UTF-8. */
async function readText(response: Response, signal: AbortSignal): Promise<string | undefined> {
  if (response.body === null) return ''
  const reader = response.body.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    signal.throwIfAborted()
    length += next.value.length
    if (length > MAX_ANSWER_BYTES) {
      await reader.cancel()
      return undefined
    }
    chunks.push(next.value)
  }
  const bytes = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.length
  }
  return fromUtf8(bytes)
}

/** Whatever an error says stays here but for its code: texts of proxies and servers may quote what was sent. */
function lostCall(error: unknown, signal: AbortSignal, what: string): KubeFailure {
  if (signal.aborted) return { reason: 'kube_timeout', call: what }
  const code = codeOf(error)
  return { reason: 'kube_unreachable', call: what, why: code ?? 'no answer', sent: !isNeverSent(code) }
}

/** A certificate is checked before the first byte of a request leaves. */
const isNeverSent = (code: string | undefined): boolean =>
  code !== undefined && (NEVER_SENT.has(code) || /CERT|ERR_TLS|SELF_SIGNED|UNABLE_TO_/.test(code))

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const code = 'code' in error ? error.code : undefined
  if (typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code)) return code
  return codeOf(error.cause)
}

/** The object of an answer when it is of this kind and says which object it is. A dry run of a create has no version. */
export function stored<T>(
  answer: KubeResult<Json>,
  kind: string,
  what: string,
  dryRun = false,
): KubeResult<T> {
  if (!answer.ok) return answer
  const { value } = answer
  const identified =
    textAt(value, 'kind') === kind &&
    !!textAt(value, 'metadata', 'uid') &&
    (dryRun || !!textAt(value, 'metadata', 'resourceVersion'))
  return identified ? ok(value as T) : fail({ reason: 'kube_error', call: what, code: 200 })
}
