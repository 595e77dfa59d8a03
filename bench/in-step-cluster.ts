import { join } from 'node:path'
import { applyWebhooks } from '../test/cluster/webhooks.ts'
import { nodeProcess } from '../test/contract/backends/node-process.ts'
import { type RealApiServer, startRealApiServer } from '../test/contract/backends/real-api-server.ts'
import { createTenant, type Tenant } from '../test/contract/tenant.ts'
import { freePorts } from '../test/control-plane/ports.ts'
import type { ControlPlane } from '../test/control-plane/start.ts'
import { startProgram } from '../test/helpers/program.ts'
import { startAsImage } from './image-flags.ts'
import { administrator } from './rows/caller.ts'

/** A real control plane, and four namespaces in it that differ by whom kube-apiserver asks. */
export interface InStepCluster {
  readonly api: RealApiServer
  /** Nobody is asked. */
  readonly bare: Tenant
  /** Our webhooks, at a server that allows everything at once. */
  readonly empty: Tenant
  /** The same at a server that makes the calls first that an answer to an update of values needs. */
  readonly reading: Tenant
  /** Our webhooks, answered by the function. */
  readonly ours: Tenant
  /** As the administrator. Throws on an answer that is no success. */
  readonly send: Send
  /** Reviews that a server has answered with success so far, as kube-apiserver has counted them. */
  readonly reviews: (server: ReviewServer) => Promise<number>
  /** As the function's own ServiceAccount. */
  readonly sendAsFunction: Send
  /** A request to the function, as the administrator of `ours`. */
  readonly call: (path: string) => Promise<string>
  readonly stop: () => Promise<void>
}

/** Whose webhooks they are: of `ours`, `empty` and `reading`. */
type ReviewServer = 'mintonce' | 'allowing' | 'reading'

export type Send = (method: string, path: string, body?: object) => Promise<unknown>

export const DEFINITIONS = '/apis/cozystack.io/v1alpha1/applicationdefinitions'
const SETTINGS = { MINTONCE_LOG_LEVEL: 'info' }

export async function startInStepCluster(): Promise<InStepCluster> {
  const api = await startRealApiServer()
  const { plane } = api
  const backend = await nodeProcess(api, SETTINGS)
  const [port = 0] = await freePorts(1)
  const certificate = await plane.serverCertificateFor(['127.0.0.1'])
  const settings = {
    ...SETTINGS,
    MINTONCE_TLS_CERT_FILE: certificate.certFile,
    MINTONCE_TLS_KEY_FILE: certificate.keyFile,
    MINTONCE_ADMISSION_PORT: String(port),
  }
  const webhooks = await startAsImage(api, settings, join(import.meta.dirname, '../dist/node.js'))
  const sendAsFunction = sender(api.asFunction)
  const allowing = await startReviewer(api, certificate, { reads: false })
  const reader = await startReviewer(api, certificate, { reads: true })
  const bare = await createTenant(backend)
  const empty = await createTenant(backend)
  const reading = await createTenant(backend)
  const ours = await createTenant(backend)
  await plane.apply([administrator(ours.namespace)])
  await applyWebhooks(onlyIn(plane, 'mintonce', ours.namespace), port)
  await applyWebhooks(onlyIn(plane, 'allowing', empty.namespace), allowing.port)
  await applyWebhooks(onlyIn(plane, 'reading', reading.namespace), reader.port)
  return {
    api,
    bare,
    empty,
    reading,
    ours,
    send: sender(api.admin),
    reviews: async (server) => reviewsIn(await textOf(api.admin, '/metrics'), server),
    sendAsFunction,
    call: async (path) => {
      const headers = { Authorization: `Bearer ${ours.tokens.admin}` }
      const answer = await backend.call(path, { method: 'POST', headers })
      if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`)
      return answer.text()
    },
    stop: async () => {
      await allowing.stop()
      await reader.stop()
      await webhooks.stop()
      await backend.stop()
    },
  }
}

/** The webhooks of one namespace, under a name of their own. */
function onlyIn(plane: ControlPlane, name: string, namespace: string): Pick<ControlPlane, 'apply' | 'ca'> {
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } }
  const narrowed = (configuration: object) => ({
    ...configuration,
    metadata: { name },
    ...('webhooks' in configuration && Array.isArray(configuration.webhooks)
      ? {
          webhooks: configuration.webhooks.map((webhook) => ({
            ...webhook,
            name: `${name}.${webhook.name}`,
            namespaceSelector,
          })),
        }
      : {}),
  })
  return {
    ca: plane.ca,
    apply: (objects) =>
      typeof objects === 'string' ? plane.apply(objects) : plane.apply(objects.map(narrowed)),
  }
}

/** `apiserver_admission_webhook_request_total` (`k8s.io/apiserver/pkg/admission/metrics`) of the webhooks of a server. */
function reviewsIn(metrics: string, server: ReviewServer): number {
  const counter = new RegExp(
    `^apiserver_admission_webhook_request_total\\{code="200",name="${server}\\..*rejected="false".*\\} (\\S+)$`,
    'gm',
  )
  return [...metrics.matchAll(counter)].reduce((sum, [, count]) => sum + Number(count), 0)
}

/** `bench/webhook-process.ts`: what any webhook costs, and with `reads` one that makes the calls that it must. */
async function startReviewer(
  api: RealApiServer,
  { certFile: CERT_FILE, keyFile: KEY_FILE }: Awaited<ReturnType<ControlPlane['serverCertificateFor']>>,
  { reads }: { readonly reads: boolean },
) {
  const { url: KUBE_URL, caFile: CA_FILE = '', tokenFile: TOKEN_FILE } = await api.forProcess()
  const program = join(import.meta.dirname, 'webhook-process.ts')
  const { found, stop } = await startProgram([process.execPath, program], {
    ready: /"port":(\d+)/,
    env: { CERT_FILE, KEY_FILE, READS: String(reads), KUBE_URL, CA_FILE, TOKEN_FILE },
  })
  return { port: Number(found[1]), stop }
}

async function textOf(fetch: RealApiServer['admin'], path: string): Promise<string> {
  const answer = await fetch(new Request(`https://kubernetes.default.svc${path}`))
  const read = await answer.text()
  if (!answer.ok) throw new Error(`GET ${path}: ${answer.status} ${read}`)
  return read
}

function sender(fetch: RealApiServer['admin']): Send {
  return async (method, path, body) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const init = { method, ...(body && { body: JSON.stringify(body), headers: { 'content-type': type } }) }
    const answer = await fetch(new Request(`https://kubernetes.default.svc${path}`, init))
    const read = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${read}`)
    return JSON.parse(read)
  }
}
