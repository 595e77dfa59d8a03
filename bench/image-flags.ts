import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What the image tells Node, as arguments before the file. Throws when its Dockerfile says that in another way. */
export async function imageFlags(): Promise<readonly string[]> {
  const image = await readFile(join(import.meta.dirname, '../Dockerfile'), 'utf8')
  const [, options] = /NODE_OPTIONS=(\S+)/.exec(image) ?? []
  const [, flags] = /^ENTRYPOINT \["node", (.*)"dist\/node\.js"\]$/m.exec(image) ?? []
  if (options === undefined || flags === undefined)
    throw new Error('the Dockerfile does not say how it starts Node')
  return [options, ...[...flags.matchAll(/"(.*?)"/g)].map(([, flag = '']) => flag)]
}
