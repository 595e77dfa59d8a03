import { readBytes } from '../core/bytes.ts'
import type { Fetch } from '../core/deps.ts'
import { codeOf } from '../core/error-code.ts'
import { isObject, type Json, own, parseJson } from '../core/json.ts'
import { fromUtf8 } from '../core/text.ts'
import { timeLimit, whenAborted } from '../core/time-limit.ts'
import type { Asked, Randomness, Review, Webhook, Webhooks } from './webhook.ts'
import type { WebhookHosts } from './webhook-hosts.ts'

const API_VERSION = 'credentials.cozystack.io/v1alpha1'
const MAX_ANSWER_BYTES = 64 * 1024
const JSON_TYPE = /^application\/json *(;|$)/i

/** A connection for one exchange, to a server that it knows by the webhook's authorities and host. */
interface WebhookConnection {
  readonly fetch: Fetch
  readonly close: () => void
}

export type WebhookFetch = (webhook: Webhook) => WebhookConnection

interface Options extends Randomness {
  readonly hosts: WebhookHosts
  /** Undefined where the runtime cannot choose whom to trust: then it calls none. */
  readonly connect: WebhookFetch | undefined
}

const UNABLE = 'this runtime calls no webhook: it cannot check a caBundle, nor where a name leads'

/** Calls webhooks: once each, with no redirect followed, and with nothing of an answer in any word about it. */
export const createWebhooks = ({ hosts, connect, randomBytes }: Options): Webhooks => ({
  hosts,
  ...(connect === undefined ? { unable: UNABLE } : {}),
  ask: async (webhook, review, signal) => {
    if (connect === undefined) return failed(UNABLE)
    return askOnce(connect(webhook), webhook, { ...review, uid: uidFrom(randomBytes(16)) }, signal)
  },
})

type Question = Review & { readonly uid: string }

async function askOnce(
  { fetch, close }: WebhookConnection,
  webhook: Webhook,
  question: Question,
  signal: AbortSignal | undefined,
): Promise<Asked> {
  const limit = timeLimit(webhook.timeoutMs, signal)
  try {
    limit.signal.throwIfAborted()
    return await Promise.race([exchange(fetch, webhook, question, limit.signal), whenAborted(limit.signal)])
  } catch (error) {
    if (signal?.aborted) return failed('the caller has gone')
    if (limit.signal.aborted) return failed(`no complete answer within ${webhook.timeoutMs / 1000} s`)
    return failed(`no answer (${codeOf(error) ?? 'the connection broke'})`)
  } finally {
    limit.release()
    close()
  }
}

const failed = (why: string): Asked => ({ ok: false, why })

async function exchange(
  fetch: Fetch,
  { url }: Webhook,
  { kind, request, uid }: Question,
  signal: AbortSignal,
): Promise<Asked> {
  const response = await fetch(
    new Request(url, {
      method: 'POST',
      redirect: 'manual',
      signal,
      headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
      body: JSON.stringify({ apiVersion: API_VERSION, kind, request: { uid, ...request } }),
    }),
  )
  const refused = refusalOf(response)
  if (refused !== undefined) {
    // Not waited for: nothing is left to learn from it.
    void response.body?.cancel().catch(() => undefined)
    return failed(refused)
  }
  const bytes = await readBytes(response.body, MAX_ANSWER_BYTES, signal)
  if (bytes === undefined) return failed(`answered more than ${MAX_ANSWER_BYTES} bytes`)
  return answerIn(parseJson(fromUtf8(bytes) ?? ''), kind, uid)
}

function refusalOf({ status, headers }: Response): string | undefined {
  if (status >= 300 && status < 400) return `answered ${status}: redirects are not followed`
  if (status !== 200) return `answered ${status}`
  return JSON_TYPE.test(headers.get('Content-Type') ?? '') ? undefined : 'answered no application/json'
}

function answerIn(review: unknown, kind: string, uid: string): Asked {
  if (!isObject(review)) return failed('answered no JSON object')
  if (own(review, 'apiVersion') !== API_VERSION || own(review, 'kind') !== kind) {
    return failed(`answered no ${kind} of ${API_VERSION}`)
  }
  const response: unknown = own(review, 'response')
  if (!isObject(response)) return failed('answered without a response')
  return own(response, 'uid') === uid
    ? { ok: true, response: response as Json }
    : failed('answered another uid')
}

/** A random UUID (RFC 9562, section 5.4). */
function uidFrom(bytes: Uint8Array): string {
  const hex = [...bytes]
    .map((byte, at) => (at === 6 ? (byte & 0x0f) | 0x40 : at === 8 ? (byte & 0x3f) | 0x80 : byte))
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
