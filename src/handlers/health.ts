import type { HttpAnswer } from '../core/http.ts'
import { json, text } from './answer.ts'
import type { Exchange, Services } from './services.ts'

/** The process answers. */
export const livez = (): HttpAnswer => text('ok')

/** The Kubernetes API answers too, and what the runtime needs is there: without it nothing can be minted. */
export const readyz =
  ({ kube, waitsFor }: Services) =>
  async (exchange: Exchange): Promise<HttpAnswer> => {
    const missing = waitsFor()
    if (missing !== undefined) return text(`not ready: ${missing}\n`, 503)
    const ping = await kube.ping({ signal: exchange.request.signal })
    if (ping.ok) return text('ok')
    const { failure } = ping
    const why = failure.reason === 'kube_unreachable' ? ` (${failure.why})` : ''
    return text(`not ready: the Kubernetes API: ${failure.reason}${why}\n`, 503)
  }

export const versionRoute =
  ({ version }: Services) =>
  (): HttpAnswer =>
    json({ name: 'mintonce', version })
