import { createAdmissionApp } from './admission-app.ts'
import type { Config } from './config.ts'
import type { AdmissionConfig } from './config-admission.ts'
import { statusOf } from './handlers/answer.ts'
import type { Services } from './handlers/services.ts'
import { readText } from './k8s/node-files.ts'
import { type Serving, serve } from './node-server.ts'
import { openTls } from './node-tls.ts'
import type { App } from './router.ts'

type Settings = Pick<Config, 'group' | 'listenAddress' | 'drainMs'>

/** The kubelet replaces files of a Secret within a minute or so of the change. */
const FILES_AGAIN_MS = 5000

/**
 * Answers kube-apiserver's webhooks on a port of their own, with the serving certificate of the main one. With a client
 * CA whoever shows no certificate of it is refused. Throws an Error when a file cannot be used or the port is taken.
 */
export async function openAdmission(
  { port, clientCaFile }: AdmissionConfig,
  files: NonNullable<Config['tls']>,
  { group, listenAddress: address, drainMs }: Settings,
  services: Services,
): Promise<Serving> {
  const { now, log } = services.deps
  let authority = clientCaFile === undefined ? undefined : await readAuthority(clientCaFile)
  const tls = await openTls({ ...files, clientAuthority: () => authority, now, log })
  setInterval(async () => {
    if (clientCaFile !== undefined) {
      authority = await readAuthority(clientCaFile).catch(() => {
        log('warn', 'client_ca_unread', {})
        return authority
      })
    }
    await tls.refresh()
  }, FILES_AGAIN_MS).unref()
  const app = createAdmissionApp(services)
  return serve({
    app: clientCaFile === undefined ? app : knownOnly(app, group),
    group,
    port,
    address,
    drainMs,
    log,
    tls,
    event: 'admission_listening',
  })
}

const knownOnly =
  (app: App, group: string): App =>
  async (request) =>
    request.clientCertificate === undefined
      ? statusOf({ reason: 'unauthenticated', why: 'no client certificate', hint: CERTIFICATE }, group)
      : app(request)

const CERTIFICATE = 'this port hears client certificates of one CA only, and none was shown'

async function readAuthority(file: string): Promise<string> {
  const pem = await readText(file).catch((cause: unknown) => {
    throw new Error(`no client CA: ${file} cannot be read`, { cause })
  })
  if (!pem.includes('-----BEGIN CERTIFICATE-----'))
    throw new Error(`no client CA: ${file} has no certificate in PEM`)
  return pem
}
