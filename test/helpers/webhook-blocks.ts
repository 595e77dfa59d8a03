import { randomBytes } from 'node:crypto'
import type { Webhooks } from '../../src/definitions/webhook.ts'
import { createWebhooks } from '../../src/definitions/webhook-client.ts'
import { createWebhookClient } from '../../src/k8s/node-webhook.ts'

/** Webhooks as Node calls them, on this machine too. */
export const localWebhooks: Webhooks = createWebhooks({
  hosts: ['localhost', '.svc'],
  connect: createWebhookClient,
  randomBytes: (length) => new Uint8Array(randomBytes(length)),
})

export const localConfig = (port: number, caBundle: string, path = '/') => ({
  url: `https://localhost:${port}${path}`,
  caBundle,
})

export const withFormatWebhook = (webhook: object, more: object = {}) => ({
  format: { kind: 'Webhook', name: 'mongodb-scram-sha-256', webhook },
  accounts: [{ kind: 'ValuesMap', path: 'users' }],
  ...more,
})
