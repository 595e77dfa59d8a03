import { readFile } from 'node:fs/promises'
import type { Config } from '../config.ts'
import { isBearerToken } from '../core/bearer.ts'
import type { ExecWay } from '../k8s/node-exec.ts'
import { openKubeconfig } from '../k8s/node-kubeconfig.ts'
import type { ClusterOptions } from './cluster-options.ts'

type Settings = Pick<Config, 'kubeUrl' | 'kubeCaFile' | 'kubeTokenFile'>

/** The same cluster as `reach`, for connections that are no requests: what they need is read for each of them. */
export async function reachForExec(config: Settings, cluster: ClusterOptions | undefined): Promise<ExecWay> {
  if (cluster !== undefined) return openKubeconfig(cluster)
  const { kubeUrl: server, kubeCaFile, kubeTokenFile } = config
  return {
    server,
    credentials: async () => {
      const token = (await readFile(kubeTokenFile, 'utf8')).trim()
      // Never in its words: a header that is wrong would be quoted.
      if (!isBearerToken(token)) {
        throw Object.assign(new Error('the token file holds no token'), { code: 'NO_CREDENTIALS' })
      }
      const tls = server.startsWith('https:') ? { ca: await readFile(kubeCaFile, 'utf8') } : {}
      return { headers: { authorization: [`Bearer ${token}`] }, tls }
    },
  }
}
