import type { Fetch } from '../core/deps.ts'
import { own, parseJson, textAt } from '../core/json.ts'
import type { ClientFailure } from './failure.ts'
import { silenceOf } from './silence.ts'

/** What one request brought, before anybody has judged it. */
export type Received =
  | { readonly ok: true; readonly body: unknown; readonly warnings: readonly string[] }
  | {
      readonly ok: false
      readonly failure: ClientFailure
      readonly retryAfter?: string | null
      readonly warnings: readonly string[]
    }

/** The apiVersion and kind of an answer; `isWhole`: whether it has what was asked for. */
export interface Expected {
  readonly apiVersion: string
  readonly kind: string
  readonly isWhole: (body: unknown) => boolean
}

/** Sends a request once. Of an answer that is not the expected one, nothing is kept but a Status. */
export async function send(fetch: Fetch, request: Request, expected: Expected): Promise<Received> {
  let answer: Response
  let text: string
  try {
    answer = await fetch(request)
    text = await answer.text()
  } catch (error) {
    return { ok: false, failure: silenceOf(error), warnings: [] }
  }
  const body = parseJson(text)
  const warnings = warningsOf(answer.headers)
  if (answer.ok && isExpected(body, expected)) return { ok: true, body, warnings }
  const retryAfter = answer.headers.get('Retry-After')
  return { ok: false, failure: failureOf(answer.status, body, text), retryAfter, warnings }
}

const isExpected = (body: unknown, { apiVersion, kind, isWhole }: Expected): boolean =>
  own(body, 'kind') === kind && own(body, 'apiVersion') === apiVersion && isWhole(body)

function failureOf(code: number, body: unknown, text: string): ClientFailure {
  const reason = textAt(body, 'reason')
  const message = textAt(body, 'message')
  const isRefusal = code >= 400 && own(body, 'kind') === 'Status' && own(body, 'code') === code
  if (isRefusal && reason !== undefined && message !== undefined) {
    return { kind: 'status', code, reason, message }
  }
  return code === 503 && UNDELIVERED.test(text)
    ? {
        kind: 'foreign',
        code,
        reason: 'NotReached',
        message: 'the function was not reached',
        undelivered: true,
      }
    : {
        kind: 'foreign',
        code,
        reason: 'NotUnderstood',
        message: isRedirect(code)
          ? `a redirect (code ${code}), which is not followed: baseUrl is not where the API is`
          : `the answer (code ${code}) is none of the function`,
      }
}

/** 0: one that a browser keeps to itself (Fetch standard, "opaque-redirect filtered response"). */
const isRedirect = (code: number): boolean => code === 0 || (code >= 300 && code < 400)

/**
 * The aggregation layer's words when no backend is there, none could be dialled, or its certificate is not trusted.
 * Of other errors ("EOF", "connection reset") the request may have arrived
 * (k8s.io/kube-aggregator/pkg/apiserver/handler_proxy.go, k8s.io/apimachinery/pkg/util/proxy/transport.go).
 */
const UNDELIVERED =
  /^(service unavailable|error trying to reach service: (dial .*|tls: failed to verify certificate: .*))\s*$/

/** The texts of `299 - "…"` (RFC 7234, section 5.5); several headers come joined by commas. */
const warningsOf = (headers: Headers): readonly string[] =>
  [...(headers.get('Warning') ?? '').matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) =>
    text.replace(/\\(.)/g, '$1'),
  )
