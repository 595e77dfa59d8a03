import type { Readable } from 'node:stream'
import { Miniflare } from 'miniflare'
import { BUNDLE, bundleWorker, RUNTIME } from '../../../dev/bundle-worker.ts'
import { bindingTo } from '../../../dev/kube-binding.ts'
import type { Backend } from '../backend.ts'
import type { ApiServer } from './api-server.ts'
import { sendLines } from './send-lines.ts'
import { SETTINGS } from './settings.ts'

export interface Workerd extends Backend {
  /** Has the cron trigger fire, and answers how it ended: `ok`, or `exception`. */
  readonly cron: () => Promise<string>
}

/** Whose type is not there without `@cloudflare/workers-types`. */
interface Scheduled {
  readonly scheduled: (event: { readonly cron: string }) => Promise<{ readonly outcome: string }>
}

/** The worker that ships, in workerd, with `KUBE` bound to a function of this process. */
export async function workerd(api: ApiServer): Promise<Workerd> {
  let output = ''
  const worker = new Miniflare({
    modules: true,
    script: await bundleWorker(),
    scriptPath: BUNDLE,
    compatibilityDate: RUNTIME.compatibilityDate,
    compatibilityFlags: [...RUNTIME.compatibilityFlags],
    bindings: { ...SETTINGS },
    serviceBindings: { KUBE: bindingTo(api.asFunction) },
    cf: false,
    handleRuntimeStdio: (stdout: Readable, stderr: Readable) => {
      for (const stream of [stdout, stderr]) {
        stream.on('data', (chunk: Buffer) => {
          output += chunk.toString()
        })
      }
    },
  })
  const origin = (await worker.ready).origin
  return {
    // Over HTTP: the class that `dispatchFetch` wants is Miniflare's own.
    call: (path, init = {}) => fetch(`${origin}${path}`, isLarge(init) ? lastOfItsConnection(init) : init),
    callWithLines: sendLines(origin),
    joinsHeaders: true,
    admin: api.admin,
    tokenOf: api.tokenOf,
    logged: () => output,
    stored: api.stored,
    cron: async () => {
      const handlers = (await worker.getWorker()) as unknown as Scheduled
      return (await handlers.scheduled({ cron: '*/5 * * * *' })).outcome
    },
    stop: async () => {
      await worker.dispose()
      await api.stop()
    },
  }
}

/** workerd answers such a one before it has read all of it, and then ends the connection: under the next request, if there is one. */
const isLarge = ({ body }: RequestInit): boolean => typeof body === 'string' && body.length > 60_000

function lastOfItsConnection(init: RequestInit): RequestInit {
  const headers = new Headers(init.headers)
  headers.set('connection', 'close')
  return { ...init, headers }
}
