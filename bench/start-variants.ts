import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BuildOptions, build } from 'esbuild'
import { type BundleName, builtins, bundle, lazyBeside, optionsOf } from '../dev/bundles.ts'

const ROOT = join(import.meta.dirname, '..')

/** What is started beside `dist/node.js`: files. */
export interface Variants {
  /** The bare script, as small and as CommonJS. */
  readonly bare: string
  /** What ships, once more: it differs from `dist/node.js` by where it is, and by chance. */
  readonly same: string
  readonly notMinified: string
  /** That imports Node's modules, in place of taking from them what it needs. */
  readonly imported: string
  /** In which what is late shares files with a start: each of those is a chunk of its own. */
  readonly manyFiles: string
  /** With everything that is loaded only when it is needed. */
  readonly oneFile: string
  /** Built together with the commands, which share its code: in more chunks. */
  readonly withCommands: string
  /** As it is. */
  readonly source: string
  /** For what a start writes. */
  readonly folder: string
  readonly remove: () => Promise<void>
}

/** Builds them as what ships is built, but for that in which a variant differs. */
export async function buildVariants(): Promise<Variants> {
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-variants.'))
  // Without it Node looks at the text of each file to tell what it is made of.
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  const server = async (name: string, changes: BuildOptions = {}) => {
    await bundle('node', join(folder, name), { absWorkingDir: ROOT, ...changes })
    return join(folder, name, 'node.js')
  }
  const entriesOf = (name: BundleName) => optionsOf(name).entryPoints as string[]
  return {
    bare: await buildBare(folder),
    same: await server('same'),
    notMinified: await server('not-minified', { minify: false }),
    imported: await server('imported', { plugins: [lazyBeside('src/node.ts')] }),
    manyFiles: await server('many-files', { plugins: [builtins()] }),
    oneFile: await server('one-file', { plugins: [builtins()], splitting: false }),
    withCommands: await server('with-commands', {
      plugins: [builtins()],
      entryPoints: [...entriesOf('node'), ...entriesOf('cli')],
    }),
    source: join(ROOT, 'src/node.ts'),
    folder,
    remove: () => rm(folder, { recursive: true }),
  }
}

/** As CommonJS, which costs less than anything else, or as what an `import` costs. */
export async function buildBare(folder: string, format: 'cjs' | 'esm' = 'cjs'): Promise<string> {
  const outfile = join(folder, `bare-mint.${format === 'cjs' ? 'cjs' : 'mjs'}`)
  const entryPoints = [join(import.meta.dirname, 'bare-mint.ts')]
  await build({ entryPoints, outfile, bundle: true, format, platform: 'node', minify: true })
  return outfile
}

/** The worker as it ships, but that the library for CEL is empty. Answers the name of a file in `folder`. */
export async function buildWorkerWithoutCel(folder: string): Promise<string> {
  const empty = join(folder, 'empty.cjs')
  await writeFile(empty, 'module.exports = {}')
  await bundle('worker', join(folder, 'without-cel'), {
    absWorkingDir: ROOT,
    alias: { '@bufbuild/cel': empty },
  })
  return 'without-cel/worker.js'
}
