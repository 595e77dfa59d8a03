import { readFile, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import { buffer } from 'node:stream/consumers'
import type { KeyPair } from './certificates.ts'

interface CertificateFetch {
  /** Sends to the API server whatever the request's own origin is. Reads the whole answer: not for watches. */
  readonly fetch: (request: Request) => Promise<Response>
  readonly close: () => void
}

/** One keep-alive agent that shows a client certificate. */
export async function certificateFetch(
  url: string,
  caFile: string,
  pair: KeyPair,
): Promise<CertificateFetch> {
  const [ca, cert, key] = await Promise.all(
    [caFile, pair.certFile, pair.keyFile].map((file) => readFile(file)),
  )
  const agent = new Agent({ keepAlive: true, ca, cert, key })

  async function send(request: Request, body: Buffer): Promise<Response> {
    const { pathname, search } = new URL(request.url)
    const headers = { ...Object.fromEntries(request.headers), 'content-length': String(body.length) }
    const { method, signal } = request
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      httpsRequest(new URL(pathname + search, url), { method, headers, agent, signal }, resolve)
        .once('error', reject)
        .end(body)
    })
    return toResponse(answer, await buffer(answer))
  }
  return {
    async fetch(request) {
      const body = Buffer.from(await request.arrayBuffer())
      try {
        return await send(request, body)
      } catch (error) {
        // An idle connection that the server closed as it was being reused: a read is harmless to repeat.
        if (request.method !== 'GET' || request.signal.aborted) throw error
        return send(request, body)
      }
    },
    close: () => agent.destroy(),
  }
}

const BODILESS = new Set([204, 205, 304])

function toResponse({ statusCode = 0, headersDistinct }: IncomingMessage, body: Buffer): Response {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) headers.append(name, value)
  }
  return new Response(BODILESS.has(statusCode) ? null : new Uint8Array(body), { status: statusCode, headers })
}

/** JSON is YAML, so this is what kubectl and every client library read. */
export async function writeKubeconfig(
  file: string,
  url: string,
  caFile: string,
  pair: KeyPair,
): Promise<string> {
  const name = 'mintonce-test'
  const user = { 'client-certificate': pair.certFile, 'client-key': pair.keyFile }
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: url, 'certificate-authority': caFile } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: 'default' } }],
    'current-context': name,
  }
  await writeFile(file, JSON.stringify(kubeconfig, null, 2), { mode: 0o600 })
  return file
}
