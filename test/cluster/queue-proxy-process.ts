import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'yaml'
import { buildKnative } from '../control-plane/build-knative.ts'
import { type Daemon, startDaemon } from '../control-plane/daemon.ts'
import { freePorts } from '../control-plane/ports.ts'

/** What the shipped Service says, and Knative hands to its queue-proxy. */
interface Revision {
  readonly containerConcurrency: number
  readonly timeoutSeconds: number
  readonly readinessProbe: {
    readonly httpGet: { readonly path: string }
    readonly periodSeconds: number
    readonly timeoutSeconds: number
  }
}

export interface QueueProxy {
  readonly origin: string
  /** What the kubelet calls before it ends the container of the function. Answers its status, after the drain. */
  readonly waitForDrain: () => Promise<number>
  /** Whether the container is ready, as this prober asks: a status. */
  readonly probe: (userAgent: UserAgent) => Promise<number>
  /** SIGTERM. Answers the exit code. */
  readonly terminate: () => Promise<number | null>
  readonly stop: () => Promise<void>
}

/** knative.dev/networking, pkg/http/header: who asks instead of a client. */
type UserAgent = 'kube-probe/1.36' | 'Knative-Activator-Probe'

const SERVICE = join(import.meta.dirname, '../../knative/service.yaml')
/** knative.dev/serving, pkg/networking/constants.go: neither can be chosen. */
const ADMIN_PORT = 8022
const METRICS_PORT = 9090
const START_TIMEOUT_MS = 15_000

/** The revision that `kubectl apply -k knative/` makes. */
export async function shippedRevision(): Promise<Revision> {
  const { spec } = parse(await readFile(SERVICE, 'utf8')).spec.template
  const { containerConcurrency, timeoutSeconds, containers } = spec
  return { containerConcurrency, timeoutSeconds, readinessProbe: containers[0].readinessProbe }
}

/** Knative's own sidecar in front of what listens on `userPort`, with the settings of the shipped Service. */
export async function startQueueProxy(
  userPort: number,
  folder: string,
  change: Partial<Revision> = {},
): Promise<QueueProxy> {
  const { queueProxy } = await buildKnative()
  const [port = 0, tlsPort = 0] = await freePorts(2)
  const env = queueProxyEnvironment({ ...(await shippedRevision()), ...change }, { port, tlsPort, userPort })
  const daemon = await startDaemon('queue-proxy', queueProxy, [], join(folder, 'queue-proxy.log'), env)
  try {
    await listening(daemon, [port, ADMIN_PORT, METRICS_PORT])
  } catch (error) {
    await daemon.end()
    throw error
  }
  const origin = `http://127.0.0.1:${port}`
  const statusOf = async (url: string, headers: Readonly<Record<string, string>>) => {
    const response = await fetch(url, { headers })
    await response.text()
    return response.status
  }
  return {
    origin,
    waitForDrain: () => statusOf(`http://127.0.0.1:${ADMIN_PORT}/wait-for-drain`, {}),
    probe: (userAgent) => statusOf(origin, { 'User-Agent': userAgent, 'K-Network-Probe': 'queue' }),
    terminate: () => {
      daemon.signal('SIGTERM')
      return daemon.exited
    },
    stop: daemon.end,
  }
}

interface Ports {
  readonly port: number
  readonly tlsPort: number
  readonly userPort: number
}

/** As knative.dev/serving renders it in pkg/reconciler/revision/resources/queue.go, without request metrics. */
export function queueProxyEnvironment(
  revision: Revision,
  { port, tlsPort, userPort }: Ports,
): Readonly<Record<string, string>> {
  const { containerConcurrency, timeoutSeconds, readinessProbe } = revision
  const httpGet = { ...readinessProbe.httpGet, port: userPort, host: '127.0.0.1', scheme: 'HTTP' }
  return {
    SERVING_NAMESPACE: 'mintonce',
    SERVING_SERVICE: 'mintonce',
    SERVING_CONFIGURATION: 'mintonce',
    SERVING_REVISION: 'mintonce-00001',
    SERVING_POD: 'mintonce-00001-deployment-0',
    SERVING_POD_IP: '127.0.0.1',
    HOST_IP: '127.0.0.1',
    SYSTEM_NAMESPACE: 'knative-serving',
    METRICS_DOMAIN: 'knative.dev/internal/serving',
    QUEUE_SERVING_PORT: String(port),
    QUEUE_SERVING_TLS_PORT: String(tlsPort),
    USER_PORT: String(userPort),
    CONTAINER_CONCURRENCY: String(containerConcurrency),
    REVISION_TIMEOUT_SECONDS: String(timeoutSeconds),
    REVISION_RESPONSE_START_TIMEOUT_SECONDS: '0',
    REVISION_IDLE_TIMEOUT_SECONDS: '0',
    SERVING_LOGGING_CONFIG: '',
    SERVING_LOGGING_LEVEL: '',
    ENABLE_HTTP2_AUTO_DETECTION: 'false',
    ENABLE_HTTP_FULL_DUPLEX: 'false',
    ENABLE_MULTI_CONTAINER_PROBES: 'false',
    TRACING_CONFIG_BACKEND: 'none',
    // The thresholds are defaults: Knative's and Kubernetes'.
    SERVING_READINESS_PROBE: JSON.stringify({
      httpGet,
      timeoutSeconds: readinessProbe.timeoutSeconds,
      periodSeconds: readinessProbe.periodSeconds,
      successThreshold: 1,
      failureThreshold: 3,
    }),
  }
}

async function listening(daemon: Daemon, ports: readonly number[]): Promise<void> {
  const until = performance.now() + START_TIMEOUT_MS
  for (const port of ports) {
    while (!(await answers(port))) {
      if (performance.now() > until || !daemon.isRunning()) {
        throw new Error(`the queue-proxy does not listen on ${port}:\n${await daemon.lastLines()}`)
      }
      await sleep(20)
    }
  }
  // Another one that has the fixed ports would have answered in its place.
  if (!daemon.isRunning()) throw new Error(`the queue-proxy has ended:\n${await daemon.lastLines()}`)
}

const answers = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/`, { headers: { 'K-Network-Probe': 'probe' } }).then(
    async (response) => {
      await response.body?.cancel()
      return true
    },
    () => false,
  )
