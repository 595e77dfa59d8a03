import type { RequestOptions } from 'node:https'
import type { Cluster, KubeConfig } from '@kubernetes/client-node'
import type { Fetch } from '../core/deps.ts'
import { codeOf } from '../core/error-code.ts'
import { createExecCredential, type PluginTerminal } from './node-exec-credential.ts'
import { createHttpsClient, type HeaderLists, type HttpsClient, type TlsOptions } from './node-https.ts'
import { type Impersonation, impersonationHeaders, impersonationOf } from './node-impersonation.ts'
import { loadKubeconfig, TOKEN_FILE_CODE } from './node-kubeconfig-files.ts'

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
}

/** A cluster as a kubeconfig names it. */
export interface KubeconfigAccess {
  readonly server: string
  readonly context: string
  /** The context's; `default` where it names none, as for kubectl. */
  readonly namespace: string
  /** Has an exec plug-in run before there is a request to wait for it. Rejects as a request would. */
  readonly authenticate: () => Promise<void>
  readonly fetch: Fetch
}

const SILENT: PluginTerminal = { stdin: false, stderr: false }

/**
 * The Kubernetes API as a kubeconfig reaches it: tokens, client certificates and exec plug-ins, asked for every
 * request. `@kubernetes/client-node` reads it, and is loaded only here: it costs more than everything else together.
 * Throws an Error that says what is missing. Credentials that cannot be had, from an exec plug-in that fails for
 * example, reject a request with the code `NO_CREDENTIALS` before it is sent.
 */
export async function openKubeconfig({
  path,
  impersonate,
  terminal = SILENT,
  ...chosen
}: KubeconfigOptions = {}): Promise<KubeconfigAccess> {
  const { kubeconfig, currentUser } = await loadKubeconfig(path)
  const { cluster, namespace } = choose(kubeconfig, chosen)
  if (cluster.proxyUrl) {
    // Going around a proxy that somebody asked for would be worse than not going.
    throw new Error(`cluster ${cluster.name} of the kubeconfig has a proxy-url, which is not supported`)
  }
  const whom = impersonationOf(currentUser(), impersonate)
  runPluginsOurselves(kubeconfig, cluster, terminal)

  const more = whom === undefined ? {} : impersonationHeaders(whom)
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
    namespace,
    authenticate: async () => {
      await credentialsOf(kubeconfig)
    },
    fetch: async (request) => {
      const options = await credentialsOf(kubeconfig)
      // The request itself: a copy follows its signal weakly, and is never aborted once the original was collected.
      return connected(tlsOf(options)).fetch(request, { ...headersOf(options), ...more })
    },
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
  return { cluster: access, namespace: wanted.namespace || 'default' }
}

const OUR_EXEC = 'mintonce-exec'

/** In place of client-node's own, which is asked first for every user that has an `exec`. */
function runPluginsOurselves(kubeconfig: KubeConfig, cluster: Cluster, terminal: PluginTerminal): void {
  const exec: unknown = kubeconfig.getCurrentUser()?.exec
  if (exec === undefined || exec === null) return
  const apply = createExecCredential(exec, cluster, terminal)
  kubeconfig.users = kubeconfig.users.map((user) =>
    user.exec ? { ...user, exec: undefined, authProvider: { name: OUR_EXEC } } : user,
  )
  kubeconfig.addAuthenticator({
    isAuthProvider: ({ authProvider }) => authProvider?.name === OUR_EXEC,
    applyAuthentication: (_user, options) => apply(options),
  })
}

async function credentialsOf(kubeconfig: KubeConfig): Promise<RequestOptions> {
  const options: RequestOptions = {}
  try {
    await kubeconfig.applyToHTTPSOptions(options)
  } catch (cause) {
    // Words of ours are shown; others may quote what was read.
    const isOurs = ['EXEC_PLUGIN', TOKEN_FILE_CODE].includes(codeOf(cause) ?? '')
    const why = isOurs && cause instanceof Error ? `: ${cause.message}` : ''
    const error = new Error(`no credentials for the Kubernetes API${why}`, { cause })
    throw Object.assign(error, { code: 'NO_CREDENTIALS' })
  }
  return options
}

/** Through `Headers`, which takes the line's end off what was read from a file. */
function headersOf({ headers, auth }: RequestOptions): HeaderLists {
  const given = Object.entries(headers ?? {}).map(([name, value]): [string, string] => [name, String(value)])
  const basic: [string, string][] = auth
    ? [['authorization', `Basic ${Buffer.from(auth).toString('base64')}`]]
    : []
  return Object.fromEntries([...new Headers(given), ...basic].map(([name, value]) => [name, [value]]))
}

function tlsOf(options: RequestOptions): TlsOptions {
  const { ca, cert, key, passphrase, pfx, servername, rejectUnauthorized } = options
  const given = { ca, cert, key, passphrase, pfx, servername, rejectUnauthorized }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** Equal for equal TLS: connections are reused until a plug-in hands out another certificate. */
const keyOf = (tls: TlsOptions): string =>
  JSON.stringify(Object.entries(tls).map(([name, value]) => [name, String(value)]))
