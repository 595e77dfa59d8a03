import type { Fetch } from '../../src/core/deps.ts'
import type { KubeRequest, Send } from '../../src/k8s/send.ts'

const NO_BODY = new Set([204, 205, 304])

/** The Fetch API over a seam to the Kubernetes API, for whoever looks at requests on their way. */
export const fetchOver =
  (send: Send): Fetch =>
  async (request) => {
    const { pathname, search } = new URL(request.url)
    const text = await request.text()
    const { status, bytes = new Uint8Array() } = await send({
      method: request.method as KubeRequest['method'],
      path: `${pathname}${search}`,
      headers: Object.fromEntries(request.headers),
      body: text === '' ? undefined : text,
      signal: request.signal,
      maxBytes: Number.MAX_SAFE_INTEGER,
    })
    return new Response(NO_BODY.has(status) ? null : new Uint8Array(bytes), { status })
  }
