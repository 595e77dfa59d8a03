import { bytesOf } from './node-bytes.ts'
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
  const whole = bytesOf(answer, maxBytes)
  whole.then(
    (bytes) => bytes === undefined && answer.destroy(),
    () => undefined,
  )
  return {
    status,
    read: async () => ({ status, header: (name) => textOf(answer.headers[name]), bytes: await whole }),
    drop: () => void answer.destroy(),
  }
}

const textOf = (value: string | string[] | undefined): string | null =>
  typeof value === 'string' ? value : (value?.join(', ') ?? null)
