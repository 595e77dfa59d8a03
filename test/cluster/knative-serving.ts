import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { buildKnative, type Knative } from '../control-plane/build-knative.ts'
import { applyForeignCrds } from '../control-plane/crds.ts'
import { type Daemon, startDaemon } from '../control-plane/daemon.ts'
import { freePorts } from '../control-plane/ports.ts'
import type { ControlPlane } from '../control-plane/start.ts'
import { eventually } from './eventually.ts'

interface WebhookConfiguration {
  readonly webhooks: readonly {
    readonly clientConfig: { readonly service: object; readonly caBundle?: string }
  }[]
}

const NAMESPACE = 'knative-serving'
/** knative.dev/pkg, injection/health_check.go: it cannot be chosen. */
const CONTROLLER_HEALTH = 'http://127.0.0.1:8080/health'
const CONFIGURATIONS = [
  'mutatingwebhookconfiguration/webhook.serving.knative.dev',
  'validatingwebhookconfiguration/validation.webhook.serving.knative.dev',
  'validatingwebhookconfiguration/config.webhook.serving.knative.dev',
]

/** Our image cannot be looked up here, and the sidecar's has no name before it is released. */
const SETTINGS = {
  'config-deployment': {
    'registries-skipping-tag-resolving': 'ghcr.io',
    'queue-sidecar-image': 'knative.test/queue:1',
  },
}

/** Knative Serving's own webhook and controller on a control plane, with what its release installs. */
export async function startKnativeServing(
  plane: ControlPlane,
): Promise<{ readonly stop: () => Promise<void> }> {
  const knative = await buildKnative()
  await install(plane, knative)
  const daemons: Daemon[] = []
  const stop = async () => {
    await Promise.all(daemons.map((daemon) => daemon.end()))
  }
  const start = async (name: string, program: string, more: Readonly<Record<string, string>> = {}) => {
    const env = { ...(await environment(plane, name)), ...more }
    daemons.push(await startDaemon(name, program, [], join(plane.folder, `knative-${name}.log`), env))
  }
  try {
    const [port = 0] = await freePorts(1)
    await start('webhook', knative.webhook, { WEBHOOK_NAME: 'webhook', WEBHOOK_PORT: String(port) })
    // The API server asks a Service, and there is no network of a cluster: this one is a name for the loopback.
    await plane.apply([loopbackService(port), ...(await webhooksAt(knative.config.webhooks, port))])
    await eventually('the webhook has registered itself', () => isRegistered(plane))
    await start('controller', knative.controller)
    await eventually('the controller works', async () => {
      const ended = daemons.find((daemon) => !daemon.isRunning())
      if (ended !== undefined) throw new Error(`${ended.name} has ended`)
      return fetch(CONTROLLER_HEALTH).then(
        ({ ok }) => ok,
        () => false,
      )
    })
  } catch (error) {
    const logs = await Promise.all(daemons.map((daemon) => daemon.lastLines()))
    await stop()
    throw new Error(`Knative Serving does not start:\n${logs.join('\n')}`, { cause: error })
  }
  return { stop }
}

async function install(plane: ControlPlane, { config }: Knative): Promise<void> {
  await applyForeignCrds(plane)
  await plane.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }])
  const folders = [config.networking, config.caching, config.configMaps]
  await plane.apply((await Promise.all(folders.map(textsIn))).flat().join('\n---\n'))
  for (const [name, data] of Object.entries(SETTINGS)) {
    const patch = [
      'patch',
      'configmap',
      name,
      '-n',
      NAMESPACE,
      '--type=merge',
      '-p',
      JSON.stringify({ data }),
    ]
    const { code, stderr } = await plane.kubectl(patch)
    if (code !== 0) throw new Error(`kubectl patch configmap ${name}: ${stderr.trim()}`)
  }
}

/** As in knative.dev/serving, config/core/deployments. The ports that can be chosen are free ones. */
async function environment({ kubeconfig }: ControlPlane, name: string) {
  const [metrics = 0, profiling = 0] = await freePorts(2)
  return {
    KUBECONFIG: kubeconfig,
    POD_NAME: `${name}-0`,
    SYSTEM_NAMESPACE: NAMESPACE,
    CONFIG_LOGGING_NAME: 'config-logging',
    CONFIG_OBSERVABILITY_NAME: 'config-observability',
    METRICS_DOMAIN: 'knative.dev/internal/serving',
    METRICS_PROMETHEUS_PORT: String(metrics),
    PROFILING_PORT: String(profiling),
  }
}

const loopbackService = (port: number) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'webhook', namespace: NAMESPACE },
  spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port }] },
})

async function textsIn(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.yaml')).sort()
  return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
}

/** What Knative installs for its webhook; only the port is ours. */
async function webhooksAt(folder: string, port: number): Promise<readonly object[]> {
  return (await textsIn(folder)).map((text) => {
    const object = parse(text) as Partial<WebhookConfiguration>
    if (object.webhooks === undefined) return object
    const ported = object.webhooks.map(({ clientConfig, ...webhook }) => ({
      ...webhook,
      clientConfig: { ...clientConfig, service: { ...clientConfig.service, port } },
    }))
    return { ...object, webhooks: ported }
  })
}

/** It makes a certificate of its own, and tells the API server whom to trust. */
async function isRegistered({ kubectl }: ControlPlane): Promise<boolean> {
  const { stdout } = await kubectl(['get', ...CONFIGURATIONS, '-o', 'json'])
  const { items } = JSON.parse(stdout) as { readonly items: readonly WebhookConfiguration[] }
  return items.every(({ webhooks: [first] }) => first?.clientConfig.caBundle !== undefined)
}
