import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Authority, createAuthority, type KeyPair } from '../control-plane/certificates.ts'

/** An authority with its files in a folder of its own. */
export interface TestAuthority extends Authority {
  /** As a definition holds it. */
  readonly caBundle: string
  readonly remove: () => Promise<void>
}

export async function testAuthority(name = 'webhook-ca'): Promise<TestAuthority> {
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-webhook-'))
  const authority = await createAuthority(folder, name)
  return {
    ...authority,
    caBundle: (await readFile(authority.certFile)).toString('base64'),
    remove: () => rm(folder, { recursive: true }),
  }
}

/** What a server may do with a review. */
export type Behaviour = (review: Asked, outgoing: ServerResponse, incoming: IncomingMessage) => void

export interface Asked {
  readonly apiVersion: string
  readonly kind: string
  readonly request: { readonly uid: string; readonly [field: string]: unknown }
}

export interface WebhookServer {
  readonly port: number
  /** Every review that has come. */
  readonly asked: readonly Asked[]
  readonly behave: (behaviour: Behaviour) => void
  readonly stop: () => Promise<void>
}

/** An HTTPS server on this machine, as honest as it is told to be. */
export async function webhookServer({ certFile, keyFile }: KeyPair): Promise<WebhookServer> {
  const asked: Asked[] = []
  let current: Behaviour = (_, outgoing) => outgoing.writeHead(500).end()
  const tls = { cert: await readFile(certFile), key: await readFile(keyFile) }
  const server = createServer(tls, async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const review = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}')
    asked.push(review)
    current(review, outgoing, incoming)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    behave: (behaviour) => {
      current = behaviour
    },
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

/** The right answer with this response, whose uid may be another. */
export const answering =
  (response: (review: Asked) => object): Behaviour =>
  (review, outgoing) =>
    void outgoing.writeHead(200, JSON_TYPE).end(answerWith(review, response(review)))

export const answerWith = ({ apiVersion, kind, request }: Asked, response: object): string =>
  JSON.stringify({ apiVersion, kind, response: { uid: request.uid, ...response } })
