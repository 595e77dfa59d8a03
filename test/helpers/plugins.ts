import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { ROOT } from '../cli/command.ts'
import { succeed } from '../control-plane/command.ts'

export interface Plugins {
  /** To stand first in the `PATH`. */
  readonly bin: string
  readonly remove: () => Promise<void>
}

/** The plug-ins as a clone has them after `npm ci && npm run build`, in a folder of their own. */
export async function buildPlugins(): Promise<Plugins> {
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-plugins.'))
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const script: string = scripts['build:cli']
  const elsewhere = script.replace('--outdir=dist ', `--outdir=${join(folder, 'dist')} `)
  if (elsewhere === script) throw new Error(`the build has no --outdir=dist: ${script}`)
  const PATH = [join(ROOT, 'node_modules/.bin'), process.env.PATH].join(delimiter)
  await succeed('sh', ['-c', elsewhere], { cwd: ROOT, env: { PATH } })
  await cp(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true })
  // Where npm puts it in a clone.
  await mkdir(join(folder, 'node_modules/.bin'), { recursive: true })
  await symlink(process.execPath, join(folder, 'node_modules/.bin/node'))
  return {
    bin: join(folder, 'bin'),
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }),
  }
}
