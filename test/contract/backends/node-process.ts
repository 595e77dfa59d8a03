import { type RunningEntry, startEntry } from '../../helpers/entry.ts'
import type { Backend } from '../backend.ts'
import type { ApiServer } from './api-server.ts'
import { sendLines } from './send-lines.ts'
import { SETTINGS } from './settings.ts'

/** The entry that ships, as a process of its own. */
export async function nodeProcess(
  api: ApiServer,
  settings: Readonly<Record<string, string>> = {},
): Promise<Backend> {
  return backendOf(api, await startEntry(api, { ...SETTINGS, ...settings }))
}

/** An entry that runs; the API server ends with it. */
export function backendOf(api: ApiServer, entry: RunningEntry): Backend {
  const origin = `http://127.0.0.1:${entry.port}`
  return {
    call: (path, init) => fetch(`${origin}${path}`, init),
    callWithLines: sendLines(origin),
    joinsHeaders: false,
    admin: api.admin,
    tokenOf: api.tokenOf,
    logged: entry.output,
    stored: api.stored,
    stop: async () => {
      await entry.stop().finally(api.stop)
    },
  }
}
