import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { HeaderLine } from '../backend.ts'

/** As bytes of UTF-8, one character each: so they go over the wire, and so Node hands them over. */
export const rawLinesOf = (lines: readonly HeaderLine[]): string[] =>
  lines.flatMap(([name, value]) => [name, Buffer.from(value).toString('latin1')])

/** Over HTTP/1.1, without a body. `fetch` would join the headers of one name itself. */
export const sendLines =
  (origin: string) =>
  async (method: string, path: string, lines: readonly HeaderLine[]): Promise<Response> => {
    const { host, hostname, port } = new URL(origin)
    const headers = ['Host', host, 'Content-Length', '0', ...rawLinesOf(lines)]
    const outgoing = request({ hostname, port, method, path, headers, agent: false })
    outgoing.end()
    const [incoming]: IncomingMessage[] = await once(outgoing, 'response')
    if (incoming === undefined) throw new Error('no response')
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const answered = new Headers()
    for (const [name, values = []] of Object.entries(incoming.headersDistinct)) {
      for (const value of values) answered.append(name, value)
    }
    return new Response(Buffer.concat(chunks), { status: incoming.statusCode ?? 0, headers: answered })
  }
