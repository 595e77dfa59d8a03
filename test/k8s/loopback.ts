import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer, type ServerOptions } from 'node:https'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'

const run = promisify(execFile)

/** A request as a server read it off the wire. */
interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** The same for requests on one connection. */
  readonly clientPort: number | undefined
}

interface Loopback {
  readonly url: string
  readonly port: number
  readonly received: Received[]
  readonly server: Server
}

type Answer = (request: Received, response: ServerResponse, incoming: IncomingMessage) => void

/** A server on loopback that ends with the test. */
export async function serve(answer: Answer, tls?: ServerOptions, host = '127.0.0.1'): Promise<Loopback> {
  const received: Received[] = []
  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    const body = (await buffer(incoming)).toString()
    const { method = '', url = '', headers, socket } = incoming
    const request = { method, url, headers, body, clientPort: socket.remotePort }
    received.push(request)
    answer(request, response, incoming)
  }
  const server = tls === undefined ? createHttpServer(handle) : createHttpsServer(tls, handle)
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const name = host.includes(':') ? `[${host}]` : host
  return { url: `http${tls === undefined ? '' : 's'}://${name}:${port}`, port, received, server }
}

export const answerJson = (response: ServerResponse, body: unknown, code = 200): void => {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** A folder that ends with the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-k8s.'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

interface Pair {
  readonly cert: string
  readonly key: string
  readonly certFile: string
  readonly keyFile: string
}

interface Authority {
  readonly ca: string
  readonly caFile: string
  /** Valid for `localhost` and 127.0.0.1, as a server and as a client. */
  readonly issue: (commonName: string) => Promise<Pair>
}

/** A certificate authority of its own, in `folder`. */
export async function createAuthority(folder: string, name: string): Promise<Authority> {
  const make = async (
    file: string,
    subject: string,
    extensions: readonly string[],
    signer?: Pair,
  ): Promise<Pair> => {
    const certFile = join(folder, `${file}.crt`)
    const keyFile = join(folder, `${file}.key`)
    await run('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc', '-days', '2'],
      ...['-subj', `/CN=${subject}`, '-out', certFile, '-keyout', keyFile],
      ...(signer === undefined ? [] : ['-CA', signer.certFile, '-CAkey', signer.keyFile]),
      ...extensions.flatMap((extension) => ['-addext', extension]),
    ])
    return { cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8'), certFile, keyFile }
  }
  const root = await make(name, name, ['keyUsage=critical,keyCertSign'])
  return {
    ca: root.cert,
    caFile: root.certFile,
    issue: (commonName) =>
      make(
        `${name}-${commonName}`,
        commonName,
        ['basicConstraints=CA:FALSE', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
        root,
      ),
  }
}

/** A server that does this to a connection once a whole request has arrived on it. */
export async function rawServer(
  react: (socket: Socket) => void,
): Promise<{ url: string; requests: () => string[] }> {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      requests.push(data.toString())
      react(socket)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return { url: `http://127.0.0.1:${port}`, requests: () => requests }
}
