import type { IncomingMessage, ServerResponse } from 'node:http'
import { fieldsOf, linesOf } from './core/headers.ts'
import type { HttpAnswer, HttpRequest } from './core/http.ts'
import { bytesOf } from './k8s/node-bytes.ts'

/** How long what a caller goes on sending is thrown away after its answer: who is cut off while it sends may not read that. */
const UNREAD_BODY_MS = 500
/** These have no body, and no length of one (RFC 9110, section 8.6). */
const WITHOUT_LENGTH: ReadonlySet<number> = new Set([204, 304])

/** A request of `node:http` as plain values. */
export function requestOf(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  more: Pick<HttpRequest, 'afterResponse' | 'clientCertificate'>,
): HttpRequest {
  const { method = '', url = '', rawHeaders } = incoming
  const [path = ''] = url.split('?', 1)
  const [query] = url.slice(path.length).split('#', 1)
  const headerLines = linesOf(rawHeaders)
  return {
    method,
    path,
    query: new URLSearchParams(query),
    headers: fieldsOf(headerLines),
    headerLines,
    readBody: (maxBytes, signal) => bytesOf(incoming, maxBytes, signal),
    signal: whenGone(outgoing),
    ...more,
  }
}

/** Fires when the caller has gone before all of the answer was handed over. */
function whenGone(outgoing: ServerResponse): AbortSignal {
  const gone = new AbortController()
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) gone.abort()
  })
  return gone.signal
}

/** Sends an answer, whole, and lets go of what of the request nobody has read. */
export function answerWith(outgoing: ServerResponse, { status, headers, body }: HttpAnswer): void {
  if (outgoing.destroyed) return
  const length = WITHOUT_LENGTH.has(status) ? {} : { 'Content-Length': Buffer.byteLength(body) }
  outgoing.writeHead(status, { ...headers, ...length })
  // To a HEAD Node sends the head only.
  if (outgoing.req.complete) outgoing.end(body)
  else answerSender(outgoing, body)
}

/**
 * An answer that may be the last on its connection ends when what the caller still sends has come, or has had its time: closed
 * with bytes unread, a connection is reset, and whoever sent them loses the answer.
 */
function answerSender(outgoing: ServerResponse, body: string): void {
  const { req: incoming } = outgoing
  outgoing.flushHeaders()
  if (body !== '') outgoing.write(body)
  const end = () => {
    clearTimeout(timer)
    if (!outgoing.destroyed) outgoing.end()
  }
  const timer = setTimeout(() => {
    outgoing.once('finish', () => incoming.socket.destroySoon())
    end()
  }, UNREAD_BODY_MS)
  incoming.once('end', end).once('close', end).resume()
}
