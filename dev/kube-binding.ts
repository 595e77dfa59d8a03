import { createHash, timingSafeEqual } from 'node:crypto'
import type { Request as MiniflareRequest } from 'miniflare'
import type { Fetch } from '../src/core/deps.ts'
import { codeOf } from '../src/core/error-code.ts'

/** A function of this process as a binding of Miniflare, whose Request is a class of its own. */
export const bindingTo =
  (kube: Fetch) =>
  async (request: MiniflareRequest): Promise<Response> => {
    const bytes = await request.arrayBuffer()
    const { method, url } = request
    const body = bytes.byteLength === 0 ? {} : { body: bytes }
    return kube(new Request(url, { method, headers: [...request.headers], ...body }))
  }

/**
 * Lets in who has the secret, and takes it off. Miniflare asks this process over a port on loopback, where every user
 * and every page in a browser of this machine could ask too, and would have the rights of the kubeconfig.
 */
export const guardedBy = (secret: string, kube: Fetch): Fetch => {
  const expected = digest(`Bearer ${secret}`)
  return async (request) => {
    const given = digest(request.headers.get('Authorization') ?? '')
    if (!timingSafeEqual(given, expected))
      return new Response('no KUBE_TOKEN of this helper\n', { status: 401 })
    const headers = new Headers(request.headers)
    headers.delete('Authorization')
    return kube(new Request(request, { headers }))
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/**
 * A worker sees no errors of another process, only answers: what is in front of a server that does not answer says 502
 * (RFC 9110, section 15.6.3). Why it is away is for the one who started this.
 */
export const orBadGateway =
  (kube: Fetch, report: (why: string) => void): Fetch =>
  async (request) => {
    try {
      return await kube(request)
    } catch (error) {
      // The code alone: texts may quote what a plug-in has printed.
      report(codeOf(error) ?? 'no answer')
      return new Response(null, { status: 502 })
    }
  }
