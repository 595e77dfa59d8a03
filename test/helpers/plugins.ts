import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundle } from '../../dev/bundles.ts'
import { ROOT } from '../cli/command.ts'

export interface Plugins {
  /** To stand first in the `PATH`. */
  readonly bin: string
  readonly remove: () => Promise<void>
}

/** The plug-ins as a clone has them after `npm ci && npm run build`, in a folder of their own. */
export async function buildPlugins(): Promise<Plugins> {
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-plugins.'))
  await bundle('cli', join(folder, 'dist'))
  await cp(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true })
  // Where npm puts it in a clone.
  await mkdir(join(folder, 'node_modules/.bin'), { recursive: true })
  await symlink(process.execPath, join(folder, 'node_modules/.bin/node'))
  return {
    bin: join(folder, 'bin'),
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }),
  }
}
