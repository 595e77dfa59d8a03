import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from './core/deps.ts'
import type { HttpAnswer } from './core/http.ts'
import { statusOf } from './handlers/answer.ts'
import { answerWith, requestOf } from './node-request.ts'
import type { Tls } from './node-tls.ts'
import type { App } from './router.ts'

interface ServeOptions {
  readonly app: App
  readonly port: number
  /** Undefined: all interfaces. */
  readonly address: string | undefined
  readonly group: string
  /** How long connections are still taken after `stop` was asked for: a proxy notices late. */
  readonly drainMs: number
  readonly log: Log
  /** HTTPS. Undefined: plain HTTP, and nobody has a client certificate. */
  readonly tls?: Tls | undefined
  /** What it is called in the log when it listens. */
  readonly event?: string
}

export interface Serving {
  readonly address: string
  readonly port: number
  /** Finishes what is in flight, events included. */
  readonly stop: () => Promise<void>
}

/** Room for the identity headers of people in hundreds of groups; Node's own limit is 16 KiB. */
const MAX_HEADER_BYTES = 128 * 1024
/** Longer than a proxy keeps idle connections (Go's default transport: 90 s), so that it never reuses a dead one. */
const KEEP_ALIVE_MS = 120_000
const RECEIVE_MS = 30_000
/** How long an answer may wait to be read before what comes after it begins. */
const UNREAD_MS = 1000
/** How long an answer that has ended may take to be read, when the process is to end. */
const FLUSH_MS = 5000
/** From the end of the drain: a request that is under way on a new connection has come by then. */
const UNUSED_MS = 1000
/**
 * How many requests of one connection may wait for their answers (RFC 9112, section 9.3.2). Nobody who calls this pipelines, but Node
 * parses hundreds from what it has read, and would hold an answer for each while nobody reads.
 */
const MAX_PIPELINED = 10
/** Names and addresses. Nothing here goes by it, but whoever stands before this function may: what it could read in two ways is refused. */
const HOST = /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/

const LIMITS = {
  maxHeaderSize: MAX_HEADER_BYTES,
  keepAliveTimeout: KEEP_ALIVE_MS,
  headersTimeout: RECEIVE_MS,
  requestTimeout: RECEIVE_MS,
  // Checked by `problemOf`, so that the answer is a Status.
  requireHostHeader: false,
} as const

/** Serves the app over HTTP/1.1. Rejects when the address cannot be listened on. */
export async function serve(options: ServeOptions): Promise<Serving> {
  const { app, log, group, tls } = options
  const unanswered = new Set<ServerResponse>()
  const later = createLater(unanswered)
  const listener = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const clientCertificate = tls?.certificateOf(incoming.socket)
    // It was checked when it was shown: what has become trusted since counts from the next handshake on.
    if (clientCertificate === undefined && tls?.hasCertificate(incoming.socket)) {
      outgoing.setHeader('Connection', 'close')
    }
    const request = requestOf(incoming, outgoing, {
      afterResponse: (work) => later.after(outgoing, work),
      ...(clientCertificate === undefined ? {} : { clientCertificate }),
    })
    const answer = await app(request).finally(() => later.answered(outgoing))
    answerWith(outgoing, answer)
  }
  const unused = new Map<string, Socket>()
  const pipelined = new WeakMap<Socket, number>()
  const handle = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { socket } = incoming
    unused.delete(peerOf(socket))
    const waiting = (pipelined.get(socket) ?? 0) + 1
    // What was parsed with it goes on to come.
    if (waiting > MAX_PIPELINED || socket.destroyed) return void socket.destroy()
    pipelined.set(socket, waiting)
    unanswered.add(outgoing)
    outgoing.once('close', () => {
      unanswered.delete(outgoing)
      pipelined.set(socket, (pipelined.get(socket) ?? 1) - 1)
    })
    const problem = problemOf(incoming)
    if (problem === undefined) listener(incoming, outgoing).catch(() => outgoing.destroy())
    else {
      outgoing.setHeader('Connection', 'close')
      answerWith(outgoing, malformed(problem, group))
    }
  }
  const server = tls === undefined ? createServer(LIMITS) : tls.createServer(LIMITS)
  // Bytes are what is limited: by count, Node would refuse people in a thousand groups, and blame the size.
  server.maxHeadersCount = 0
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket)
    unused.set(peer, socket)
    socket.once('close', () => unused.delete(peer))
  })
  server.on('request', handle)
  server.on('checkContinue', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    // kube-apiserver takes a 100 that it is sent for the answer: its own caller would read 200 whatever comes after it.
    if (tls?.certificateOf(incoming.socket) === undefined) outgoing.writeContinue()
    server.emit('request', incoming, outgoing)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // The client would take this for the answer to what it sent before, which may be a mint that is under way.
    // Or it has been answered before all of it had come, and this is the rest.
    const waits = [...unanswered].some(
      ({ req, headersSent }) => req.socket === socket && (req.complete || headersSent),
    )
    if (waits) socket.destroy()
    else refuseBytes(error, socket as Socket, group)
  })
  await listen(server, options)
  const { address, port } = server.address() as AddressInfo
  log('info', options.event ?? 'listening', { address, port })
  return { address, port, stop: () => stop({ server, unanswered, unused, pending: later.pending }, options) }
}

