import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http'
import { type AgentOptions, Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { TLSSocket } from 'node:tls'
import { urlToHttpOptions } from 'node:url'
import type { Fetch } from '../core/deps.ts'
import { markNeverSent } from '../core/error-code.ts'

/** TLS of a connection: CA, client certificate, server name; and how that name is looked up. */
export type TlsOptions = Pick<
  AgentOptions,
  'ca' | 'cert' | 'key' | 'passphrase' | 'pfx' | 'servername' | 'rejectUnauthorized' | 'lookup'
>

export interface HttpsClient {
  /**
   * `more` goes in place of what the request says: a list is a header line for each item, which `Headers` cannot say.
   * `body` is what was read of the request, by whoever has read it.
   */
  readonly fetch: (request: Request, more?: HeaderLists, body?: ArrayBuffer) => ReturnType<Fetch>
  /** Idle connections end now, busy ones after their answer. */
  readonly close: () => void
}

/** By names in lower case. */
export type HeaderLists = Readonly<Record<string, string[]>>

/** Where a request goes, as `node:http` wants it. */
type Address = Pick<ReturnType<typeof urlToHttpOptions>, 'protocol' | 'hostname' | 'port' | 'auth'> & {
  readonly path: string
}

interface Way {
  readonly body: ArrayBuffer
  readonly agent: HttpsAgent | HttpAgent
  readonly more: HeaderLists
  /** Requests that are under way. */
  readonly alive: Set<Request>
}

/** Shorter than servers keep idle connections: one that is closed under a request loses its answer. */
const IDLE_MS = 30_000
const BODILESS = new Set([204, 205, 304])

/**
 * A fetch to one server over `node:https` with one keep-alive agent. What the global fetch does behind a caller's back
 * it does not: no redirect is followed and nothing is ever sent twice (RFC 9110, section 9.2.2: a POST or a guarded
 * PUT is not for a client to repeat). Whatever origin a request names, it goes to `server`, below its path if it has
 * one. An answer must be read or cancelled: until then it holds its connection. An error from before there was a
 * connection (with TLS: one that is secured) is marked as that.
 */
export function createHttpsClient(server: string | undefined, tls: TlsOptions = {}): HttpsClient {
  const options = { keepAlive: true, timeout: IDLE_MS, scheduling: 'lifo' as const }
  const secure = new HttpsAgent({ ...options, ...tls })
  const plain = new HttpAgent(options)
  const alive = new Set<Request>()
  const base = server === undefined ? undefined : addressOf(server)
  return {
    fetch: async (request, more = {}, read) => {
      const to = base === undefined ? addressOf(request.url) : below(base, request.url)
      const agent = to.protocol === 'https:' ? secure : plain
      // Read before anything is sent: a body that fails half-way must not be half a request.
      const body = read ?? (await request.arrayBuffer())
      return send(request, to, { body, agent, more, alive })
    },
    close: () => {
      retire(secure)
      retire(plain)
    },
  }
}

function addressOf(url: string): Address {
  const { protocol, hostname, port, auth, path } = urlToHttpOptions(new URL(url))
  return {
    protocol: protocol ?? null,
    hostname: hostname ?? null,
    path: path ?? '/',
    ...(port === undefined ? {} : { port }),
    ...(auth === undefined ? {} : { auth }),
  }
}

/** A Request's URL is normalised: what comes after its authority is the path, the query and a fragment. */
function below(base: Address, asked: string): Address {
  const from = asked.indexOf('/', asked.indexOf('//') + 2)
  const [path = ''] = asked.slice(from).split('#', 1)
  return { ...base, path: `${base.path.replace(/\/+$/, '')}${path}` }
}

function retire(agent: HttpAgent): void {
  agent.maxFreeSockets = 0
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy()
  }
}

function send(request: Request, to: Address, { body, agent, more, alive }: Way): Promise<Response> {
  // Always with a length: `node:http` would frame neither a DELETE's body nor its absence.
  const headers = {
    ...Object.fromEntries(request.headers),
    ...more,
    'content-length': String(body.byteLength),
  }
  const { method, signal } = request
  const start = to.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise<Response>((resolve, reject) => {
    const answered = (answer: IncomingMessage) => {
      try {
        resolve(toResponse(answer, method))
      } catch (error) {
        // A status that no Response may have.
        answer.destroy()
        reject(error)
      }
    }
    const outgoing = begin(() => start({ ...to, method, headers, agent, signal }, answered))
    const mayHaveLeft = watchConnection(outgoing)
    // A Request that was collected passes no abort on any more: its signal follows the one it was made with weakly.
    alive.add(request)
    outgoing
      .once('error', (error) => reject(mayHaveLeft() ? error : markNeverSent(error)))
      .once('close', () => alive.delete(request))
      .end(Buffer.from(body))
  })
}

/** What is thrown here, because of a header or a certificate that is none, was thrown before there was a connection. */
function begin(start: () => ClientRequest): ClientRequest {
  try {
    return start()
  } catch (error) {
    throw markNeverSent(error)
  }
}

/** Whether any of it may have been written: on a kept connection at once, on a new one when its (TLS) handshake is over. */
function watchConnection(outgoing: ClientRequest): () => boolean {
  let isOpen = false
  const opened = () => {
    isOpen = true
  }
  outgoing.once('socket', (socket) => {
    if (outgoing.reusedSocket || !socket.connecting) opened()
    else socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', opened)
  })
  return () => isOpen
}

function toResponse(answer: IncomingMessage, method: string): Response {
  const { statusCode: status = 0, rawHeaders } = answer
  const headers = new Headers()
  for (let at = 0; at < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
  if (BODILESS.has(status) || method === 'HEAD') {
    answer.resume()
    return new Response(null, { status, headers })
  }
  return new Response(streamOf(answer), { status, headers })
}

/** What `Readable.toWeb` does, at a fraction of what that costs: with an error, or an end, as the answer has it. */
function streamOf(answer: IncomingMessage): ReadableStream<Uint8Array> {
  let isOver = false
  return new ReadableStream({
    start(controller) {
      const over = (finish: () => void) => () => {
        if (!isOver) finish()
        isOver = true
      }
      answer
        .on('data', (chunk: Buffer) => {
          if (isOver) return
          controller.enqueue(chunk)
          answer.pause()
        })
        .once(
          'end',
          over(() => controller.close()),
        )
        .once('error', (error) => over(() => controller.error(error))())
        .once(
          'close',
          over(() => controller.error(new Error('the answer broke off'))),
        )
    },
    pull: () => void answer.resume(),
    cancel: () => {
      isOver = true
      answer.destroy()
    },
  })
}
