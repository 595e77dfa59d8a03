import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Backend } from '../backend.ts'
import type { ApiServer } from './api-server.ts'
import { SETTINGS } from './settings.ts'

const ENTRY = join(import.meta.dirname, '../../../src/node.ts')
const START_TIMEOUT_MS = 15_000

/** The entry that ships, as a process of its own. */
export async function nodeProcess(
  api: ApiServer,
  settings: Readonly<Record<string, string>> = {},
): Promise<Backend> {
  const { url, caFile, tokenFile } = await api.forProcess()
  const child = spawn(process.execPath, [ENTRY], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      MINTONCE_LISTEN_ADDRESS: '127.0.0.1',
      MINTONCE_DRAIN_SECONDS: '0',
      MINTONCE_KUBE_URL: url,
      MINTONCE_KUBE_TOKEN_FILE: tokenFile,
      ...(caFile === undefined ? {} : { MINTONCE_KUBE_CA_FILE: caFile }),
      ...SETTINGS,
      ...settings,
    },
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const output = collect(child)
  const origin = await listening(child, output)
  return {
    call: (path, init) => fetch(`${origin}${path}`, init),
    admin: api.admin,
    tokenOf: api.tokenOf,
    logged: output,
    stored: api.stored,
    stop: async () => {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      const [code] = await exited
      process.off('exit', kill)
      await api.stop()
      if (code !== 0) throw new Error(`the process ended with ${code}: ${output()}`)
    },
  }
}

function collect(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
  }
  return () => text
}

async function listening(child: ChildProcess, output: () => string): Promise<string> {
  const until = Date.now() + START_TIMEOUT_MS
  while (Date.now() < until && child.exitCode === null) {
    const port = /"event":"listening".*"port":(\d+)/.exec(output())?.[1]
    if (port !== undefined) return `http://127.0.0.1:${port}`
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  child.kill('SIGKILL')
  throw new Error(`the process did not listen: ${output()}`)
}