/** Work that begins when an answer has gone, or can go nowhere any more. */
function createLater(unanswered: ReadonlySet<ServerResponse>) {
  const pending = new Set<Promise<unknown>>()
  const waiting = new WeakMap<ServerResponse, PromiseWithResolvers<void>>()
  const goneFrom = (outgoing: ServerResponse): Promise<void> => {
    const gone = waiting.get(outgoing) ?? Promise.withResolvers<void>()
    if (!unanswered.has(outgoing)) gone.resolve()
    else if (!waiting.has(outgoing)) outgoing.once('close', gone.resolve)
    waiting.set(outgoing, gone)
    return gone.promise
  }
  return {
    pending,
    after: (outgoing: ServerResponse, work: () => Promise<unknown>): void => {
      const done = goneFrom(outgoing)
        .then(work)
        .catch(() => undefined)
      pending.add(done)
      void done.then(() => pending.delete(done))
    },
    /** Its answer is there. Whoever does not read what they asked for before does not hold back the trace of a mint. */
    answered: (outgoing: ServerResponse): void => {
      const gone = waiting.get(outgoing)
      if (gone !== undefined) setTimeout(gone.resolve, UNREAD_MS).unref()
    },
  }
}

/** The same for a connection and for what is encrypted in it. */
const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`

/** What reads in two ways: Node keeps the first of two Authorization headers, and joins others. */
function problemOf(incoming: IncomingMessage): string | undefined {
  const seen = new Map<string, number>()
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
    const name = incoming.rawHeaders[i]?.toLowerCase() ?? ''
    seen.set(name, (seen.get(name) ?? 0) + 1)
  }
  const repeated = ['authorization', 'host', 'content-type'].find((name) => (seen.get(name) ?? 0) > 1)
  if (repeated !== undefined) return `the header ${repeated} may be given once only`
  if (!seen.has('host')) return 'the header host is missing'
  if (!HOST.test(incoming.headers.host ?? '')) return 'the header host is malformed'
  if (!incoming.url?.startsWith('/')) return 'the request target must be an absolute path'
  return undefined
}

const malformed = (message: string, group: string): HttpAnswer =>
  statusOf({ reason: 'request_malformed', message }, group)

/** Bytes that are no HTTP request: there is no ServerResponse to answer with. */
function refuseBytes(error: NodeJS.ErrnoException, socket: Socket, group: string): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW'
  const code = tooLarge ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
  const message = tooLarge
    ? `the headers are larger than ${MAX_HEADER_BYTES} bytes`
    : 'this is no HTTP/1.1 request'
  const { body } = malformed(message, group)
  const status = body.replace('"code":400', `"code":${code}`)
  socket.end(
    `HTTP/1.1 ${code} ${STATUS_CODES[code]}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(status)}\r\nConnection: close\r\n\r\n${status}`,
  )
}

const listen = (server: Server, { port, address }: ServeOptions): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, ...(address === undefined ? {} : { host: address }) }, () => {
      server.off('error', reject)
      resolve()
    })
  })

/** Answers that are being read. Node takes a connection for idle whose answer has ended, read or not. */
const flushed = (unanswered: ReadonlySet<ServerResponse>): Promise<unknown> => {
  const ended = [...unanswered].filter(({ writableEnded }) => writableEnded)
  const gone = ended.map((outgoing) => new Promise<void>((resolve) => outgoing.once('close', resolve)))
  return Promise.race([Promise.all(gone), sleep(FLUSH_MS, undefined, { ref: false })])
}

interface Running {
  readonly server: Server
  readonly unanswered: ReadonlySet<ServerResponse>
  /** Connections on which no request has come, by their other end: Node does not call them idle. */
  readonly unused: ReadonlyMap<string, Socket>
  readonly pending: ReadonlySet<Promise<unknown>>
}

async function stop(
  { server, unanswered, unused, pending }: Running,
  { drainMs, log }: ServeOptions,
): Promise<void> {
  log('info', 'draining', { drainMs })
  // A client that gets this header does not reuse its connection, so that none is cut between two requests.
  const announceEnd = (outgoing: ServerResponse) => {
    if (!outgoing.headersSent) outgoing.setHeader('Connection', 'close')
  }
  for (const outgoing of unanswered) announceEnd(outgoing)
  server.prependListener('request', (_incoming, outgoing) => announceEnd(outgoing))
  await sleep(drainMs)
  await flushed(unanswered)
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeIdleConnections()
  // One whose request had not come whole is idle when it has.
  for (const outgoing of unanswered) outgoing.once('close', () => server.closeIdleConnections())
  await Promise.race([closed, sleep(UNUSED_MS, undefined, { ref: false })])
  for (const socket of unused.values()) socket.destroy()
  await closed
  await Promise.allSettled(pending)
}
