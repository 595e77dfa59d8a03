import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

type Env = Readonly<Record<string, string | undefined>>

/** Where the kubelet mounts them. */
export const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'

const NAME = 'in-cluster'

/**
 * The account of the pod that this process runs in, as a kubeconfig: what kubectl takes when there is none
 * (k8s.io/client-go/rest/config.go, `InClusterConfig`; tools/clientcmd/client_config.go, `inClusterClientConfig`). Undefined
 * outside of a pod, and in one without an account.
 */
export function podKubeconfig(folder: string, env: Env): object | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env
  const tokenFile = join(folder, 'token')
  if (!host || !port || !existsSync(tokenFile)) return undefined
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`
  const namespace = env.POD_NAMESPACE || namespaceIn(folder)
  return {
    'current-context': NAME,
    clusters: [{ name: NAME, cluster: { server, 'certificate-authority': join(folder, 'ca.crt') } }],
    users: [{ name: NAME, user: { tokenFile } }],
    contexts: [{ name: NAME, context: { cluster: NAME, user: NAME, ...(namespace ? { namespace } : {}) } }],
  }
}

function namespaceIn(folder: string): string {
  try {
    return readFileSync(join(folder, 'namespace'), 'utf8').trim()
  } catch {
    return ''
  }
}
