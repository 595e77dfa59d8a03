import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseAllDocuments } from 'yaml'
import type { ControlPlane } from '../control-plane/start.ts'

const SHIPPED = join(import.meta.dirname, '../../deploy/apiserver/webhooks.yaml')

interface Configuration {
  readonly kind: string
  readonly webhooks: readonly Webhook[]
}

interface Webhook {
  readonly clientConfig: { readonly service: { readonly path: string } }
}

/** The webhooks that are shipped, but that kube-apiserver calls them at a port of this machine. */
export async function applyWebhooks(
  plane: Pick<ControlPlane, 'apply' | 'ca'>,
  port: number,
): Promise<readonly Configuration[]> {
  const documents = parseAllDocuments(await readFile(SHIPPED, 'utf8'))
  const shipped = documents.map((document): Configuration => document.toJS())
  const local = shipped.map(({ webhooks, ...configuration }) => ({
    ...configuration,
    webhooks: webhooks.map(({ clientConfig: { service }, ...webhook }) => ({
      ...webhook,
      clientConfig: {
        url: `https://127.0.0.1:${port}${service.path}`,
        caBundle: Buffer.from(plane.ca).toString('base64'),
      },
    })),
  }))
  await plane.apply(local)
  return shipped
}

/** Somebody else's webhook for HelmReleases. */
export interface OtherWebhook {
  /** From now on it refuses everything, or nothing. */
  readonly refuse: (refuses: boolean) => void
  readonly stop: () => Promise<void>
}

export async function startOtherWebhook(
  plane: Pick<ControlPlane, 'apply' | 'kubectl' | 'ca' | 'serverCertificateFor'>,
): Promise<OtherWebhook> {
  const { certFile, keyFile } = await plane.serverCertificateFor(['127.0.0.1'])
  const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)])
  let refuses = false
  const server = createServer({ cert, key }, async (asked, outgoing) => {
    const { request } = JSON.parse(await text(asked))
    const response = { uid: request.uid, allowed: !refuses, status: { message: 'not today' } }
    outgoing.setHeader('content-type', 'application/json')
    outgoing.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }))
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  await plane.apply([configurationOf(port, plane.ca)])
  return {
    refuse: (wanted) => {
      refuses = wanted
    },
    stop: async () => {
      await plane.kubectl(['delete', 'validatingwebhookconfiguration', 'another'])
      server.closeAllConnections()
      server.close()
    },
  }
}

const configurationOf = (port: number, ca: string) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'another' },
  webhooks: [
    {
      name: 'another.example.org',
      admissionReviewVersions: ['v1'],
      clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: Buffer.from(ca).toString('base64') },
      rules: [
        {
          apiGroups: ['helm.toolkit.fluxcd.io'],
          apiVersions: ['*'],
          resources: ['helmreleases'],
          operations: ['CREATE'],
        },
      ],
      failurePolicy: 'Fail',
      sideEffects: 'None',
      timeoutSeconds: 5,
    },
  ],
})
