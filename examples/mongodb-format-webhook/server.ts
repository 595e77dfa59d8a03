import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { answerReview } from './review.ts'

const MAX_BODY_BYTES = 64 * 1024

/** Undefined when it is longer than a review can be. */
async function bodyOf(incoming: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of incoming) {
    length += chunk.length
    if (length > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const { PORT = '8443', HOST = '0.0.0.0', TLS_CERT_FILE = '', TLS_KEY_FILE = '' } = process.env
const tls = { cert: await readFile(TLS_CERT_FILE), key: await readFile(TLS_KEY_FILE) }

const server = createServer(tls, async (incoming, outgoing) => {
  try {
    const body = incoming.method === 'POST' ? await bodyOf(incoming) : undefined
    const answer = body === undefined ? undefined : answerReview(body)
    // Never a word of what was asked: it holds a password.
    if (answer === undefined) outgoing.writeHead(400, { connection: 'close' }).end()
    else outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  } catch {
    outgoing.destroy()
  }
})
server.requestTimeout = 10_000
server.listen(Number(PORT), HOST, () => {
  const { port } = server.address() as AddressInfo
  console.log(`listening on ${port}`)
})
process.once('SIGTERM', () => server.close())
