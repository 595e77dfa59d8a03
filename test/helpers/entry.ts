import { join } from 'node:path'
import type { ApiServer } from '../contract/backends/api-server.ts'
import { startProgram } from './program.ts'

const ENTRY = join(import.meta.dirname, '../../src/node.ts')

export interface RunningEntry {
  readonly pid: number
  readonly port: number
  /** Everything that it has logged so far. */
  readonly output: () => string
  /** Ends it as the kubelet does. Throws when that is no success. */
  readonly stop: () => Promise<void>
}

interface EntryOptions {
  /** A bundle of it. */
  readonly file?: string
  /** Of Node. */
  readonly flags?: readonly string[]
  /** As `startProgram` has it. */
  readonly logFile?: string
}

/**
 * The entry that ships, as a process of its own, in front of a Kubernetes API. Settings win over what a pod would find.
 */
export async function startEntry(
  api: Pick<ApiServer, 'forProcess'>,
  settings: Readonly<Record<string, string>> = {},
  { file = ENTRY, flags = [], logFile }: EntryOptions = {},
): Promise<RunningEntry> {
  const { url, caFile, tokenFile } = await api.forProcess()
  const { pid, found, output, stop } = await startProgram([process.execPath, ...flags, file], {
    ready: /"event":"listening".*"port":(\d+)/,
    ...(logFile === undefined ? {} : { logFile }),
    env: {
      PORT: '0',
      MINTONCE_LISTEN_ADDRESS: '127.0.0.1',
      MINTONCE_DRAIN_SECONDS: '0',
      MINTONCE_KUBE_URL: url,
      MINTONCE_KUBE_TOKEN_FILE: tokenFile,
      ...(caFile === undefined ? {} : { MINTONCE_KUBE_CA_FILE: caFile }),
      ...settings,
    },
  })
  return {
    pid,
    port: Number(found?.[1]),
    output,
    stop: async () => {
      const code = await stop('SIGTERM')
      if (code !== 0) throw new Error(`the process ended with ${code}: ${output()}`)
    },
  }
}
