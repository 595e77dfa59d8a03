import { isBearerToken } from '../core/bearer.ts'
import { markNeverSent } from '../core/error-code.ts'
import { readText } from './node-files.ts'
import { createHttpsClient, type HttpsClient } from './node-https.ts'
import { type OpenAnswer, openAnswer } from './node-send.ts'
import type { KubeRequest, Send } from './send.ts'

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
const REVIEWS = /\/(tokenreviews|subjectaccessreviews|selfsubjectreviews)(\?|$)/

/**
 * The Kubernetes API with the credentials that the kubelet mounts, reread as they are rotated. After a 401 both files
 * are reread at once and, when the token was another, what stores nothing is asked again; a write is never sent twice.
 * A file that holds no token rejects with the code `NO_CREDENTIALS`: nothing is sent.
 */
export function inClusterSend({ url, caFile, tokenFile, now }: InClusterOptions): Send {
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

  const open = async (request: KubeRequest, bearer: string): Promise<OpenAnswer> =>
    openAnswer(await connected(), request, { authorization: [`Bearer ${bearer}`] })

  return async (request) => {
    const refused = tokenIn(await token.read())
    const answer = await open(request, refused)
    if (answer.status !== 401) return answer.read()
    token.forget()
    ca.forget()
    const storesNothing = request.method === 'GET' || REVIEWS.test(request.path)
    if (!storesNothing) return answer.read()
    const bearer = tokenIn(await token.read())
    if (bearer === refused) return answer.read()
    answer.drop()
    return (await open(request, bearer)).read()
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
      // Whatever is wrong with it, nothing has been sent.
      const text = await readText(path).catch((error: unknown) => Promise.reject(markNeverSent(error)))
      kept = { text, readAt }
      return kept.text
    },
    forget(): void {
      kept = undefined
    },
  }
}
