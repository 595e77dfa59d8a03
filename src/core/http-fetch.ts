import { readBytes } from './bytes.ts'
import type { Fetch } from './deps.ts'
import { joinedLinesOf } from './headers.ts'
import type { Get, HttpAnswer, HttpRequest, Later } from './http.ts'
import { releasable } from './time-limit.ts'

/**
 * A request as the Fetch API has it: header fields of one name are joined, and the runtime has normalised dots and
 * backslashes in the path.
 */
export function fromFetch(request: Request, afterResponse: Later): HttpRequest {
  const { method, headers, signal, url } = request
  const { origin, searchParams: query } = new URL(url)
  const [path = ''] = url.slice(origin.length).split('?', 1)
  return {
    method,
    path,
    query,
    headers,
    headerLines: joinedLinesOf(headers),
    // Not looked at before somebody asks: a stream costs more than all checks of a mint.
    readBody: (maxBytes, signal) => readBytes(request.body, maxBytes, signal),
    signal,
    afterResponse,
  }
}

/** An answer to a request with this method, for the Fetch API. */
export const toFetch = (
  { status, headers, body }: HttpAnswer,
  { method }: Pick<Request, 'method'>,
): Response => new Response(body === '' || method === 'HEAD' ? null : body, { status, headers })

/** By the Fetch API. */
export const getOver =
  (fetch: Fetch): Get =>
  async (url, { signal: asked, maxBytes }) => {
    const { signal, release } = releasable(asked)
    try {
      // workerd knows no 'error' here; 'manual' hands over the 3xx.
      const init = { headers: { Accept: 'application/json' }, redirect: 'manual', signal } as const
      const { status, body } = await fetch(new Request(url, init))
      if (status === 200) return { status, bytes: await readBytes(body, maxBytes) }
      await body?.cancel()
      return { status, bytes: undefined }
    } finally {
      release()
    }
  }
