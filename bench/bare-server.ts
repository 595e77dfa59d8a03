/**
 * A server that mints with nothing around it: `node:http` or `node:https`, the calls, the hash and the Event; no checks, no routes, no
 * log, no errors told apart. What any function that mints costs at least, in a process of its own. It prints where it listens.
 */
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
let events = 0

async function answer({ url: path = '' }: IncomingMessage): Promise<string> {
  const found = served.get(path)
  // kube-apiserver asks whether an aggregated server is there.
  if (found === undefined) return '{}'
  const { isHashed, hasEvent, ...mint } = found
  const password = await mintBare(send, { ...mint, ...(isHashed ? { hash: bareScram } : {}) })
  if (hasEvent) {
    events += 1
    const { namespace } = mint
    const event = bareEvent(namespace, `${process.pid}.${events}`)
    setImmediate(() => void send('POST', `/apis/events.k8s.io/v1/namespaces/${namespace}/events`, event))
  }
  return JSON.stringify({ status: { password } })
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
