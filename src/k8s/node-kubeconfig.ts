import type { RequestOptions } from 'node:https'
import type { KubeConfig } from '@kubernetes/client-node'
import type { Fetch } from '../core/deps.ts'
import { createHttpsClient, type HttpsClient, type TlsOptions } from './node-https.ts'

interface KubeconfigOptions {
  /** Undefined: `$KUBECONFIG`, then `~/.kube/config`, then the pod's own account, as kubectl looks. */
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
 * Throws an Error that says what is missing. Credentials that cannot be had, from an exec plug-in that fails for
 * example, reject a request with the code `NO_CREDENTIALS` before it is sent.
 */
export async function openKubeconfig({ path, context }: KubeconfigOptions = {}): Promise<KubeconfigAccess> {
  const kubeconfig = await load(path)
  if (context !== undefined) kubeconfig.setCurrentContext(context)
  const cluster = kubeconfig.getCurrentCluster()
  if (cluster === null) throw new Error(`the kubeconfig has no context ${kubeconfig.getCurrentContext()}`)
  if (cluster.proxyUrl) {
    // Going around a proxy that somebody asked for would be worse than not going.
    throw new Error(`cluster ${cluster.name} of the kubeconfig has a proxy-url, which is not supported`)
  }

  let client: (HttpsClient & { readonly key: string }) | undefined
  const connected = (tls: TlsOptions): HttpsClient => {
    const key = keyOf(tls)
    if (client?.key === key) return client
    client?.close()
    client = { ...createHttpsClient(cluster.server, tls), key }
    return client
  }
  return {
    server: cluster.server,
    context: kubeconfig.getCurrentContext(),
    fetch: async (request) => {
      const options = await credentialsOf(kubeconfig)
      const headers = new Headers(request.headers)
      for (const [name, value] of headersOf(options)) headers.set(name, value)
      return connected(tlsOf(options)).fetch(new Request(request, { headers }))
    },
  }
}

async function load(path: string | undefined): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const kubeconfig = new KubeConfig()
  // Of several files in $KUBECONFIG the first one's current context counts, as for kubectl.
  if (path === undefined) kubeconfig.loadFromDefault(undefined, true)
  else kubeconfig.loadFromFile(path)
  // What client-node makes up when it finds nothing: http://localhost:8080.
  if (kubeconfig.getCurrentContext() === 'loaded-context') {
    throw new Error('there is no kubeconfig: name a file, set KUBECONFIG or write ~/.kube/config')
  }
  // client-node refuses plain HTTP (`kubectl proxy`) unless told to skip what plain HTTP does not have.
  kubeconfig.clusters = kubeconfig.clusters.map((cluster) =>
    cluster.server.startsWith('http:') ? { ...cluster, skipTLSVerify: true } : cluster,
  )
  return kubeconfig
}

async function credentialsOf(kubeconfig: KubeConfig): Promise<RequestOptions> {
  const options: RequestOptions = {}
  try {
    await kubeconfig.applyToHTTPSOptions(options)
  } catch (cause) {
    throw Object.assign(new Error('no credentials for the Kubernetes API', { cause }), {
      code: 'NO_CREDENTIALS',
    })
  }
  return options
}

function headersOf({ headers, auth }: RequestOptions): readonly (readonly [string, string])[] {
  const given = Object.entries(headers ?? {}).map(([name, value]) => [name, String(value)] as const)
  if (!auth) return given
  return [...given, ['Authorization', `Basic ${Buffer.from(auth).toString('base64')}`]]
}

function tlsOf(options: RequestOptions): TlsOptions {
  const { ca, cert, key, passphrase, pfx, servername, rejectUnauthorized } = options
  const given = { ca, cert, key, passphrase, pfx, servername, rejectUnauthorized }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** Equal for equal TLS: connections are reused until a plug-in hands out another certificate. */
const keyOf = (tls: TlsOptions): string =>
  JSON.stringify(Object.entries(tls).map(([name, value]) => [name, String(value)]))
