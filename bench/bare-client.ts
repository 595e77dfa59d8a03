import * as http from 'node:http'
import * as https from 'node:https'

export interface BareOptions {
  readonly url: string
  /** PEM. */
  readonly ca?: string
  readonly token: string
}

/** Answers the object that came. Rejects on an answer that is no success. */
// biome-ignore lint/suspicious/noExplicitAny: nothing is checked here, by intention
export type BareSend = (method: string, path: string, body?: object) => Promise<any>

/** The least that a client of a JSON API can be: one keep-alive agent, a bearer token, no checks. */
export function createBareClient({ url, ca, token }: BareOptions): BareSend {
  const isSecure = url.startsWith('https:')
  const { Agent, request } = isSecure ? https : http
  const agent = new Agent({ keepAlive: true, ...(isSecure && ca !== undefined ? { ca } : {}) })
  const authorization = `Bearer ${token}`
  return (method, path, body) => {
    const text = body === undefined ? '' : JSON.stringify(body)
    const headers = {
      authorization,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    }
    return new Promise((resolve, reject) => {
      request(new URL(path, url), { method, headers, agent }, (answer) => {
        let read = ''
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          read += chunk
        })
        answer.once('end', () => {
          const isDone = (answer.statusCode ?? 500) < 300
          if (isDone) resolve(JSON.parse(read))
          else reject(new Error(`${method} ${path}: ${answer.statusCode} ${read}`))
        })
      })
        .once('error', reject)
        .end(text)
    })
  }
}
