import type { Context } from 'hono'
import { json, text } from './answer.ts'
import type { AppEnv, Services } from './services.ts'

/** The process answers. */
export const livez = (): Response => text('ok')

/** The Kubernetes API answers too: without it nothing can be minted. */
export const readyz =
  ({ kube }: Services) =>
  async (c: Context<AppEnv>): Promise<Response> => {
    const ping = await kube.ping({ signal: c.req.raw.signal })
    return ping.ok ? text('ok') : text(`not ready: the Kubernetes API: ${ping.failure.reason}\n`, 503)
  }

export const versionRoute =
  ({ version }: Services) =>
  (): Response =>
    json({ name: 'mintonce', version })
