import { hostname } from 'node:os'
import type { Config } from '../config.ts'
import type { Services } from '../handlers/services.ts'
import { inClusterSend } from '../k8s/node-in-cluster.ts'
import { createIssuerGet } from '../k8s/node-issuer.ts'
import { openKubeconfig } from '../k8s/node-kubeconfig.ts'
import { createWebhookClient } from '../k8s/node-webhook.ts'
import type { Send } from '../k8s/send.ts'
import { createServices } from '../services.ts'
import type { ClusterOptions } from './cluster-options.ts'
import { createDeps } from './run-app.ts'

/** The parts of the function for a command that calls the Kubernetes API itself. */
export const servicesFor = (config: Config, kube: Send): Services =>
  createServices(config, {
    deps: createDeps(config),
    kube,
    getFor: createIssuerGet,
    webhookFetch: createWebhookClient,
    instance: hostname(),
  })

/** The cluster of a kubeconfig, or else the one that this process is a pod of, as the function that is deployed. */
export async function reach(config: Config, cluster: ClusterOptions | undefined): Promise<Send> {
  if (cluster !== undefined) return (await openKubeconfig(cluster)).send
  const { kubeUrl: url, kubeCaFile: caFile, kubeTokenFile: tokenFile } = config
  return inClusterSend({ url, caFile, tokenFile, now: () => Date.now() })
}
