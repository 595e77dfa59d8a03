import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { type AgentOptions, Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { buffer } from 'node:stream/consumers'
import type { Fetch } from '../core/deps.ts'

/** TLS of a connection: CA, client certificate, server name. */
export type TlsOptions = Pick<
  AgentOptions,
  'ca' | 'cert' | 'key' | 'passphrase' | 'pfx' | 'servername' | 'rejectUnauthorized'
>

export interface HttpsClient {
  readonly fetch: Fetch
  readonly close: () => void
}

/** Shorter than servers keep idle connections: one that is closed under a request loses its answer. */
const IDLE_MS = 30_000
const BODILESS = new Set([101, 204, 205, 304])

/**
 * A fetch to one server over `node:https` with one keep-alive agent. What the global fetch does behind a caller's back
 * it does not: no redirect is followed and nothing is ever sent twice (RFC 9110, section 9.2.2: a POST or a guarded
 * PUT is not for a client to repeat). Whatever origin a request names, it goes to `server`.
 */
export function createHttpsClient(server: string | undefined, tls: TlsOptions = {}): HttpsClient {
  const options = { keepAlive: true, timeout: IDLE_MS, scheduling: 'lifo' as const }
  const secure = new HttpsAgent({ ...options, ...tls })
  const plain = new HttpAgent(options)
  return {
    fetch: async (request) => {
      const { origin, pathname, search } = new URL(request.url)
      const url = new URL(`${pathname}${search}`, server ?? origin)
      return send(request, url, url.protocol === 'https:' ? secure : plain)
    },
    close: () => {
      secure.destroy()
      plain.destroy()
    },
  }
}

async function send(request: Request, url: URL, agent: HttpsAgent | HttpAgent): Promise<Response> {
  // Read before anything is sent: a body that fails half-way must not be half a request.
  const body = Buffer.from(await request.arrayBuffer())
  // Always with a length: `node:http` would frame neither a DELETE's body nor its absence.
  const headers = { ...Object.fromEntries(request.headers), 'content-length': String(body.length) }
  const { method, signal } = request
  const start = url.protocol === 'https:' ? httpsRequest : httpRequest
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    start(url, { method, headers, agent, signal }, resolve).once('error', reject).end(body)
  })
  return toResponse(answer, await buffer(answer))
}

function toResponse({ statusCode = 0, headersDistinct }: IncomingMessage, body: Buffer): Response {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) headers.append(name, value)
  }
  return new Response(BODILESS.has(statusCode) ? null : new Uint8Array(body), { status: statusCode, headers })
}
