import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { acceptFrames, fragmentsOf, frameOf } from './websocket-frames.ts'

interface ExecRequest {
  readonly namespace: string
  readonly pod: string
  readonly container: string
  readonly command: readonly string[]
  readonly authorization: string | undefined
  readonly protocol: string
}

/** What the endpoint does with a request: a program that it runs, a status instead of 101, or messages that it sends as they are. */
type Reaction =
  | { readonly run: readonly [program: string, ...args: readonly string[]] }
  | { readonly refuse: number }
  | { readonly send: readonly Buffer[]; readonly hangUp?: boolean }
  /** The same messages in fragments, and each of these in pieces as a network cuts them. */
  | { readonly dribble: readonly Buffer[] }

interface EndpointOptions {
  readonly react: (request: ExecRequest) => Reaction
  /** What it speaks, as kube-apiserver before and since 1.30. */
  readonly protocols?: readonly string[]
  readonly tls?: ServerOptions
}

export interface ExecEndpoint {
  readonly url: string
  readonly requests: readonly ExecRequest[]
  readonly stop: () => Promise<void>
}

const STDIN = 0
const STDOUT = 1
const STDERR = 2
const STATUS = 3
const CLOSE = 255

/** A message of the protocol: the number of a channel, and what is said on it. */
export const message = (channel: number, text: string): Buffer =>
  Buffer.concat([Buffer.of(channel), Buffer.from(text)])

export const statusMessage = (status: object): Buffer => message(STATUS, JSON.stringify(status))

/**
 * `pods/exec` as kube-apiserver serves it over WebSocket (`k8s.io/apimachinery/pkg/util/httpstream/wsstream`): binary
 * messages whose first byte is the channel, 0 to 2 the streams and 3 the status; in `v5.channel.k8s.io` (KEP-4006) 255 ends a stream.
 */
export async function startExecEndpoint({
  react,
  protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'],
  tls,
}: EndpointOptions): Promise<ExecEndpoint> {
  const requests: ExecRequest[] = []
  const sockets = new Set<Duplex>()
  const server: Server = tls === undefined ? createServer() : createTlsServer(tls)
  server.on('upgrade', (incoming, socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    const request = requestOf(incoming, protocols)
    requests.push(request)
    const reaction = react(request)
    if ('refuse' in reaction) return void socket.end(`HTTP/1.1 ${reaction.refuse} No\r\n\r\n`)
    socket.write(handshake(incoming, request.protocol))
    if ('run' in reaction) return serve(socket, reaction.run)
    if ('dribble' in reaction) return void dribble(socket, reaction.dribble)
    for (const each of reaction.send) socket.write(frameOf(each))
    if (reaction.hangUp) socket.end(() => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    requests,
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function requestOf({ url = '', headers }: IncomingMessage, protocols: readonly string[]): ExecRequest {
  const { pathname, searchParams } = new URL(url, 'http://endpoint')
  const [, namespace = '', pod = ''] =
    /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/exec$/.exec(pathname) ?? []
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim())
  return {
    namespace,
    pod,
    container: searchParams.get('container') ?? '',
    command: searchParams.getAll('command'),
    authorization: headers.authorization,
    protocol: offered.find((each) => protocols.includes(each)) ?? '',
  }
}

/** RFC 6455, section 4.2.2. */
function handshake({ headers }: IncomingMessage, protocol: string): string {
  const key = `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
  const accept = createHash('sha1').update(key).digest('base64')
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept}`,
    `Sec-WebSocket-Protocol: ${protocol}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}

function serve(socket: Duplex, [program, ...args]: readonly [string, ...(readonly string[])]): void {
  const child = spawn(program, args, { stdio: 'pipe' })
  child.stdin.on('error', () => {})
  child.stdout.on('data', (chunk: Buffer) => socket.write(frameOf(Buffer.concat([Buffer.of(STDOUT), chunk]))))
  child.stderr.on('data', (chunk: Buffer) => socket.write(frameOf(Buffer.concat([Buffer.of(STDERR), chunk]))))
  child.once('close', (code) => {
    socket.write(frameOf(statusMessage(statusOf(code ?? -1))))
    socket.end(frameOf(Buffer.alloc(0), 'close'))
  })
  socket.once('close', () => child.kill())
  acceptFrames(socket, (bytes) => {
    if (bytes[0] === STDIN) child.stdin.write(bytes.subarray(1))
    if (bytes[0] === CLOSE && bytes[1] === STDIN) child.stdin.end()
  })
}

async function dribble(socket: Duplex, messages: readonly Buffer[]): Promise<void> {
  const bytes = Buffer.concat(messages.map((each) => fragmentsOf(each, 5)))
  for (let at = 0; at < bytes.length && !socket.destroyed; at += 3) {
    await new Promise((resolve) => socket.write(bytes.subarray(at, at + 3), resolve))
    await nextTurn()
  }
}

/** As kubelet says it (`k8s.io/kubelet/pkg/cri/streaming/remotecommand/exec.go`). */
const statusOf = (code: number): object =>
  code === 0
    ? { metadata: {}, status: 'Success' }
    : {
        metadata: {},
        status: 'Failure',
        reason: 'NonZeroExitCode',
        message: `command terminated with non-zero exit code: exit status ${code}`,
        details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
      }
