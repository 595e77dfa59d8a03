/** The bare mint in a process that has loaded all that `src/node.ts` imports, and runs none of it. */
import { createApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { createLog } from '../src/core/log.ts'
import { inClusterSend } from '../src/k8s/node-in-cluster.ts'
import { createIssuerGet } from '../src/k8s/node-issuer.ts'
import { createWebhookClient } from '../src/k8s/node-webhook.ts'
import { openFront } from '../src/node-front.ts'
import { serve } from '../src/node-server.ts'
import { createServices } from '../src/services.ts'
import './bare-mint.ts'

export const loaded = [
  createApp,
  readConfig,
  createLog,
  inClusterSend,
  createIssuerGet,
  createWebhookClient,
  openFront,
  serve,
  createServices,
]
