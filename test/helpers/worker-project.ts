import { copyFile, cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ROOT } from '../cli/command.ts'
import { freePorts } from '../control-plane/ports.ts'
import { BUILD_FILES } from './build-files.ts'
import { type Running, startProgram } from './program.ts'

/** A folder that looks like a clone after `npm ci`, in which commands may leave what they leave. */
export interface WorkerProject {
  readonly folder: string
  /** Starts lines of a shell there; `ready` is what they print then. */
  readonly start: (lines: string, ready?: RegExp) => Promise<Running>
  /** Ends what was started, and removes the folder. */
  readonly remove: () => Promise<void>
}

const READY_TIMEOUT_MS = 60_000

interface ProjectOptions {
  /** A folder whose programs come first. */
  readonly path?: string
  /** On top of a bare environment, whose home is in the folder. */
  readonly env?: Readonly<Record<string, string>>
}

export async function createWorkerProject({ path, env = {} }: ProjectOptions = {}): Promise<WorkerProject> {
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-project.'))
  for (const name of ['dev', 'node_modules']) await symlink(join(ROOT, name), join(folder, name))
  // Not linked: what the client's types are made of has to be in the folder.
  await cp(join(ROOT, 'src'), join(folder, 'src'), { recursive: true })
  for (const name of [...BUILD_FILES, 'wrangler.toml']) await copyFile(join(ROOT, name), join(folder, name))
  // Not what somebody has put beside them: keys and certificates.
  const configurations = (await readdir(join(ROOT, 'deploy/workerd'))).filter((name) =>
    name.endsWith('.capnp'),
  )
  await mkdir(join(folder, 'deploy/workerd'), { recursive: true })
  for (const name of configurations) {
    await copyFile(join(ROOT, 'deploy/workerd', name), join(folder, 'deploy/workerd', name))
  }
  const started: Running[] = []
  return {
    folder,
    start: async (lines, ready) => {
      const running = await startProgram(['sh', '-e', '-c', lines], {
        cwd: folder,
        env: {
          PATH: [
            ...(path === undefined ? [] : [path]),
            join(ROOT, 'node_modules/.bin'),
            process.env.PATH,
          ].join(':'),
          HOME: folder,
          npm_config_update_notifier: 'false',
          // Nobody is asked, and nothing is told to anybody.
          CI: 'true',
          WRANGLER_SEND_METRICS: 'false',
          CLOUDFLARE_CF_FETCH_ENABLED: 'false',
          ...env,
        },
        ...(ready === undefined ? {} : { ready }),
      })
      started.push(running)
      return running
    },
    remove: async () => {
      await Promise.all(started.map(({ stop }) => stop('SIGTERM')))
      await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

/** Starts lines in which something listens on the port 8080, on a free one instead, and waits until it answers. */
export async function startListening(
  project: WorkerProject,
  lines: string,
): Promise<Running & { origin: string }> {
  const [port = 0] = await freePorts(1)
  const origin = `http://127.0.0.1:${port}`
  const running = await project.start(lines.replaceAll('8080', String(port)))
  const deadline = performance.now() + READY_TIMEOUT_MS
  for (;;) {
    const answer = await fetch(`${origin}/livez`).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer?.ok) return { ...running, origin }
    if (performance.now() > deadline) throw new Error(`nothing on ${origin}: ${running.output()}`)
    await sleep(200)
  }
}
