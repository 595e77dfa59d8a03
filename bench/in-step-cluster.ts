import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { applyWebhooks } from '../test/cluster/webhooks.ts'
import { nodeProcess } from '../test/contract/backends/node-process.ts'
import { type RealApiServer, startRealApiServer } from '../test/contract/backends/real-api-server.ts'
import { createTenant, type Tenant } from '../test/contract/tenant.ts'
import { freePorts } from '../test/control-plane/ports.ts'
import type { ControlPlane } from '../test/control-plane/start.ts'
import { startEntry } from '../test/helpers/entry.ts'
import { administrator } from './rows/caller.ts'

/** A real control plane, and four namespaces in it that differ by whom kube-apiserver asks. */
export interface InStepCluster {
  readonly api: RealApiServer
  /** Nobody is asked. */
  readonly bare: Tenant
  /** Our webhooks, at a server that allows everything at once. */
  readonly empty: Tenant
  /** The same at a server that reads the definitions first when it is asked to mutate: nobody can do with less. */
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
type ReviewServer = 'mintonce' | 'allowing' | 'listing'

export type Send = (method: string, path: string, body?: object) => Promise<unknown>

export const DEFINITIONS = '/apis/cozystack.io/v1alpha1/applicationdefinitions'
const SETTINGS = { MINTONCE_LOG_LEVEL: 'info' }

export async function startInStepCluster(): Promise<InStepCluster> {
  const api = await startRealApiServer()
  const { plane } = api
  const backend = await nodeProcess(api, SETTINGS)
  const [port = 0] = await freePorts(1)
  const { certFile, keyFile } = await plane.serverCertificateFor(['127.0.0.1'])
  const webhooks = await startEntry(api, {
    ...SETTINGS,
    MINTONCE_TLS_CERT_FILE: certFile,
    MINTONCE_TLS_KEY_FILE: keyFile,
    MINTONCE_ADMISSION_PORT: String(port),
  })
  const sendAsFunction = sender(api.asFunction)
  const allowing = await startAllowing(certFile, keyFile)
  const listing = await startAllowing(certFile, keyFile, () => sendAsFunction('GET', DEFINITIONS))
  const bare = await createTenant(backend)
  const empty = await createTenant(backend)
  const reading = await createTenant(backend)
  const ours = await createTenant(backend)
  await plane.apply([administrator(ours.namespace)])
  await applyWebhooks(onlyIn(plane, 'mintonce', ours.namespace), port)
  await applyWebhooks(onlyIn(plane, 'allowing', empty.namespace), allowing.port)
  await applyWebhooks(onlyIn(plane, 'listing', reading.namespace), listing.port)
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
      allowing.stop()
      listing.stop()
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

/** What any webhook costs: it reads the review and allows it. */
async function startAllowing(
  certFile: string,
  keyFile: string,
  beforeMutating: () => Promise<unknown> = async () => {},
) {
  const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)])
  const server = createServer({ cert, key }, async (asked, outgoing) => {
    const { request } = JSON.parse(await text(asked))
    // kube-apiserver adds a query: how long it waits.
    if (asked.url?.startsWith('/admission/mutate')) await beforeMutating()
    const response = { uid: request.uid, allowed: true }
    outgoing.setHeader('content-type', 'application/json')
    outgoing.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }))
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
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
