import { type RealApiServer, startRealApiServer } from '../contract/backends/real-api-server.ts'
import { SETTINGS } from '../contract/backends/settings.ts'
import type { Finished } from '../control-plane/command.ts'
import type { ControlPlane } from '../control-plane/start.ts'
import { type RunningEntry, startEntry } from '../helpers/entry.ts'
import { registerApiService, SERVICE_HOST } from './api-service.ts'

/** As `deploy/apiserver` sets it: cozystack-api owns the other one. */
export const GROUP = 'credentials.cozystack.io'

/** The function behind the aggregation layer of a real control plane. */
export interface Aggregated {
  readonly plane: ControlPlane
  readonly api: RealApiServer
  /** The function's own process, and its port: HTTPS. */
  readonly entry: RunningEntry
  /** kubectl as this user, with a client certificate of theirs. */
  readonly kubectlAs: (
    user: string,
    groups: readonly string[],
  ) => Promise<(args: readonly string[], stdin?: string) => Promise<Finished>>
  readonly stop: () => Promise<void>
}

/** Everything that a platform installs, running: HTTPS, the front proxy, the APIService, the roles. */
export async function startAggregated(
  settingsFor: (api: RealApiServer) => Promise<Readonly<Record<string, string>>> = async () => ({}),
  group = GROUP,
): Promise<Aggregated> {
  const api = await startRealApiServer()
  const { plane } = api
  try {
    const { certFile, keyFile } = await plane.serverCertificateFor([SERVICE_HOST, 'localhost'])
    const entry = await startEntry(api, {
      ...SETTINGS,
      MINTONCE_API_GROUP: group,
      MINTONCE_TLS_CERT_FILE: certFile,
      MINTONCE_TLS_KEY_FILE: keyFile,
      MINTONCE_FRONT_PROXY: 'on',
      MINTONCE_REQUEST_HEADER_MAX_AGE_SECONDS: '1',
      ...(await settingsFor(api)),
    })
    await registerApiService(plane, entry.port, group)
    return {
      plane,
      api,
      entry,
      kubectlAs: async (user, groups) => {
        const kubeconfig = await plane.kubeconfigFor(user, groups)
        return (args, stdin) => plane.kubectl(['--kubeconfig', kubeconfig, ...args], stdin)
      },
      stop: async () => {
        await entry.stop().finally(api.stop)
      },
    }
  } catch (error) {
    await api.stop()
    throw error
  }
}
