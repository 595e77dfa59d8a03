import type { Cluster, KubeConfig, User } from '@kubernetes/client-node'
import type { Fetch } from '../core/deps.ts'
import { codeOf } from '../core/error-code.ts'
import type { PluginTerminal } from './node-exec-credential.ts'
import { createHttpsClient, type HeaderLists, type HttpsClient, type TlsOptions } from './node-https.ts'
import { type Impersonation, impersonationHeaders, impersonationOf } from './node-impersonation.ts'
import { type IdentitySource, identityOf, SAFE_CODES, trustIn } from './node-kubeconfig-credentials.ts'
import { loadKubeconfig } from './node-kubeconfig-files.ts'
import { SERVICE_ACCOUNT_FOLDER } from './node-pod.ts'
import { openAnswer } from './node-send.ts'
import type { Send } from './send.ts'

interface KubeconfigOptions {
  /** Undefined: `$KUBECONFIG`, then `~/.kube/config`, then the pod's own account, as kubectl looks. */
  readonly path?: string | undefined
  readonly context?: string | undefined
  /** Other than the context's. */
  readonly cluster?: string | undefined
  readonly user?: string | undefined
  /** Counts before what the kubeconfig says about it, part by part. */
  readonly impersonate?: Impersonation | undefined
  /** What an exec plug-in may use of the terminal. Nothing, unless said. */
  readonly terminal?: PluginTerminal | undefined
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly serviceAccountFolder?: string
}

/** A cluster as a kubeconfig names it. */
export interface KubeconfigAccess {
  readonly server: string
  readonly context: string
  /** The context's; `default` where it names none, as for kubectl. */
  readonly namespace: string
  /** Has an exec plug-in run before there is a request to wait for it. Rejects as a request would. */
  readonly authenticate: () => Promise<void>
  /** For a connection that is no request, such as a WebSocket. Rejects as a request would. */
  readonly credentials: () => Promise<Credentials>
  readonly fetch: Fetch
  readonly send: Send
}

const SILENT: PluginTerminal = { stdin: false, stderr: false }

/**
 * The Kubernetes API as a kubeconfig reaches it: tokens, client certificates and exec plug-ins, asked for every
 * request. `@kubernetes/client-node` reads it, and is loaded only here: it costs more than everything else together.
 * Throws an Error that says what is missing or wrong, and holds no credential. Credentials that cannot be had, from an
 * exec plug-in that fails for example, reject a request with the code `NO_CREDENTIALS` before it is sent.
 */
export async function openKubeconfig({
  path,
  impersonate,
  terminal = SILENT,
  env = process.env,
  serviceAccountFolder = SERVICE_ACCOUNT_FOLDER,
  ...chosen
}: KubeconfigOptions = {}): Promise<KubeconfigAccess> {
  const { kubeconfig, currentUser } = await loadKubeconfig({ path, env, serviceAccountFolder })
  const { cluster, namespace } = choose(kubeconfig, chosen)
  const user = currentUser()
  const whom = impersonationOf(user?.user, impersonate)
  const source = identityOf(user?.user, { name: user?.name ?? '', cluster, terminal })
  // What is wrong with it is told now, and a program is asked when it is needed.
  trustIn(cluster)
  if (!source.isProgram) await source.read()

  const more = whom === undefined ? {} : impersonationHeaders(whom)
  const connected = connector(cluster.server)
  return {
    server: cluster.server,
    context: kubeconfig.getCurrentContext(),
    namespace,
    authenticate: async () => {
      await credentialsOf(source, cluster)
    },
    credentials: async () => {
      const { headers, tls } = await credentialsOf(source, cluster)
      return { headers: { ...headers, ...more }, tls }
    },
    fetch: async (request) => {
      const { headers, tls } = await credentialsOf(source, cluster)
      // The request itself: a copy follows its signal weakly, and is never aborted once the original was collected.
      return connected(tls).fetch(request, { ...headers, ...more })
    },
    send: async (request) => {
      const { headers, tls } = await credentialsOf(source, cluster)
      return (await openAnswer(connected(tls), request, { ...headers, ...more })).read()
    },
  }
}

