import { readFile, stat } from 'node:fs/promises'
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

/** How long a file is believed without looking: the kubelet replaces a token well before it expires. */
const LOOK_AGAIN_MS = 10_000
/** Reviews are POSTs that store nothing. */
const REVIEWS = /\/(tokenreviews|subjectaccessreviews|selfsubjectreviews)$/

/**
 * The Kubernetes API with the credentials that the kubelet mounts, reread when they are rotated. After a 401 the token
 * is reread at once and what stores nothing is asked again; a write is never sent twice.
 */
export function inClusterFetch({ url, caFile, tokenFile, now }: InClusterOptions): Fetch {
  const token = createFileReader(tokenFile, now)
  const ca = createFileReader(caFile, now)
  let client: (HttpsClient & { readonly ca: string | undefined }) | undefined

  async function connected(): Promise<HttpsClient> {
    const trusted = url.startsWith('https:') ? await ca.read() : undefined
    if (client === undefined || client.ca !== trusted) {
      const stale = client
      client = { ...createHttpsClient(url, trusted === undefined ? {} : { ca: trusted }), ca: trusted }
      // What is under way on the old connections ends first.
      if (stale !== undefined) setTimeout(stale.close, LOOK_AGAIN_MS).unref()
    }
    return client
  }

  async function send(request: Request, body: ArrayBuffer): Promise<Response> {
    const { fetch } = await connected()
    const headers = new Headers(request.headers)
    headers.set('Authorization', `Bearer ${(await token.read()).trim()}`)
    const { method, signal } = request
    return fetch(
      new Request(request.url, { method, headers, signal, ...(body.byteLength > 0 ? { body } : {}) }),
    )
  }

  return async (request) => {
    const body = await request.arrayBuffer()
    const answer = await send(request, body)
    const storesNothing = request.method === 'GET' || REVIEWS.test(new URL(request.url).pathname)
    if (answer.status !== 401) return answer
    token.forget()
    return storesNothing ? send(request, body) : answer
  }
}

/** Reads a file again when its modification time has changed, looking at most every few seconds. */
function createFileReader(path: string, now: () => number) {
  let kept: { readonly text: string; readonly modifiedMs: number; readonly lookedAt: number } | undefined
  return {
    async read(): Promise<string> {
      const lookedAt = now()
      if (kept !== undefined && lookedAt - kept.lookedAt < LOOK_AGAIN_MS) return kept.text
      const modifiedMs = (await stat(path)).mtimeMs
      const text = modifiedMs === kept?.modifiedMs ? kept.text : await readFile(path, 'utf8')
      kept = { text, modifiedMs, lookedAt }
      return text
    },
    forget(): void {
      kept = undefined
    },
  }
}
