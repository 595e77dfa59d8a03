import type { Failure } from '../core/failure.ts'
import type { HttpAnswer } from '../core/http.ts'
import { toStatus } from './status.ts'

/** On every answer: none of them may be kept by a cache or read as anything but what it says it is. */
export const HEADERS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' } as const

export const json = (
  body: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): HttpAnswer => ({
  status,
  headers: { ...HEADERS, 'Content-Type': 'application/json', ...headers },
  body: `${JSON.stringify(body)}\n`,
})

export const text = (body: string, status = 200): HttpAnswer => ({
  status,
  headers: { ...HEADERS, 'Content-Type': 'text/plain; charset=utf-8' },
  body,
})

/** A failure as `metav1.Status`. */
export function statusOf(failure: Failure, group: string): HttpAnswer {
  const { code, reason, message, details, headers } = toStatus(failure, group)
  return json(
    { ...STATUS, message, reason, ...(details === undefined ? {} : { details }), code },
    code,
    headers,
  )
}

/** An error that nobody foresaw. */
export const crashed = (): HttpAnswer =>
  json({ ...STATUS, message: 'internal error', reason: 'InternalError', code: 500 }, 500)

const STATUS = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const

/** RFC 7234, section 5.5, as Kubernetes uses it (KEP-1693): printable ASCII, quoted. */
export const warningHeader = (warning: string): string =>
  `299 - "${warning.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')}"`
