import { randomBytes as random } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { createApp } from './app.ts'
import { type Config, readConfig } from './config.ts'
import { parseJson, textAt } from './core/json.ts'
import { createLog } from './core/log.ts'
import { decodeData } from './core/text.ts'
import { inClusterFetch } from './k8s/node-in-cluster.ts'
import { createIssuerFetch } from './k8s/node-issuer.ts'
import { serve } from './node-server.ts'
import { createServices } from './services.ts'

/** HTTP on `$PORT`: what runs on Knative. */
async function main(): Promise<void> {
  const config = await readConfig(process.env, {
    readText: (path) => readFile(path, 'utf8'),
    parseYaml: async (text) => (await import('yaml')).parse(text),
    serviceAccountIssuers: await ownIssuer(process.env.MINTONCE_KUBE_TOKEN_FILE),
  })
  const now = () => Date.now()
  const log = createLog(config.logLevel, now, (line) => process.stdout.write(`${line}\n`))
  const deps = { now, randomBytes: (length: number) => new Uint8Array(random(length)), log }
  const kube = inClusterFetch({
    url: config.kubeUrl,
    caFile: config.kubeCaFile,
    tokenFile: config.kubeTokenFile,
    now,
  })
  const app = createApp(
    createServices(config, { deps, kube, fetchFor: createIssuerFetch, instance: hostname() }),
  )
  const { group, port, listenAddress: address, drainMs } = config
  const serving = await serve({ app, group, port, address, drainMs, log })
  stopOnSignal(serving.stop, config)
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
  const token = await readFile(file, 'utf8').catch(() => '')
  const claims = decodeData(token.split('.')[1]?.replaceAll('-', '+').replaceAll('_', '/'))
  const issuer = textAt(parseJson(claims ?? ''), 'iss')
  return issuer === undefined ? [] : [issuer]
}

main().catch((error: unknown) => {
  process.stderr.write(`mintonce: ${error instanceof Error ? error.message : 'could not start'}\n`)
  process.exitCode = 1
})
