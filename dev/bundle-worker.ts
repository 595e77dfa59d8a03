import { join } from 'node:path'
import { build } from 'esbuild'
import { optionsOf } from './bundles.ts'

/** The runtime that the worker is written for: as in wrangler.toml. */
export const RUNTIME = {
  compatibilityDate: '2026-07-30',
  compatibilityFlags: ['enable_request_signal', 'nodejs_compat', 'no_nodejs_compat_v2'],
} as const

/** The bundle's name, without which Miniflare refuses a script that imports something. */
export const BUNDLE = 'worker.js'

/** What ships, but not minified, as one module. What is wrong with it is an Error. */
export async function bundleWorker(): Promise<string> {
  const { outputFiles } = await build({
    ...optionsOf('worker'),
    absWorkingDir: join(import.meta.dirname, '..'),
    minify: false,
    write: false,
  })
  return outputFiles[0]?.text ?? ''
}