/** One client at a time, and another one when its TLS is another. */
function connector(server: string): (tls: TlsOptions) => HttpsClient {
  let client: (HttpsClient & { readonly key: string }) | undefined
  return (tls) => {
    const key = JSON.stringify(Object.entries(tls))
    if (client?.key === key) return client
    client?.close()
    client = { ...createHttpsClient(server, tls), key }
    return client
  }
}

type Choice = Pick<KubeconfigOptions, 'context' | 'cluster' | 'user'>

/** Makes that context the current one, under its own name. */
function choose(
  kubeconfig: KubeConfig,
  { context, cluster, user }: Choice,
): { readonly cluster: Cluster; readonly namespace: string } {
  const name = context ?? kubeconfig.getCurrentContext()
  if (!name) throw new Error('the kubeconfig has no current context: name one')
  const found = kubeconfig.getContextObject(name)
  if (found === null) throw new Error(`the kubeconfig has no context ${name}`)
  const wanted = { ...found, name, cluster: cluster ?? found.cluster, user: user ?? found.user }
  kubeconfig.contexts = [wanted, ...kubeconfig.contexts.filter((each) => each.name !== name)]
  kubeconfig.setCurrentContext(name)
  const access = kubeconfig.getCurrentCluster()
  if (access === null) throw new Error(`the kubeconfig has no cluster ${wanted.cluster}`)
  if (wanted.user && kubeconfig.getCurrentUser() === null) {
    throw new Error(`the kubeconfig has no user ${wanted.user}`)
  }
  return {
    cluster: { ...access, server: serverOf(access, kubeconfig.getCurrentUser()) },
    namespace: wanted.namespace || 'default',
  }
}

/**
 * An address without a scheme means HTTPS where there is something of TLS, as for client-go (k8s.io/client-go/rest/url_utils.go),
 * which takes plain HTTP otherwise: not so here, where that would send a token in the clear by oversight.
 */
function serverOf(cluster: Cluster, user: User | null): string {
  const { name, server, caFile, caData, skipTLSVerify, proxyUrl } = cluster
  const whose = `cluster ${name} of the kubeconfig`
  // Going around a proxy that somebody asked for would be worse than not going.
  if (proxyUrl) throw new Error(`${whose} has a proxy-url, which is not supported`)
  const hasTls = [caFile, caData, skipTLSVerify, user?.certFile, user?.certData].some(Boolean)
  const address = server.includes('://') ? server : `${hasTls ? 'https://' : ''}${server}`
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new Error(`the server of ${whose} is no address: https://HOST:PORT`)
  }
  // Not repeated: what it says may be a password.
  if (url.username || url.password)
    throw new Error(`the server of ${whose} has a user in its address, which is not supported`)
  if (url.search || url.hash) throw new Error(`the server of ${whose} has more than a path after its address`)
  return address
}

interface Credentials {
  readonly headers: HeaderLists
  readonly tls: TlsOptions
}

async function credentialsOf(source: IdentitySource, cluster: Cluster): Promise<Credentials> {
  try {
    const { token, cert, key } = await source.read()
    return {
      headers: token === undefined ? {} : { authorization: [`Bearer ${token}`] },
      tls: { ...trustIn(cluster), ...(cert === undefined || key === undefined ? {} : { cert, key }) },
    }
  } catch (cause) {
    // Words of ours are shown; others may quote what was read.
    const isOurs = SAFE_CODES.has(codeOf(cause) ?? '')
    const why = isOurs && cause instanceof Error ? `: ${cause.message}` : ''
    const error = new Error(`no credentials for the Kubernetes API${why}`, { cause })
    throw Object.assign(error, { code: 'NO_CREDENTIALS' })
  }
}
