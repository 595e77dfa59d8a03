import type { Readable } from 'node:stream'
import { Miniflare } from 'miniflare'
import { bundleWorker, RUNTIME } from '../../../dev/bundle-worker.ts'
import { bindingTo } from '../../../dev/kube-binding.ts'
import type { Backend } from '../backend.ts'
import type { ApiServer } from './api-server.ts'
import { sendLines } from './send-lines.ts'
import { SETTINGS } from './settings.ts'

/** The worker that ships, in workerd, with `KUBE` bound to a function of this process. */
export async function workerd(api: ApiServer): Promise<Backend> {
  let output = ''
  const worker = new Miniflare({
    modules: true,
    script: await bundleWorker(),
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
    call: (path, init) => fetch(`${origin}${path}`, init),
    callWithLines: sendLines(origin),
    joinsHeaders: true,
    admin: api.admin,
    tokenOf: api.tokenOf,
    logged: () => output,
    stored: api.stored,
    stop: async () => {
      await worker.dispose()
      await api.stop()
    },
  }
}
