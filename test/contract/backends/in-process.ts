import { randomBytes } from 'node:crypto'
import { createApp } from '../../../src/app.ts'
import { readConfig } from '../../../src/config.ts'
import { linesOf } from '../../../src/core/headers.ts'
import { noMetrics } from '../../../src/core/metrics.ts'
import { createWebhookClient } from '../../../src/k8s/node-webhook.ts'
import { sendOver } from '../../../src/k8s/send.ts'
import { createServices, type Runtime } from '../../../src/services.ts'
import { callApp } from '../../helpers/call-app.ts'
import type { Backend } from '../backend.ts'
import type { ApiServer } from './api-server.ts'
import { rawLinesOf } from './send-lines.ts'
import { SETTINGS } from './settings.ts'

/** The app as a function call. `getFor`: the way to issuers of tokens, where some are configured. */
export async function inProcess(
  api: ApiServer,
  settings: Readonly<Record<string, string>> = {},
  getFor: Runtime['getFor'] = () => () => Promise.reject(new Error('no issuer is configured')),
): Promise<Backend> {
  const lines: string[] = []
  const services = createServices(await readConfig({ ...SETTINGS, ...settings }), {
    deps: {
      now: () => Date.now(),
      randomBytes: (length) => new Uint8Array(randomBytes(length)),
      log: (level, event, fields) => lines.push(JSON.stringify({ level, event, ...fields })),
      metrics: noMetrics,
    },
    kube: sendOver(api.asFunction),
    getFor,
    webhookFetch: createWebhookClient,
    instance: 'contract',
  })
  const app = createApp(services)
  const after: Promise<unknown>[] = []
  const afterResponse = (work: () => Promise<unknown>) => after.push(work())
  return {
    call: (path, init) => callApp(app, new Request(`http://mintonce.test${path}`, init), { afterResponse }),
    callWithLines: (method, path, lines) => {
      const raw = rawLinesOf(lines)
      const headers = lines.map(([name], index): [string, string] => [name, raw[2 * index + 1] ?? ''])
      const request = new Request(`http://mintonce.test${path}`, { method, headers })
      return callApp(app, request, { afterResponse, headerLines: linesOf(raw) })
    },
    joinsHeaders: false,
    admin: api.admin,
    tokenOf: api.tokenOf,
    logged: () => lines.join('\n'),
    stored: api.stored,
    stop: async () => {
      await Promise.all(after)
      await api.stop()
    },
  }
}
