import type { Failure } from '../core/failure.ts'
import type { HttpAnswer } from '../core/http.ts'
import { utf8 } from '../core/text.ts'
import { toHex } from '../formats/hex.ts'
import { json, statusOf } from './answer.ts'
import { choose } from './media-type.ts'
import type { Exchange, Handler } from './services.ts'

/** What anybody may read: it holds nothing of a cluster. */
export interface PublicDocument {
  readonly body: unknown
  /** SHA-256 of the body, in hex. */
  readonly hash: string
}

/** Builds a document when it is first asked for, and keeps it. */
export function lazily(build: () => unknown): () => Promise<PublicDocument> {
  let kept: PublicDocument | undefined
  // The document is kept, not the promise of it: in workerd a promise belongs to the request that made it.
  return async () => {
    kept ??= await documentOf(await build())
    return kept
  }
}

async function documentOf(body: unknown): Promise<PublicDocument> {
  const digest = await crypto.subtle.digest('SHA-256', utf8(JSON.stringify(body)))
  return { body, hash: toHex(digest) }
}

/**
 * Answers a document, or 304 to who has it already (RFC 9110, section 13.1.2). It may be kept, but has to be asked for
 * again unless `headers` say otherwise: another version of this function describes itself differently.
 */
export function answerDocument(
  exchange: Exchange,
  { body, hash }: PublicDocument,
  headers: Readonly<Record<string, string>> = {},
): HttpAnswer {
  const etag = `"${hash}"`
  const all = { 'Cache-Control': 'public, no-cache', ...headers, ETag: etag, Vary: 'Accept' }
  if (!matches(exchange.request.headers.get('If-None-Match'), etag)) return json(body, 200, all)
  return { status: 304, headers: all, body: '' }
}

/** The weak comparison of RFC 9110, section 8.8.3.2. */
const matches = (ifNoneMatch: string | null, etag: string): boolean =>
  (ifNoneMatch ?? '')
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === '*' || tag === etag)

const PLAIN: Failure = { reason: 'not_acceptable', served: ['application/json'] }

/** The route of a document that there is as plain JSON only. */
export function plainRoute(group: string, build: () => unknown): Handler {
  const document = lazily(build)
  return serveJson(group, async (exchange) => answerDocument(exchange, await document()))
}

/** Turns away who takes no JSON: protobuf is for those who have a second choice. */
export const serveJson =
  (group: string, handler: Handler): Handler =>
  async (exchange) => {
    const chosen = choose(exchange.request.headers.get('Accept'), 'json', [])
    return chosen === undefined ? statusOf(PLAIN, group) : handler(exchange)
  }
