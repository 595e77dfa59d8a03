import { rmSync } from 'node:fs'
import { chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { removeAbandoned } from '../control-plane/cache.ts'
import type { KeyPair } from '../control-plane/certificates.ts'
import { succeed } from '../control-plane/command.ts'
import { type Daemon, onProcessEnd, startDaemon } from '../control-plane/daemon.ts'

/** A folder of its own for one server, and the server in it. */
export interface Place {
  readonly folder: string
  /** Makes a file in the folder the server's own, when the server has another user than we. */
  readonly give: (path: string) => Promise<void>
  /** A copy of a certificate and its key in the folder, the server's own. */
  readonly giveCopy: (pair: KeyPair) => Promise<KeyPair>
  /** Runs a program to its end as the server's user, in the folder. Answers its output, throws its complaint. */
  readonly run: (program: string, args: readonly string[]) => Promise<string>
  /** Starts the server and waits until it answers. */
  readonly serve: (program: string, args: readonly string[], manners: Manners) => Promise<void>
  /** Ends the server and removes the folder. A second time it does nothing. */
  readonly close: () => Promise<void>
}

interface Manners {
  /** Throws until the server answers. */
  readonly answers: () => Promise<unknown>
  /** Asks the server to end, when it must not be killed. */
  readonly quit?: () => Promise<unknown>
}

const READY_TIMEOUT_MS = 60_000
const POLL_MS = 50

/** PostgreSQL and MariaDB refuse to run as root. This user, which owns nothing, is everywhere. */
const UNPRIVILEGED = { name: 'nobody', uid: 65_534, gid: 65_534 }

async function openPlace(name: string): Promise<Place> {
  const prefix = `mintonce-${name}.`
  await removeAbandoned(tmpdir(), prefix)
  const folder = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}.`))
  let daemon: Daemon | undefined
  let quit: Manners['quit']
  const forget = onProcessEnd(() => {
    daemon?.kill()
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  })

  const isRoot = process.getuid?.() === 0
  const give = async (path: string) => {
    if (isRoot) await chown(path, UNPRIVILEGED.uid, UNPRIVILEGED.gid)
  }
  const asOwner = [
    ...['env', `--chdir=${folder}`],
    ...(isRoot ? ['setpriv', ...dropTo(UNPRIVILEGED), '--'] : []),
  ] as const
  await give(folder)

  return {
    folder,
    give,
    giveCopy: async ({ certFile, keyFile }) => {
      const copy = async (file: string) => {
        const path = join(folder, basename(file))
        await writeFile(path, await readFile(file), { mode: 0o600 })
        await give(path)
        return path
      }
      return { certFile: await copy(certFile), keyFile: await copy(keyFile) }
    },
    run: (program, args) => succeed(asOwner[0], [...asOwner.slice(1), program, ...args]),
    async serve(program, args, manners) {
      quit = manners.quit
      const all = [...asOwner.slice(1), program, ...args]
      daemon = await startDaemon(name, asOwner[0], all, join(folder, 'server.log'))
      await until(manners.answers, daemon)
    },
    async close() {
      try {
        if (daemon?.isRunning()) await quit?.()
      } finally {
        await daemon?.end()
        await rm(folder, { recursive: true, force: true, maxRetries: 3 })
        forget()
      }
    },
  }
}

/** Changing the user clears the signal that the kernel sends at the parent's death (prctl(2)), so it is set again. */
const dropTo = ({ uid, gid }: typeof UNPRIVILEGED): readonly string[] => [
  `--reuid=${uid}`,
  `--regid=${gid}`,
  '--clear-groups',
  '--pdeathsig=KILL',
]

async function until(answers: () => Promise<unknown>, daemon: Daemon): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS
  for (;;) {
    const problem = await answers().then(
      () => undefined,
      (error: unknown) => error,
    )
    if (problem === undefined) return
    if (!daemon.isRunning()) throw new Error(`${daemon.name} ended:\n${await daemon.lastLines()}`)
    if (performance.now() > deadline) {
      throw new Error(`${daemon.name} does not answer:\n${await daemon.lastLines()}`, { cause: problem })
    }
    await sleep(POLL_MS)
  }
}

/** Opens a place, fills it, and closes it again when that fails. */
export async function inPlace<T>(name: string, fill: (place: Place) => Promise<T>): Promise<T> {
  const place = await openPlace(name)
  try {
    return await fill(place)
  } catch (error) {
    await place.close()
    throw error
  }
}
