import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'

const ROOT = join(import.meta.dirname, '..')

/** What is started beside `dist/node.js`: files. */
export interface Variants {
  /** The bare script, as small and as CommonJS. */
  readonly bare: string
  /** What ships, once more: it differs from `dist/node.js` by where it is, and by chance. */
  readonly same: string
  readonly notMinified: string
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

/** Builds them by the script that ships, changed where a variant differs. */
export async function buildVariants(): Promise<Variants> {
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-variants.'))
  // Without it Node looks at the text of each file to tell what it is made of.
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const script: string = scripts['build:node']
  const commands = /esbuild (.*?) --/.exec(scripts['build:cli'])?.[1]
  const bundle = async (name: string, changed: string) => {
    await run(replaced(changed, '--outdir=dist', `--log-level=error --outdir=${join(folder, name)}`))
    return join(folder, name, 'node.js')
  }
  return {
    bare: await buildBare(folder),
    same: await bundle('same', script),
    notMinified: await bundle('not-minified', replaced(script, ' --minify', '')),
    oneFile: await bundle('one-file', replaced(script, ' --splitting', '')),
    withCommands: await bundle('with-commands', replaced(script, 'src/node.ts', `src/node.ts ${commands}`)),
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

/** The worker by the script that ships, but that the library for CEL is empty. Answers the name of a file in `folder`. */
export async function buildWorkerWithoutCel(folder: string): Promise<string> {
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const [empty, name] = [join(folder, 'empty.cjs'), 'worker-without-cel.js']
  await writeFile(empty, 'module.exports = {}')
  const changed = `--log-level=error --alias:@bufbuild/cel=${empty} --outfile=${join(folder, name)}`
  await run(replaced(scripts['build:worker'], '--outfile=dist/worker.js', changed))
  return name
}

/** Throws when there is nothing to replace: the variant would be what ships. */
function replaced(text: string, old: string, by: string): string {
  if (!text.includes(old)) throw new Error(`the build has no ${old}: ${text}`)
  return text.replace(old, by)
}

async function run(command: string): Promise<void> {
  const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`
  const stdio = ['ignore', 'ignore', 'inherit'] as const
  const [code] = await once(
    spawn('sh', ['-c', command], { cwd: ROOT, env: { PATH }, stdio: [...stdio] }),
    'exit',
  )
  if (code !== 0) throw new Error(`${command}: ended with ${code}`)
}
