import { randomBytes } from 'node:crypto'
import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Where `wrangler dev` finds the secrets of a worker. Git ignores it. */
const FILE = '.dev.vars'

/** The KUBE_TOKEN that `wrangler dev` gives to the worker. Made once; only its owner may read the file. */
export async function sharedSecret(
  folder: string,
): Promise<{ readonly secret: string; readonly file: string }> {
  const path = join(folder, FILE)
  const text = await readFile(path, 'utf8').catch(() => '')
  const known = /^KUBE_TOKEN=["']?([^\s"']+)["']?\s*$/m.exec(text)?.[1]
  if (known !== undefined) return { secret: known, file: FILE }
  const secret = randomBytes(32).toString('base64url')
  const line = `${text === '' || text.endsWith('\n') ? '' : '\n'}KUBE_TOKEN=${secret}\n`
  await appendFile(path, line, { mode: 0o600 })
  return { secret, file: FILE }
}
