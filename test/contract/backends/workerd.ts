import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { build } from 'esbuild'
import { Miniflare, type Request as MiniflareRequest } from 'miniflare'
import type { Fetch } from '../../../src/core/deps.ts'
import type { Backend } from '../backend.ts'
import type { ApiServer } from './api-server.ts'
import { SETTINGS } from './settings.ts'

/** The worker that ships, in workerd, with `KUBE` bound to a function of this process. */
export async function workerd(api: ApiServer): Promise<Backend> {
  let output = ''
  const worker = new Miniflare({
    modules: true,
    script: await bundle(),
    compatibilityDate: '2026-07-30',
    compatibilityFlags: ['enable_request_signal'],
    bindings: { ...SETTINGS },
    serviceBindings: { KUBE: answerWith(api.asFunction) },
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

async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, '../../../src/worker.ts')],
    bundle: true,
    write: false,
    format: 'esm',
    conditions: ['workerd', 'worker', 'browser'],
    mainFields: ['module', 'main'],
  })
  return outputFiles[0]?.text ?? ''
}

const answerWith =
  (kube: Fetch) =>
  async (request: MiniflareRequest): Promise<Response> => {
    const bytes = await request.arrayBuffer()
    const { method, url } = request
    const body = bytes.byteLength === 0 ? {} : { body: bytes }
    return kube(new Request(url, { method, headers: [...request.headers], ...body }))
  }
