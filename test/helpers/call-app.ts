import type { HttpRequest, Later } from '../../src/core/http.ts'
import { fromFetch, toFetch } from '../../src/core/http-fetch.ts'
import type { App } from '../../src/router.ts'

interface Options extends Partial<Pick<HttpRequest, 'headerLines' | 'clientCertificate'>> {
  /** Left out: what comes after the answer never happens. */
  readonly afterResponse?: Later
}

/** Calls an app by the Fetch API, as a worker does. */
export async function callApp(
  app: App,
  request: Request,
  { afterResponse = () => undefined, ...more }: Options = {},
): Promise<Response> {
  return toFetch(await app({ ...fromFetch(request, afterResponse), ...more }), request)
}
