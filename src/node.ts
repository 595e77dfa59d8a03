import { randomBytes as random } from 'node:crypto'
import { hostname } from 'node:os'
import { createApp } from './app.ts'
import { type Config, readConfig } from './config.ts'
import type { Log } from './core/deps.ts'
import { parseJson, textAt } from './core/json.ts'
import { createLog } from './core/log.ts'
import { noMetrics } from './core/metrics.ts'
import { decodeData } from './core/text.ts'
import type { Services } from './handlers/services.ts'
import { readText } from './k8s/node-files.ts'
import { inClusterSend } from './k8s/node-in-cluster.ts'
import { createIssuerGet } from './k8s/node-issuer.ts'
import { createWebhookClient } from './k8s/node-webhook.ts'
import { openFront } from './node-front.ts'
import type { MetricsServing } from './node-metrics.ts'
import { type Serving, serve } from './node-server.ts'
import { createServices } from './services.ts'
import { VERSION } from './version.ts'

/** On `$PORT`: HTTP on Knative, HTTPS behind an APIService. */
async function main(): Promise<void> {
  const config = await readConfig(process.env, {
    readText,
    parseYaml: async (text) => (await import('yaml')).parse(text),
    serviceAccountIssuers: await ownIssuer(process.env.MINTONCE_KUBE_TOKEN_FILE),
  })
  await requireFiles(config)
  const now = () => Date.now()
  // At once: a line is the evidence of a mint, and is out before the password is.
  const log = createLog(config.logLevel, now, (line) => process.stdout.write(`${line}\n`))
  const measuring = await openMetrics(config, log)
  const metrics = measuring?.metrics ?? noMetrics
  const deps = { now, randomBytes: (length: number) => new Uint8Array(random(length)), log, metrics }
  const kube = inClusterSend({
    url: config.kubeUrl,
    caFile: config.kubeCaFile,
    tokenFile: config.kubeTokenFile,
    now,
  })
  const { tls, ...front } =
    config.tls === undefined ? { tls: undefined } : await openFront(config.tls, config, { kube, deps })
  const runtime = {
    deps,
    kube,
    getFor: createIssuerGet,
    webhookFetch: createWebhookClient,
    instance: hostname(),
    ...front,
  }
  const services = createServices(config, runtime)
  const app = createApp(services)
  const { group, port, listenAddress: address, drainMs } = config
  const admission = await openAdmission(config, services)
  const serving = serve({ app, group, port, address, drainMs, log, tls })
  const stop = async () => {
    await Promise.all([serving.then((main) => main.stop()), admission?.stop()])
    // Still counting while what is in flight ends.
    await measuring?.stop()
  }
  // Before it listens: whoever sees that may already end it.
  stopOnSignal(stop, config)
  await serving
}

/** A file that is not there would look like an API server that is not. Throws an Error that names each. */
async function requireFiles({ kubeUrl, kubeCaFile, kubeTokenFile }: Config): Promise<void> {
  const files = [
    ['MINTONCE_KUBE_TOKEN_FILE', kubeTokenFile],
    ...(kubeUrl.startsWith('https:') ? [['MINTONCE_KUBE_CA_FILE', kubeCaFile] as const] : []),
  ] as const
  const problems = await Promise.all(
    files.map(([name, file]) =>
      readText(file).then(
        () => [],
        (error: NodeJS.ErrnoException) => [`${name}: ${file} cannot be read (${error.code})`],
      ),
    ),
  )
  if (problems.flat().length > 0) throw new Error(`bad configuration:\n  ${problems.flat().join('\n  ')}`)
}

/** Webhooks, where they are asked for. */
async function openAdmission(config: Config, services: Services): Promise<Serving | undefined> {
  if (config.admission === undefined || config.tls === undefined) return undefined
  const { openAdmission: open } = await import('./node-admission.ts')
  return open(config.admission, config.tls, config, services)
}

/** Only where they are asked for: a start without them does not load what they need. */
async function openMetrics(
  { metricsPort: port, listenAddress: address }: Config,
  log: Log,
): Promise<MetricsServing | undefined> {
  if (port === undefined) return undefined
  const { openMetrics: open } = await import('./node-metrics.ts')
  return open({ port, address, version: VERSION, log })
}

function stopOnSignal(stop: () => Promise<void>, { drainMs, deadlineMs }: Config): void {
  const end = () => {
    // Longer than anything in flight may take: a connection that hangs does not hold the process.
    setTimeout(() => process.exit(0), drainMs + deadlineMs + 5000).unref()
    void stop().then(() => process.exit(0))
  }
  process.once('SIGTERM', end)
  process.once('SIGINT', end)
}

/** Who issued this process's own ServiceAccount token: that issuer's tokens are for TokenReview. */
async function ownIssuer(
  file = '/var/run/secrets/kubernetes.io/serviceaccount/token',
): Promise<readonly string[]> {
  const token = await readText(file).catch(() => '')
  const claims = decodeData(token.split('.')[1]?.replaceAll('-', '+').replaceAll('_', '/'))
  const issuer = textAt(parseJson(claims ?? ''), 'iss')
  return issuer === undefined ? [] : [issuer]
}

main().catch((error: unknown) => {
  process.stderr.write(`mintonce: ${error instanceof Error ? error.message : 'could not start'}\n`)
  process.exitCode = 1
})
