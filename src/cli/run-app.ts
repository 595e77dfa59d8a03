import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { createApp } from '../app.ts'
import type { Config } from '../config.ts'
import type { Deps } from '../core/deps.ts'
import { createLog } from '../core/log.ts'
import { noMetrics } from '../core/metrics.ts'
import { createIssuerGet } from '../k8s/node-issuer.ts'
import { createWebhookClient } from '../k8s/node-webhook.ts'
import type { Send } from '../k8s/send.ts'
import { type Serving, serve } from '../node-server.ts'
import { createServices } from '../services.ts'

/** What the commands need of the process: the clock, randomness, and log lines beside the command's own output. */
export function createDeps(config: Pick<Config, 'logLevel'>): Deps {
  const now = () => Date.now()
  return {
    now,
    randomBytes: (length) => new Uint8Array(randomBytes(length)),
    log: createLog(config.logLevel, now, (line) => process.stderr.write(`${line}\n`)),
    metrics: noMetrics,
  }
}

/** The function as it ships, over HTTP, in front of the Kubernetes API that `kube` reaches. Says what hinders it. */
export async function runApp(
  config: Config,
  { deps, kube }: { readonly deps: Deps; readonly kube: Send },
): Promise<Serving> {
  const { group, port, listenAddress: address = '127.0.0.1' } = config
  const app = createApp(
    createServices(config, {
      deps,
      kube,
      getFor: createIssuerGet,
      webhookFetch: createWebhookClient,
      instance: hostname(),
    }),
  )
  try {
    return await serve({ app, group, port, address, drainMs: 0, log: deps.log })
  } catch (error) {
    throw new Error(whyNotListening(error, `${address}:${port}`), { cause: error })
  }
}

/** What to tell the person who started it. */
export function whyNotListening(error: unknown, where: string): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') return `${where} is in use: choose another port with PORT (0: any that is free)`
  if (code === 'EACCES') return `${where} is not allowed for this user: choose a port above 1023 with PORT`
  return `cannot listen on ${where}: ${String(code ?? error)}`
}

/** Where `serving` is reached from this machine. */
export function originOf({ address, port }: Pick<Serving, 'address' | 'port'>): string {
  const host = address === '0.0.0.0' || address === '::' ? 'localhost' : address
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
