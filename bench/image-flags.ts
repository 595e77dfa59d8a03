import { rmSync } from 'node:fs'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApiServer } from '../test/contract/backends/api-server.ts'
import { onProcessEnd } from '../test/control-plane/daemon.ts'
import { type RunningEntry, startEntry } from '../test/helpers/entry.ts'

/** What the image tells Node, as arguments before the file. Throws when its Dockerfile says that in another way. */
export async function imageFlags(): Promise<readonly string[]> {
  const image = await readFile(join(import.meta.dirname, '../Dockerfile'), 'utf8')
  const [, options] = /NODE_OPTIONS=(\S+)/.exec(image) ?? []
  const [, flags] = /^ENTRYPOINT \["node", (.*)"dist\/node\.js"\]$/m.exec(image) ?? []
  if (options === undefined || flags === undefined)
    throw new Error('the Dockerfile does not say how it starts Node')
  return [options, ...[...flags.matchAll(/"(.*?)"/g)].map(([, flag = '']) => flag)]
}

/**
 * A bundle of the entry as the image starts it, in front of a Kubernetes API. Its log is read by a process of its own: whoever
 * measures would read a mint's line before its answer.
 */
export async function startAsImage(
  api: Pick<ApiServer, 'forProcess'>,
  settings: Readonly<Record<string, string>>,
  file: string,
): Promise<RunningEntry> {
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-log.'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const forget = onProcessEnd(remove)
  const flags = await imageFlags()
  const entry = await startEntry(api, settings, { file, flags, logFile: join(folder, 'log') })
  const stop = async () => {
    await entry.stop().finally(remove)
    forget()
  }
  return { ...entry, stop }
}
