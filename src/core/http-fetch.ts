import { readBytes } from './bytes.ts'
import { joinedLinesOf } from './headers.ts'
import type { HttpAnswer, HttpRequest, Later } from './http.ts'

/** A request as the Fetch API has it: header fields of one name are joined, and the runtime has normalised dots and backslashes in the path. */
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
