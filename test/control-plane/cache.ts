import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'

/** Where built things are kept: outside the checkout, so that a clean one needs no second build. */
function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  return env.MINTONCE_CACHE ?? join(env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'mintonce')
}

/**
 * The folder that `fill` filled for these inputs, filled now if it never was. It appears whole or not at all:
 * a killed build leaves no half of it, and of two builds at once the first to finish is kept.
 */
export async function cachedFolder(
  name: string,
  inputs: readonly string[],
  fill: (folder: string) => Promise<void>,
): Promise<string> {
  const root = cacheFolder()
  const folder = join(root, `${name}-${await digest(inputs)}`)
  if (await exists(folder)) return folder

  await mkdir(root, { recursive: true })
  await removeAbandoned(root, `${name}.`)
  const unfinished = await mkdtemp(join(root, `${name}.${process.pid}.`))
  try {
    await fill(unfinished)
    await rename(unfinished, folder)
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    if (!(await exists(folder))) throw error
  }
  return folder
}

async function digest(inputs: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const file of inputs)
    hash
      .update(`${basename(file)}\0`)
      .update(await readFile(file))
      .update('\0')
  return hash.digest('hex').slice(0, 16)
}

/** Of the entries named prefix, process id, dot, anything: those whose process is gone. */
export async function removeAbandoned(root: string, prefix: string): Promise<void> {
  for (const entry of await readdir(root)) {
    if (!entry.startsWith(prefix)) continue
    const [pid] = entry.slice(prefix.length).split('.')
    if (!isRunning(Number(pid))) await rm(join(root, entry), { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
