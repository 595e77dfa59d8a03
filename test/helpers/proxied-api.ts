import { createHttpsClient } from '../../src/k8s/node-https.ts'
import { startSandboxApiServer } from '../contract/backends/sandbox-api-server.ts'
import { type Admin, adminOf } from '../contract/kube.ts'
import { type ApiProxy, startApiProxy } from './api-proxy.ts'
import { type RunningEntry, startEntry } from './entry.ts'

/** A sandbox, somebody between it and the function, and functions in front of them. */
export interface ProxiedApi {
  readonly admin: Admin
  readonly between: ApiProxy
  /** The entry that ships, with these settings. */
  readonly start: (settings: Readonly<Record<string, string>>) => Promise<RunningEntry>
  /** Ends what was started and has not been stopped by then, the last first. */
  readonly stop: () => Promise<void>
}

export async function startProxiedApi(): Promise<ProxiedApi> {
  const api = await startSandboxApiServer()
  const { url, tokenFile } = await api.forProcess()
  const between = await startApiProxy(createHttpsClient(url).fetch)
  const running = new Set<RunningEntry>()
  return {
    admin: adminOf(api.admin),
    between,
    start: async (settings) => {
      const entry = await startEntry({ forProcess: async () => ({ url: between.url, tokenFile }) }, settings)
      const stop = async () => {
        if (running.delete(known)) await entry.stop()
      }
      const known = { ...entry, stop }
      running.add(known)
      return known
    },
    stop: async () => {
      for (const { stop } of [...running].reverse()) await stop()
      await between.stop()
      await api.stop()
    },
  }
}
