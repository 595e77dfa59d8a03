import type { IncomingMessage } from 'node:http'
import type { HeaderLists, HttpsClient } from './node-https.ts'
import type { KubeAnswer, KubeRequest } from './send.ts'

/** An answer of which the head is there. Must be read or dropped: until then it holds its connection. */
export interface OpenAnswer {
  readonly status: number
  readonly read: () => Promise<KubeAnswer>
  readonly drop: () => void
}

/** Sends to the client's server, `more` with what the request says. Rejects as the client does. */
export async function openAnswer(
  { open }: Pick<HttpsClient, 'open'>,
  { method, path, headers, body = '', signal, maxBytes }: KubeRequest,
  more: HeaderLists,
): Promise<OpenAnswer> {
  const answer = await open(path, { method, headers: { ...headers, ...more }, body, signal })
  const { statusCode: status = 0 } = answer
  // From here on: it may break off before anybody asks for it.
  const whole = readAll(answer, maxBytes)
  whole.catch(() => undefined)
  return {
    status,
    read: async () => ({ status, header: (name) => textOf(answer.headers[name]), bytes: await whole }),
    drop: () => void answer.destroy(),
  }
}

const textOf = (value: string | string[] | undefined): string | null =>
  typeof value === 'string' ? value : (value?.join(', ') ?? null)

/** Undefined when there is more than `maxBytes`: the rest is not read. Rejects when the answer breaks off. */
function readAll(answer: IncomingMessage, maxBytes: number): Promise<Uint8Array | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  return new Promise((resolve, reject) => {
    answer
      .on('data', (chunk: Buffer) => {
        length += chunk.length
        chunks.push(chunk)
        if (length <= maxBytes) return
        resolve(undefined)
        answer.destroy()
      })
      .once('end', () => resolve(joined(chunks, length)))
      .once('error', reject)
      .once('close', () => reject(new Error('the answer broke off')))
  })
}

const joined = (chunks: readonly Buffer[], length: number): Uint8Array => {
  const [first] = chunks
  return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks, length)
}
