import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const ENTRY = fileURLToPath(new URL('../src/worker.ts', import.meta.url))

/** The runtime that the worker is written for: as in wrangler.toml. */
export const RUNTIME = {
  compatibilityDate: '2026-07-30',
  compatibilityFlags: ['enable_request_signal', 'nodejs_compat', 'no_nodejs_compat_v2'],
} as const

/** The bundle's name, without which Miniflare refuses a script that imports something. */
export const BUNDLE = 'worker.js'

/** `src/worker.ts` and what it imports as one module. What is wrong with it is an Error. */
export async function bundleWorker(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [ENTRY],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    mainFields: ['module', 'main'],
    external: ['node:crypto'],
  })
  return outputFiles[0]?.text ?? ''
}
