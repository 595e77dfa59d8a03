import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Binaries } from './build.ts'
import type { Certificates, KeyPair } from './certificates.ts'
import { certificateFetch, writeKubeconfig } from './client.ts'
import { command, type Finished } from './command.ts'
import { compactEtcd, dumpEtcd, readEtcdLog } from './etcd.ts'
import { ISSUER, type Ports } from './settings.ts'

export interface ControlPlane {
  readonly url: string
  readonly caFile: string
  readonly ca: string
  /** The `iss` of its service account tokens. */
  readonly issuer: string
  /** The path of the kubeconfig of an administrator (group system:masters). */
  readonly kubeconfig: string
  /** The path of a kubeconfig with a new client certificate. Names may have up to 64 characters. */
  readonly kubeconfigFor: (user: string, groups: readonly string[]) => Promise<string>
  /** A new client certificate that the API server accepts. */
  readonly clientCertificateFor: (user: string, groups: readonly string[]) => Promise<KeyPair>
  /** A new serving certificate from the API server's own authority. */
  readonly serverCertificateFor: (hosts: readonly string[]) => Promise<KeyPair>
  /** kubectl as the administrator, unless the arguments name another `--kubeconfig`. */
  readonly kubectl: (args: readonly string[], stdin?: string) => Promise<Finished>
  /** Server-side apply of objects, or of YAML. Throws what kubectl complains about. */
  readonly apply: (manifests: readonly object[] | string) => Promise<void>
  /** What `kubectl create token` answers. Without audiences, one for the API server itself. */
  readonly tokenOf: (
    namespace: string,
    serviceAccount: string,
    audiences?: readonly string[],
  ) => Promise<string>
  /** As the administrator; whatever origin the request names, it goes to the API server. */
  readonly adminFetch: (request: Request) => Promise<Response>
  /** Every key and value that etcd has now. */
  readonly etcdDump: () => Promise<Buffer>
  /** From now on a list that was begun before cannot be gone on with. */
  readonly compactEtcd: () => Promise<void>
  /** The bytes of all that was ever written to etcd. */
  readonly etcdLog: () => Promise<Buffer>
  /** One JSON event a line. */
  readonly auditLog: () => Promise<string>
  /** What the API server shows to aggregated API servers, and the authority that vouches for it. */
  readonly requestHeader: {
    readonly caFile: string
    readonly clientCertFile: string
    readonly clientKeyFile: string
    /** Another client certificate of that authority. */
    readonly clientFor: (name: string) => Promise<KeyPair>
  }
  /** Everything it has on disk, its programs' logs included. */
  readonly folder: string
  readonly binaries: Binaries
  /** Ends each of its processes and removes its folder. */
  readonly stop: () => Promise<void>
}

/** What tests do with a control plane, whether it is up yet or not. */
export async function connect(
  folder: string,
  binaries: Binaries,
  certificates: Certificates,
  ports: Ports,
): Promise<Omit<ControlPlane, 'stop'> & { readonly close: () => void }> {
  const url = `https://127.0.0.1:${ports.apiServer}`
  const { authority, frontProxyAuthority, frontProxyClient } = certificates
  const caFile = authority.certFile
  const kubeconfig = await writeKubeconfig(join(folder, 'admin.kubeconfig'), url, caFile, certificates.admin)
  const admin = await certificateFetch(url, caFile, certificates.admin)
  const kubectl = createKubectl(binaries.kubectl, kubeconfig, folder)

  return {
    url,
    caFile,
    ca: await readFile(caFile, 'utf8'),
    issuer: ISSUER,
    kubeconfig,
    async kubeconfigFor(user, groups) {
      const pair = await certificates.clientFor(user, groups)
      return writeKubeconfig(`${pair.certFile}.kubeconfig`, url, caFile, pair)
    },
    clientCertificateFor: certificates.clientFor,
    serverCertificateFor: certificates.serverFor,
    kubectl,
    async apply(manifests) {
      const list = { apiVersion: 'v1', kind: 'List', items: manifests }
      const input = typeof manifests === 'string' ? manifests : JSON.stringify(list)
      const { code, stderr } = await kubectl(
        ['apply', '--server-side', '--force-conflicts', '-f', '-'],
        input,
      )
      if (code !== 0) throw new Error(`kubectl apply: ${stderr.trim()}`)
    },
    tokenOf: (namespace, serviceAccount, audiences) =>
      requestToken(
        admin.fetch,
        `${url}/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`,
        {
          ...(audiences && { audiences }),
        },
      ),
    adminFetch: admin.fetch,
    etcdDump: () => dumpEtcd(`http://127.0.0.1:${ports.etcd}`),
    compactEtcd: () => compactEtcd(`http://127.0.0.1:${ports.etcd}`),
    etcdLog: () => readEtcdLog(join(folder, 'etcd')),
    auditLog: () => readFile(join(folder, 'audit.log'), 'utf8'),
    requestHeader: {
      caFile: frontProxyAuthority.certFile,
      clientCertFile: frontProxyClient.certFile,
      clientKeyFile: frontProxyClient.keyFile,
      clientFor: frontProxyAuthority.clientFor,
    },
    folder,
    binaries,
    close: admin.close,
  }
}

function createKubectl(program: string, kubeconfig: string, folder: string): ControlPlane['kubectl'] {
  // Discovery is cached by address, and a port may have been another control plane's an hour ago.
  const env = { KUBECONFIG: kubeconfig, KUBECACHEDIR: join(folder, 'kubectl-cache'), KUBERC: 'off' }
  return (args, stdin) => command(program, args, { env, ...(stdin !== undefined && { stdin }) })
}

async function requestToken(
  adminFetch: ControlPlane['adminFetch'],
  url: string,
  spec: { readonly audiences?: readonly string[] },
): Promise<string> {
  const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec })
  const headers = { 'content-type': 'application/json' }
  const response = await adminFetch(new Request(url, { method: 'POST', headers, body }))
  if (!response.ok) throw new Error(`no token from ${url}: ${await response.text()}`)
  const { status } = (await response.json()) as { readonly status: { readonly token: string } }
  return status.token
}
