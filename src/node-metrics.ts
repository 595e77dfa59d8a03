import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Log } from './core/deps.ts'
import type { Metrics } from './core/metrics.ts'

interface MetricsOptions {
  /** 0: any that is free. */
  readonly port: number
  /** Undefined: all interfaces. */
  readonly address: string | undefined
  readonly version: string
  readonly log: Log
}

export interface MetricsServing {
  readonly metrics: Metrics
  readonly address: string
  readonly port: number
  readonly stop: () => Promise<void>
}

/** Seconds; up to the longest time that a request may be given. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 50]
const RECEIVE_MS = 10_000
/** What a CRD may call a kind: a DNS-1035 label but for its case (apiextensions-apiserver, `validation.go`). */
const KIND = /^[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$/
const MAX_KINDS = 100

/**
 * Metrics for Prometheus, `GET /metrics` on a port of their own, in text format 0.0.4. Rejects when the address cannot
 * be listened on. What is listening never keeps the process.
 */
export async function openMetrics({ port, address, version, log }: MetricsOptions): Promise<MetricsServing> {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const metrics = metricsIn(registry, version)
  const server = createServer(
    { requestTimeout: RECEIVE_MS, headersTimeout: RECEIVE_MS },
    (asked, outgoing) => {
      answer(registry, asked, outgoing).catch((error: unknown) => {
        log('error', 'metrics_failed', { error: error instanceof Error ? error.name : 'thrown value' })
        outgoing.destroy()
      })
    },
  )
  server.listen({ port, ...(address === undefined ? {} : { host: address }) })
  await once(server, 'listening')
  server.unref()
  const at = server.address() as AddressInfo
  log('info', 'metrics_listening', { address: at.address, port: at.port })
  return {
    metrics,
    address: at.address,
    port: at.port,
    stop: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** Creates what docs/metrics.md lists. */
function metricsIn(registry: Registry, version: string): Metrics {
  const registers = [registry]
  const requests = new Counter({
    name: 'mintonce_requests_total',
    help: 'Requests that were answered, those of probes left out.',
    labelNames: ['verb', 'code', 'kind'],
    registers,
  })
  const durations = new Histogram({
    name: 'mintonce_request_duration_seconds',
    help: 'How long the answers to them took.',
    labelNames: ['verb', 'kind'],
    buckets: BUCKETS,
    registers,
  })
  const calls = new Histogram({
    name: 'mintonce_kube_call_duration_seconds',
    help: 'How long calls to the Kubernetes API took.',
    labelNames: ['call', 'outcome'],
    buckets: BUCKETS,
    registers,
  })
  new Gauge({
    name: 'mintonce_build_info',
    help: 'Always 1: the version is a label.',
    labelNames: ['version'],
    registers,
  }).set({ version }, 1)

  const bounded = boundedKinds()
  return {
    request({ verb, code, kind: given }, seconds) {
      const kind = bounded(given)
      requests.inc({ verb, code, kind })
      durations.observe({ verb, kind }, seconds)
    },
    kubeCall({ call, outcome }, seconds) {
      calls.observe({ call, outcome }, seconds)
    },
  }
}

/** Whoever may write Secrets may write any kind into the labels of one: the first hundred have lines of their own. */
function boundedKinds(): (kind: string) => string {
  const known = new Set([''])
  return (kind) => {
    if (!known.has(kind) && known.size <= MAX_KINDS && KIND.test(kind)) known.add(kind)
    return known.has(kind) ? kind : 'other'
  }
}

async function answer(registry: Registry, asked: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const [path] = (asked.url ?? '').split('?', 1)
  if (path !== '/metrics') return end(outgoing, 404, 'there is only /metrics here\n')
  if (asked.method !== 'GET' && asked.method !== 'HEAD') {
    return end(outgoing, 405, 'GET or HEAD only\n', { Allow: 'GET, HEAD' })
  }
  const text = await registry.metrics()
  end(outgoing, 200, text, { 'Content-Type': registry.contentType })
}

function end(
  outgoing: ServerResponse,
  code: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  outgoing.writeHead(code, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...headers,
  })
  outgoing.end(text)
}
