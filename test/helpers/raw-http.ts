import { connect, type Socket } from 'node:net'

/** What came back over a socket: an answer, nothing before the other side closed, or nothing at all. */
export type Heard =
  | {
      readonly is: 'answer'
      readonly status: number
      readonly headers: ReadonlyMap<string, string>
      readonly body: string
      readonly rest: string
    }
  | { readonly is: 'closed' }
  | { readonly is: 'silent'; readonly sofar: string }

const PATIENCE_MS = 5000

export const connectTo = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => resolve(socket))
    socket.once('error', reject)
  })

/** The next answer on a socket that is in nobody else's hands. */
export function hear(socket: Socket, already = ''): Promise<Heard> {
  return new Promise((resolve) => {
    let received = already
    const end = (heard: Heard) => {
      clearTimeout(timer)
      socket.off('data', take).off('end', close).off('close', close).off('error', close)
      resolve(heard)
    }
    const take = (chunk: Buffer) => {
      received += chunk.toString('latin1')
      const answer = parseAnswer(received, false)
      if (answer !== undefined) end(answer)
    }
    const close = () => end(parseAnswer(received, true) ?? { is: 'closed' })
    const timer = setTimeout(() => end({ is: 'silent', sofar: received }), PATIENCE_MS)
    socket.on('data', take).once('end', close).once('close', close).on('error', close)
    if (already !== '') take(Buffer.alloc(0))
    if (socket.destroyed) close()
  })
}

/** Sends these bytes on a connection of their own and answers what comes first. */
export async function send(port: number, bytes: string | Buffer): Promise<Heard> {
  const socket = await connectTo(port)
  socket.on('error', () => undefined)
  const heard = hear(socket)
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  const answer = await heard
  socket.destroy()
  return answer
}

/** RFC 9112: by its length, in chunks, or until the connection ends. */
function parseAnswer(text: string, ended: boolean): Heard | undefined {
  const split = text.indexOf('\r\n\r\n')
  if (split < 0) return undefined
  const [statusLine = '', ...lines] = text.slice(0, split).split('\r\n')
  // An interim answer (RFC 9110, section 15.2): the one that counts is still to come.
  if (/^HTTP\/1\.1 1\d\d/.test(statusLine)) return parseAnswer(text.slice(split + 4), ended)
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(`${statusLine} `)?.[1])
  const headers = new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const body = bodyOf(text.slice(split + 4), headers, ended)
  return body === undefined ? undefined : { is: 'answer', status, headers, ...body }
}

function bodyOf(text: string, headers: ReadonlyMap<string, string>, ended: boolean) {
  const length = headers.get('content-length')
  if (length !== undefined) {
    const bytes = Number(length)
    return text.length >= bytes ? { body: text.slice(0, bytes), rest: text.slice(bytes) } : undefined
  }
  if (headers.get('transfer-encoding') !== 'chunked') return ended ? { body: text, rest: '' } : undefined
  return chunksOf(text)
}

/** RFC 9112, section 7.1; undefined while the last chunk is missing. */
function chunksOf(text: string) {
  let body = ''
  let at = 0
  while (true) {
    const line = text.indexOf('\r\n', at)
    const size = Number.parseInt(text.slice(at, line), 16)
    const next = line + 2 + size + 2
    if (line < 0 || Number.isNaN(size) || text.length < next) return undefined
    if (size === 0) return { body, rest: text.slice(next) }
    body += text.slice(line + 2, line + 2 + size)
    at = next
  }
}
