import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { FUNCTION } from '../contract/backends/api-server.ts'
import type { Anything } from '../contract/kube.ts'
import type { KeyPair } from '../control-plane/certificates.ts'
import type { ControlPlane } from '../control-plane/start.ts'
import { type RunningEntry, startEntry } from '../helpers/entry.ts'

/** What a control plane alone does not have, in as much of it as an installation needs: a network, cert-manager, a kubelet. */

const IN = ['-n', FUNCTION.namespace]
export const API_SERVICE = 'apiservice/v1alpha1.credentials.cozystack.io'
const CERTIFICATE = 'certificate/mintonce-apiserver'

/** For the network: in this copy of `deploy/`, the Service is a name for the loopback and a port there. Throws when it finds nothing to change. */
export async function onLoopback(folder: string, port: number): Promise<void> {
  await edit(join(folder, 'deploy/apiserver/api-service.yaml'), '    port: 443\n', `    port: ${port}\n`)
  const local = 'spec:\n  type: ExternalName\n  externalName: localhost\n  selector:\n'
  await edit(join(folder, 'deploy/apiserver/services.yaml'), 'spec:\n  selector:\n', local)
}

/** Changes the first place where a file has this text. Throws when there is none. */
export async function edit(file: string, from: string, to: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  if (!text.includes(from)) throw new Error(`${file} has no ${JSON.stringify(from)}`)
  await writeFile(file, text.replace(from, to))
}

/** For cert-manager: issues what the Certificate asks for into its Secret, and puts the CA where the APIService asks for it. */
export async function issueCertificate(plane: ControlPlane): Promise<KeyPair> {
  const { spec } = await read(plane, CERTIFICATE, ...IN)
  const pair = await plane.serverCertificateFor(spec.dnsNames)
  const { metadata } = await read(plane, API_SERVICE)
  const [, wanted] = CERTIFICATE.split('/')
  if (metadata.annotations['cert-manager.io/inject-ca-from'] !== `${FUNCTION.namespace}/${wanted}`) {
    throw new Error('the APIService asks for the CA of another Certificate')
  }
  const files = [`--cert=${pair.certFile}`, `--key=${pair.keyFile}`]
  await succeed(plane, ['create', 'secret', 'tls', spec.secretName, ...files, ...IN])
  const patch = JSON.stringify({ spec: { caBundle: Buffer.from(plane.ca).toString('base64') } })
  await succeed(plane, ['patch', API_SERVICE, '--type=merge', '--patch', patch])
  return pair
}

interface PodOptions {
  readonly port: number
  readonly tls?: KeyPair
  /** Stronger than those of the container. */
  readonly settings?: Readonly<Record<string, string>>
}

/** For the kubelet: the function with the settings of the container in this object, as its ServiceAccount, on this machine. */
export async function startPod(
  plane: ControlPlane,
  owner: string,
  { port, tls, settings = {} }: PodOptions,
): Promise<RunningEntry> {
  const { spec } = (await read(plane, owner, ...IN)).spec.template
  const env: readonly { readonly name: string; readonly value: string }[] = spec.containers[0].env
  const tokenFile = join(plane.folder, `pod-${port}.token`)
  await writeFile(tokenFile, await plane.tokenOf(FUNCTION.namespace, spec.serviceAccountName))
  const forProcess = async () => ({ url: plane.url, caFile: plane.caFile, tokenFile })
  return startEntry(
    { forProcess },
    {
      ...Object.fromEntries(env.map(({ name, value }) => [name, value])),
      PORT: String(port),
      MINTONCE_DRAIN_SECONDS: '0',
      ...(tls && { MINTONCE_TLS_CERT_FILE: tls.certFile, MINTONCE_TLS_KEY_FILE: tls.keyFile }),
      ...(tls && { MINTONCE_METRICS_PORT: '0', MINTONCE_ADMISSION_PORT: '0' }),
      ...settings,
    },
  )
}

/** An object as JSON. Throws when it is not there. */
export async function read(plane: ControlPlane, ...args: readonly string[]): Promise<Anything> {
  return JSON.parse(await succeed(plane, ['get', ...args, '-o', 'json']))
}

/** kubectl as administrator: what it prints. Throws what it complains about. */
export async function succeed(
  { kubectl }: ControlPlane,
  args: readonly string[],
  stdin?: string,
): Promise<string> {
  const { code, stdout, stderr } = await kubectl(args, stdin)
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr.trim()}`)
  return stdout
}
