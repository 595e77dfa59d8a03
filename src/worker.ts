import { createApp } from './app.ts'
import { readConfig } from './config.ts'
import { isBearerToken } from './core/bearer.ts'
import type { Fetch } from './core/deps.ts'
import type { Get, Later } from './core/http.ts'
import { fromFetch, getOver, toFetch } from './core/http-fetch.ts'
import { createLog } from './core/log.ts'
import { noMetrics } from './core/metrics.ts'
import { nextTurn } from './core/next-turn.ts'
import { crashed } from './handlers/answer.ts'
import type { Services } from './handlers/services.ts'
import { sweepOnce } from './handlers/sweep-once.ts'
import { sendOver } from './k8s/send.ts'
import type { App } from './router.ts'
import { createServices } from './services.ts'

interface WorkerEnv {
  /** The way to the Kubernetes API: a service binding. */
  readonly KUBE: { readonly fetch: Fetch }
  /**
   * Secret binding: sent to the Kubernetes API as bearer token, when the binding does not authenticate by itself. Null is
   * a variable that workerd did not find in its environment.
   */
  readonly KUBE_TOKEN?: string | null
  readonly [variable: string]: unknown
}

interface WorkerContext {
  readonly waitUntil: (work: Promise<unknown>) => void
}

/** The app, and what it is made of; undefined when the settings are wrong. */
interface Built {
  readonly app: App
  readonly services: Services | undefined
}

let built: Promise<Built> | undefined

export default {
  /** Built at the first request: before it there is no environment. An isolate has one, so there is one app. */
  async fetch(request: Request, env: WorkerEnv, context: WorkerContext): Promise<Response> {
    built ??= build(env).catch(misconfigured)
    const { app } = await built
    const later: Later = (work) => context.waitUntil(nextTurn().then(work))
    return toFetch(await app(fromFetch(request, later)), request)
  },

  /** A cron trigger: one sweep. Rejects when it failed, so that the runtime counts it as such. */
  async scheduled(_event: unknown, env: WorkerEnv, context: WorkerContext): Promise<void> {
    built ??= build(env).catch(misconfigured)
    const { services } = await built
    if (services === undefined) throw new Error('bad configuration')
    const swept = await sweepOnce(services, { later: (work) => context.waitUntil(work()) })
    if (swept.ok) return
    services.deps.log('error', 'sweep_failed', { failure: swept.failure.reason })
    throw new Error(`the sweep failed: ${swept.failure.reason}`)
  },
}

/** The operator reads the mistakes in the log; a caller learns that there are some. */
function misconfigured(error: unknown): Built {
  const message = error instanceof Error ? error.message : 'could not start'
  console.error(JSON.stringify({ level: 'error', event: 'misconfigured', message }))
  return { app: async () => crashed(), services: undefined }
}

async function build(env: WorkerEnv): Promise<Built> {
  const texts = Object.entries(env).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  const config = await readConfig(Object.fromEntries(texts))
  // Set and ignored, it would look as if kube-apiserver's word counted.
  if (config.frontProxy)
    throw new Error('bad configuration:\n  MINTONCE_FRONT_PROXY: a worker sees no client certificate')
  const now = () => Date.now()
  const deps = {
    now,
    randomBytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
    log: createLog(config.logLevel, now, (line) => console.log(line)),
    // An isolate comes and goes, and has no port to be asked on.
    metrics: noMetrics,
  }
  const services = createServices(config, {
    deps,
    kube: sendOver(kubeOf(env)),
    getFor: publicGet,
    instance: 'worker',
  })
  return { app: createApp(services), services }
}

function kubeOf({ KUBE, KUBE_TOKEN }: WorkerEnv): Fetch {
  const token = KUBE_TOKEN?.trim() ?? ''
  if (token === '') return (request) => KUBE.fetch(request)
  // Before `Headers` says so, in every request, with the token in its words.
  if (!isBearerToken(token))
    throw new Error('bad configuration:\n  KUBE_TOKEN: is none that a header can hold')
  return (request) => {
    const headers = new Headers(request.headers)
    headers.set('Authorization', `Bearer ${token}`)
    return KUBE.fetch(new Request(request, { headers }))
  }
}

/** A worker's fetch trusts public CAs only: an issuer with its own needs another runtime. */
function publicGet(certificateAuthority: string | undefined): Get {
  if (certificateAuthority === undefined) return getOver((request) => fetch(request))
  throw new Error('bad configuration:\n  issuer.certificateAuthority: a worker cannot trust a CA of your own')
}
