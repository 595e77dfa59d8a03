/**
 * A server that mints with nothing around it: `node:http` or `node:https`, the calls, the hash and the Event; no checks, no routes, no
 * log, no errors told apart. What any function that mints costs at least, in a process of its own. It prints where it listens.
 */
import { createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type BareMint, bareEvent, bareScram, mintBare } from './bare-calls.ts'
import { createBareClient } from './bare-client.ts'

/** What each path mints, in order: `/0` the first. */
export interface BareServed extends Omit<BareMint, 'hash'> {
  /** The path, where it is not its number. */
  readonly path?: string
  readonly isHashed: boolean
  /** The token of the request must be signed with it: ES256. */
  readonly signedBy?: JsonWebKey
  /** Whether an Event follows the answer. */
  readonly hasEvent: boolean
}

const { KUBE_URL: url = '', CA_FILE: caFile = '', TOKEN_FILE: tokenFile = '', SERVED = '[]' } = process.env
const { CERT_FILE: certFile, KEY_FILE: keyFile } = process.env
const send = createBareClient({
  url,
  ca: readFileSync(caFile, 'utf8'),
  token: readFileSync(tokenFile, 'utf8').trim(),
})
const served = new Map(
  (JSON.parse(SERVED) as readonly BareServed[]).map((mint, index) => [mint.path ?? `/${index}`, mint]),
)
const keys = new Map<JsonWebKey, KeyObject>()
let events = 0

async function answer({ url: path = '', headers }: IncomingMessage): Promise<string> {
  const found = served.get(path)
  // kube-apiserver asks whether an aggregated server is there.
  if (found === undefined) return '{}'
  const { isHashed, hasEvent, signedBy, ...mint } = found
  if (signedBy !== undefined) checkSignature(headers.authorization ?? '', signedBy)
  const password = await mintBare(send, { ...mint, ...(isHashed ? { hash: bareScram } : {}) })
  if (hasEvent) {
    events += 1
    const { namespace } = mint
    const event = bareEvent(namespace, `${process.pid}.${events}`)
    setImmediate(() => void send('POST', `/apis/events.k8s.io/v1/namespaces/${namespace}/events`, event))
  }
  return JSON.stringify({ status: { password } })
}

function checkSignature(authorization: string, signedBy: JsonWebKey): void {
  const key = keys.get(signedBy) ?? createPublicKey({ key: signedBy, format: 'jwk' })
  keys.set(signedBy, key)
  const [header, payload, signature = ''] = authorization.slice('Bearer '.length).split('.')
  // RFC 7518, section 3.4: the two integers as they are, and no DER.
  const how = { key, dsaEncoding: 'ieee-p1363' } as const
  const isSigned = verify(
    'sha256',
    Buffer.from(`${header}.${payload}`),
    how,
    Buffer.from(signature, 'base64url'),
  )
  if (!isSigned) throw new Error('the token is not signed by whom it should be')
}

const server =
  certFile === undefined || keyFile === undefined
    ? createHttpServer()
    : createHttpsServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) })
server.keepAliveTimeout = 120_000
server.on('request', async (asked, outgoing) => {
  const text = await answer(asked)
  outgoing.writeHead(201, { 'content-type': 'application/json' }).end(text)
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ event: 'listening', port })}\n`)
})
