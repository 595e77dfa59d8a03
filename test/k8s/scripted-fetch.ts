import type { Fetch } from '../../src/core/deps.ts'
import { noMetrics } from '../../src/core/metrics.ts'
import { createKube } from '../../src/k8s/adapter.ts'
import type { Kube } from '../../src/k8s/kube.ts'
import { type Send, sendOver } from '../../src/k8s/send.ts'

/** A request as it left, with its body read. */
interface Sent {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: Headers
  readonly redirect: string
  readonly body: unknown
}

type Script = Response | (() => Response | Promise<Response>)

/** A fetch that answers these in order, and rejects what was not scripted. */
export function scriptedFetch(...answers: readonly Script[]): { fetch: Fetch; sent: Sent[] } {
  const sent: Sent[] = []
  const fetch: Fetch = async (request) => {
    const { pathname, searchParams, origin } = new URL(request.url)
    if (origin !== 'https://kubernetes.default.svc') throw new Error(`asked ${origin}`)
    const text = await request.text()
    const answer = answers[sent.length]
    sent.push({
      method: request.method,
      path: pathname,
      query: Object.fromEntries(searchParams),
      headers: request.headers,
      redirect: request.redirect,
      body: text === '' ? undefined : JSON.parse(text),
    })
    if (answer === undefined) throw new Error('a request more than scripted')
    return typeof answer === 'function' ? answer() : answer
  }
  return { fetch, sent }
}

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } })

/** `metav1.Status` as kube-apiserver writes it. */
export const status = (
  code: number,
  reason: string,
  {
    message = '',
    details,
    headers,
  }: { message?: string; details?: object; headers?: Record<string, string> } = {},
): Response =>
  json(
    { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, details, code },
    code,
    headers,
  )

/** What kube-apiserver answers for a group version that it does not serve. */
export const pageNotFound = (): Response =>
  new Response('404 page not found\n', {
    status: 404,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
  })

export const kubeOver = (fetch: Fetch, timeoutMs?: number): Kube => kubeBy(sendOver(fetch), timeoutMs)

export const kubeBy = (send: Send, timeoutMs = 5000): Kube =>
  createKube({
    send,
    timeoutMs,
    reportingInstance: 'mintonce-00001-abc',
    now: () => 0,
    metrics: noMetrics,
  })

/** The port in front of a script, and what it sent. */
export function scripted(...answers: readonly Script[]): { kube: Kube; sent: Sent[] } {
  const { fetch, sent } = scriptedFetch(...answers)
  return { kube: kubeOver(fetch), sent }
}
