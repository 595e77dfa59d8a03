import { join } from 'node:path'
import { cachedFolder } from './cache.ts'
import { succeed } from './command.ts'
import { report, requireGo } from './go.ts'

/** One HelmRelease's values, and what it takes values from. */
export interface Composition {
  /** `spec.values`. */
  readonly values: object
  /** `spec.valuesFrom`. */
  readonly valuesFrom: readonly unknown[]
  /** `data` of Secrets in its namespace, by name. */
  readonly secrets: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** What a chart is rendered with, or why Flux stops. */
export type Composed = { readonly values: Readonly<Record<string, unknown>> } | { readonly error: string }

const MODULE = join(import.meta.dirname, 'flux-values')
const INPUTS = ['go.mod', 'go.sum', 'main.go'].map((name) => join(MODULE, name))

/** Composes values with helm-controller's own code, built once into the cache folder. */
export async function fluxValues(compositions: readonly Composition[]): Promise<readonly Composed[]> {
  const folder = await cachedFolder('flux-values', INPUTS, async (unfinished) => {
    await requireGo()
    report('building how Flux composes values (about two minutes, once)')
    const args = ['build', '-trimpath', '-ldflags', '-s -w', '-o', join(unfinished, 'flux-values'), '.']
    await succeed('go', args, { cwd: MODULE, env: { CGO_ENABLED: '0' } })
  })
  return JSON.parse(await succeed(join(folder, 'flux-values'), [], { stdin: JSON.stringify(compositions) }))
}
