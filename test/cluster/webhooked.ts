import type { Backend } from '../contract/backend.ts'
import { nodeProcess } from '../contract/backends/node-process.ts'
import { type RealApiServer, startRealApiServer } from '../contract/backends/real-api-server.ts'
import { SETTINGS } from '../contract/backends/settings.ts'
import type { Anything } from '../contract/kube.ts'
import { releaseOf } from '../contract/tenant.ts'
import { freePorts } from '../control-plane/ports.ts'
import type { ControlPlane } from '../control-plane/start.ts'
import { type RunningEntry, startEntry } from '../helpers/entry.ts'
import { eventually } from './eventually.ts'
import { build } from './shipped.ts'
import { applyWebhooks } from './webhooks.ts'

/** What an API server answers an administrator. */
export interface Answer {
  readonly status: number
  readonly warnings: readonly string[]
  readonly body: Anything
}

/** A control plane that asks the function about HelmReleases, by the webhooks that are shipped. */
export interface Webhooked {
  readonly api: RealApiServer
  readonly plane: ControlPlane
  /** Another replica, which answers people. */
  readonly backend: Backend
  readonly send: (method: string, path: string, body?: object) => Promise<Answer>
  /** Where webhooks are answered. */
  readonly admission: string
  /** What the replica that answers webhooks has logged. */
  readonly output: () => string
  /** Nobody answers webhooks any more, and somebody does again. */
  readonly leave: () => Promise<void>
  readonly comeBack: () => Promise<void>
  readonly stop: () => Promise<void>
}

export async function startWebhooked(apiServerFlags: readonly string[] = []): Promise<Webhooked> {
  const api = await startRealApiServer({ apiServerFlags })
  const { plane } = api
  await plane.apply(await build('deploy/base', plane))
  const [port = 0] = await freePorts(1)
  const { certFile, keyFile } = await plane.serverCertificateFor(['127.0.0.1'])
  const start = () =>
    startEntry(api, {
      ...SETTINGS,
      MINTONCE_TLS_CERT_FILE: certFile,
      MINTONCE_TLS_KEY_FILE: keyFile,
      MINTONCE_ADMISSION_PORT: String(port),
    })
  let entry: RunningEntry | undefined = await start()
  const backend = await nodeProcess(api)
  const send = senderTo(plane)
  await applyWebhooks(plane, port)
  await eventually('the webhooks are asked', () => isAsked({ send }))
  const leave = async () => {
    await entry?.stop()
    entry = undefined
  }
  return {
    api,
    plane,
    backend,
    send,
    admission: `https://127.0.0.1:${port}`,
    output: () => entry?.output() ?? '',
    leave,
    comeBack: async () => {
      entry = await start()
    },
    stop: async () => {
      await leave().finally(backend.stop)
    },
  }
}

/** Whether the validating webhooks are in force: an API server notices a moment later that they have come or gone. */
export async function isAsked({ send }: Pick<Webhooked, 'send'>): Promise<boolean> {
  const probe = releaseOf('Postgres', 'probe', { users: { a_b: {}, 'a-b': {} } })
  return (await send('POST', `${releasesIn('default')}?dryRun=All`, probe)).status === 422
}

export const releasesIn = (namespace: string): string =>
  `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases`

export const secretsIn = (namespace: string): string => `/api/v1/namespaces/${namespace}/secrets`

const senderTo =
  (plane: ControlPlane): Webhooked['send'] =>
  async (method, path, body) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const init = { method, ...(body && { body: JSON.stringify(body), headers: { 'content-type': type } }) }
    const answer = await plane.adminFetch(new Request(`${plane.url}${path}`, init))
    const warnings = (answer.headers.get('warning') ?? '').split(/(?<="), /).filter((each) => each !== '')
    return { status: answer.status, warnings, body: await answer.json() }
  }

/** Until the garbage collector has looked at all that was written before: it has taken an orphan that is younger. */
export async function collectorHasPassed(
  { send }: Pick<Webhooked, 'send'>,
  namespace: string,
): Promise<void> {
  const owner = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', name: 'gone', uid: 'gone' }
  const name = `orphan-${Date.now()}`
  await send('POST', secretsIn(namespace), { metadata: { name, ownerReferences: [owner] } })
  await eventually('the collector takes an orphan', async () => {
    return (await send('GET', `${secretsIn(namespace)}/${name}`)).status === 404
  })
}

export const accountSecretsIn = async (
  { send }: Pick<Webhooked, 'send'>,
  namespace: string,
): Promise<readonly Anything[]> =>
  (await send('GET', `${secretsIn(namespace)}?labelSelector=credentials.cozystack.io%2Faccount%3Dtrue`)).body
    .items

/** `helm.toolkit.fluxcd.io/v2`, HelmReleaseStatus, when helm-controller has applied the release as it is. */
export const landed = ({ metadata }: Anything): object => ({
  observedGeneration: metadata.generation,
  history: [
    {
      name: metadata.name,
      namespace: metadata.namespace,
      version: 1,
      status: 'deployed',
      chartName: 'chart',
      chartVersion: '1.0.0',
      configDigest: 'sha256:0',
      digest: 'sha256:0',
      firstDeployed: '2026-10-01T00:00:00Z',
      lastDeployed: '2026-10-01T00:00:00Z',
    },
  ],
  conditions: [
    {
      type: 'Ready',
      status: 'True',
      reason: 'UpgradeSucceeded',
      message: '',
      lastTransitionTime: '2026-10-01T00:00:00Z',
      observedGeneration: metadata.generation,
    },
  ],
})
