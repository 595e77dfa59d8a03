import { readFile } from 'node:fs/promises'
import { isBearerToken } from '../core/bearer.ts'
import type { Fetch } from '../core/deps.ts'
import { createHttpsClient, type HttpsClient } from './node-https.ts'

interface InClusterOptions {
  /** `https://host:port` of the API server. */
  readonly url: string
  /** PEM. Not read for an `http:` address. */
  readonly caFile: string
  readonly tokenFile: string
  readonly now: () => number
}

/** How long a file is believed: the kubelet replaces a token at 80 % of its life, an hour as a rule. */
const READ_AGAIN_MS = 10_000
/** Reviews are POSTs that store nothing. */
const REVIEWS = /\/(tokenreviews|subjectaccessreviews|selfsubjectreviews)$/

/**
 * The Kubernetes API with the credentials that the kubelet mounts, reread as they are rotated. After a 401 both files
 * are reread at once and, when the token was another, what stores nothing is asked again; a write is never sent twice.
 * A file that holds no token rejects with the code `NO_CREDENTIALS`: nothing is sent.
 */
export function inClusterFetch({ url, caFile, tokenFile, now }: InClusterOptions): Fetch {
  const token = createFileReader(tokenFile, now)
  const ca = createFileReader(caFile, now)
  let client: (HttpsClient & { readonly ca: string | undefined }) | undefined

  async function connected(): Promise<HttpsClient> {
    const trusted = url.startsWith('https:') ? await ca.read() : undefined
    if (client !== undefined && client.ca === trusted) return client
    client?.close()
    client = { ...createHttpsClient(url, trusted === undefined ? {} : { ca: trusted }), ca: trusted }
    return client
  }

  async function send(request: Request, body: ArrayBuffer, bearer: string): Promise<Response> {
    const { fetch } = await connected()
    // The request itself: a copy would follow its signal weakly, and costs as much as the call.
    return fetch(request, { authorization: [`Bearer ${bearer}`] }, body)
  }

  return async (request) => {
    const body = await request.arrayBuffer()
    const refused = tokenIn(await token.read())
    const answer = await send(request, body, refused)
    if (answer.status !== 401) return answer
    token.forget()
    ca.forget()
    const storesNothing = request.method === 'GET' || REVIEWS.test(new URL(request.url).pathname)
    if (!storesNothing) return answer
    const bearer = tokenIn(await token.read())
    if (bearer === refused) return answer
    await answer.body?.cancel()
    return send(request, body, bearer)
  }
}

function tokenIn(text: string): string {
  const token = text.trim()
  if (isBearerToken(token)) return token
  // Never in its words: `Headers` would quote it.
  throw Object.assign(new Error('the token file holds no token'), { code: 'NO_CREDENTIALS' })
}

/** Reads a small file again every few seconds. A clock that was set back makes nothing younger. */
function createFileReader(path: string, now: () => number) {
  let kept: { readonly text: string; readonly readAt: number } | undefined
  return {
    async read(): Promise<string> {
      const readAt = now()
      const age = readAt - (kept?.readAt ?? readAt)
      if (kept !== undefined && age >= 0 && age < READ_AGAIN_MS) return kept.text
      kept = { text: await readFile(path, 'utf8'), readAt }
      return kept.text
    },
    forget(): void {
      kept = undefined
    },
  }
}
