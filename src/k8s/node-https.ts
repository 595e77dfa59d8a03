import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http'
import { type AgentOptions, Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { createSecureContext, TLSSocket } from 'node:tls'
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
   */
  readonly fetch: (request: Request, more?: HeaderLists) => ReturnType<Fetch>
  /** The same without the Fetch API's objects, which cost more than the call. `to` is a URL, or a path of the server. */
  readonly open: (to: string, request: PlainRequest) => Promise<IncomingMessage>
  /** Idle connections end now, busy ones after their answer. */
  readonly close: () => void
}

/** By names in lower case. */
export type HeaderLists = Readonly<Record<string, string[]>>

/** One whose body is at hand: a body that fails half-way must not be half a request. */
interface PlainRequest {
  readonly method: string
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: string | Uint8Array
  readonly signal: AbortSignal
}

/** Where a request goes, as `node:http` wants it. */
type Address = Pick<ReturnType<typeof urlToHttpOptions>, 'protocol' | 'hostname' | 'port' | 'auth'> & {
  readonly path: string
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
  const plain = new HttpAgent(options)
  let secure: HttpsAgent | undefined
  const agentFor = ({ protocol }: Address): HttpAgent => {
    if (protocol !== 'https:') return plain
    secure ??= new HttpsAgent({ ...options, ...withContext(tls) })
    return secure
  }
  const base = server === undefined ? undefined : addressOf(server)
  /** Requests that are under way: one that was collected passes no abort on, its signal follows the one it was made with weakly. */
  const alive = new Set<Request>()
  const open: HttpsClient['open'] = async (url, request) => {
    const to = base === undefined ? addressOf(url) : below(base, url)
    return send(request, to, agentFor)
  }
  return {
    open,
    fetch: async (request, more = {}) => {
      const body = new Uint8Array(await request.arrayBuffer())
      const { method, signal, url } = request
      const headers = { ...Object.fromEntries(request.headers), ...more }
      alive.add(request)
      const over = () => alive.delete(request)
      const answer = await open(url, { method, headers, body, signal }).catch((error: unknown) => {
        over()
        throw error
      })
      return toResponse(answer.once('close', over), method)
    },
    close: () => {
      if (secure !== undefined) retire(secure)
      retire(plain)
    },
  }
}

/** Parsed once for all connections. And an agent looks for one by all that is in its options: by a CA in PEM, with each request. */
function withContext({ ca, cert, key, passphrase, pfx, ...rest }: TlsOptions): AgentOptions {
  return { ...rest, secureContext: createSecureContext({ ca, cert, key, passphrase, pfx }) }
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
  const from = asked.startsWith('/') ? 0 : asked.indexOf('/', asked.indexOf('//') + 2)
  const [path = ''] = asked.slice(from).split('#', 1)
  return { ...base, path: `${base.path.replace(/\/+$/, '')}${path}` }
}

function retire(agent: HttpAgent): void {
  agent.maxFreeSockets = 0
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy()
  }
}

function send(
  request: PlainRequest,
  to: Address,
  agentFor: (to: Address) => HttpAgent,
): Promise<IncomingMessage> {
  const { method, signal, body } = request
  // Always with a length: `node:http` would frame neither a DELETE's body nor its absence.
  const headers = { ...request.headers, 'content-length': String(Buffer.byteLength(body)) }
  const start = to.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    let isAnswered = false
    const answered = (answer: IncomingMessage) => {
      isAnswered = true
      resolve(answer)
    }
    const outgoing = begin(() => start({ ...to, method, headers, agent: agentFor(to) }, answered))
    const mayHaveLeft = watchConnection(outgoing)
    // Not by `node:http`'s option, which makes much of it. The error is what that would throw.
    const abort = () =>
      outgoing.destroy(Object.assign(new Error('aborted', { cause: signal.reason }), { code: 'ABORT_ERR' }))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    outgoing
      .once('error', (error) => reject(mayHaveLeft() ? error : markNeverSent(error)))
      .once('close', () => {
        signal.removeEventListener('abort', abort)
        // Without an error: another protocol than the one that was asked for (101).
        if (!isAnswered) reject(new Error('no answer'))
      })
      .end(body)
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
  const hasBody = !BODILESS.has(status) && method !== 'HEAD'
  if (!hasBody) answer.resume()
  try {
    return new Response(hasBody ? streamOf(answer) : null, { status, headers })
  } catch (error) {
    // A status that no Response may have.
    answer.destroy()
    throw error
  }
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
