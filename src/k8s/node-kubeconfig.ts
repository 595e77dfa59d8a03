import type { RequestOptions } from 'node:https'
import type { Fetch } from '../core/deps.ts'
import { createHttpsClient, type HttpsClient, type TlsOptions } from './node-https.ts'

interface KubeconfigOptions {
  /** Undefined: `$KUBECONFIG`, then `~/.kube/config`, as kubectl looks. */
  readonly path?: string | undefined
  readonly context?: string | undefined
}

/** A cluster as a kubeconfig names it. */
interface KubeconfigAccess {
  readonly server: string
  readonly context: string
  readonly fetch: Fetch
}

/**
 * The Kubernetes API as a kubeconfig reaches it: tokens, client certificates and exec plug-ins, asked for every
 * request. `@kubernetes/client-node` reads it, and is loaded only here: it costs more than everything else together.
 * Throws an Error that says what is missing.
 */
export async function openKubeconfig({ path, context }: KubeconfigOptions = {}): Promise<KubeconfigAccess> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const kubeconfig = new KubeConfig()
  if (path === undefined) kubeconfig.loadFromDefault()
  else kubeconfig.loadFromFile(path)
  if (context !== undefined) kubeconfig.setCurrentContext(context)
  const cluster = kubeconfig.getCurrentCluster()
  if (cluster === null) throw new Error(`the kubeconfig has no context ${kubeconfig.getCurrentContext()}`)

  let client: (HttpsClient & { readonly key: string }) | undefined
  const connected = (tls: TlsOptions): HttpsClient => {
    const key = keyOf(tls)
    if (client?.key === key) return client
    const stale = client
    client = { ...createHttpsClient(cluster.server, tls), key }
    stale?.close()
    return client
  }
  return {
    server: cluster.server,
    context: kubeconfig.getCurrentContext(),
    fetch: async (request) => {
      const options: RequestOptions = {}
      await kubeconfig.applyToHTTPSOptions(options)
      const headers = new Headers(request.headers)
      for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, String(value))
      return connected(tlsOf(options)).fetch(new Request(request, { headers }))
    },
  }
}

function tlsOf({
  ca,
  cert,
  key,
  passphrase,
  pfx,
  servername,
  rejectUnauthorized,
}: RequestOptions): TlsOptions {
  const given = { ca, cert, key, passphrase, pfx, servername, rejectUnauthorized }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** Equal for equal TLS: connections are reused until a plug-in hands out another certificate. */
const keyOf = (tls: TlsOptions): string =>
  JSON.stringify(Object.entries(tls).map(([name, value]) => [name, String(value)]))
