/**
 * Somebody's webhooks, in a process of its own as the function is: a server that reads a review and allows it. With
 * READS=true it makes the calls first without which nobody can answer as the function does, and nothing else.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createBareClient } from './bare-client.ts'

/** As far as it is looked at. */
interface Release {
  readonly spec: { readonly values: { readonly users: Readonly<Record<string, unknown>> } }
}

interface Request {
  readonly uid: string
  readonly name: string
  readonly namespace: string
  readonly operation: string
  readonly object: Release
  readonly oldObject: Release
}

const {
  CERT_FILE = '',
  KEY_FILE = '',
  READS,
  KUBE_URL: url = '',
  CA_FILE = '',
  TOKEN_FILE = '',
} = process.env
const reads = READS === 'true' ? createReads() : async () => {}

const server = createServer(
  { cert: readFileSync(CERT_FILE), key: readFileSync(KEY_FILE) },
  async (asked, outgoing) => {
    const { request } = JSON.parse(await text(asked))
    // kube-apiserver adds a query: how long it waits.
    await reads(request, asked.url?.startsWith('/admission/mutate') === true)
    const response = { uid: request.uid, allowed: true }
    outgoing.setHeader('content-type', 'application/json')
    outgoing.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }))
  },
)
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }))
})

/**
 * For an update of values: the definitions, afresh for each of the two webhooks, since each of them may refuse a write or
 * change it by them; and for the one that validates the release as it is stored and its account Secrets, at the same time.
 */
function createReads() {
  const send = createBareClient({
    url,
    ca: readFileSync(CA_FILE, 'utf8'),
    token: readFileSync(TOKEN_FILE, 'utf8').trim(),
  })
  const ofRelease = ({ namespace, name, object }: Request) => [
    `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases/${name}`,
    ...Object.keys(object.spec.values.users).map(
      (user) => `/api/v1/namespaces/${namespace}/secrets/${name}.${user}.account`,
    ),
  ]
  return async (request: Request, isMutating: boolean) => {
    const { operation, object, oldObject } = request
    if (operation !== 'UPDATE') return
    if (JSON.stringify(object.spec.values) === JSON.stringify(oldObject.spec.values)) return
    const paths = ['/apis/cozystack.io/v1alpha1/applicationdefinitions']
    if (!isMutating) paths.push(...ofRelease(request))
    await Promise.all(paths.map((path) => send('GET', path)))
  }
}
