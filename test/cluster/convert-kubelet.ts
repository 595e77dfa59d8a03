import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ControlPlane } from '../control-plane/start.ts'
import { message, statusMessage } from '../helpers/exec-endpoint.ts'
import { acceptFrames, frameOf } from '../helpers/websocket-frames.ts'

/** A MariaDB as far as the password of its root goes. */
interface PretendMariadb {
  /** As `PASSWORD()` answers it. */
  rootHash: string
  /** How often it was changed to another one. */
  changes: number
}

export interface Kubelet {
  /** To be created before pods that name it. */
  readonly node: object
  /** By `namespace/pod`. */
  readonly engines: Map<string, PretendMariadb>
  readonly stop: () => Promise<void>
}

export const NODE = 'node-1'
const STDIN = 0
const STDOUT = 1
const STDERR = 2
const CLOSE = 255

/** What MariaDB's `PASSWORD()` answers. */
export function nativeHash(password: string): string {
  const once = createHash('sha1').update(password).digest()
  return `*${createHash('sha1').update(once).digest('hex').toUpperCase()}`
}

/**
 * For the kubelet of one node: kube-apiserver hands it commands in pods over WebSocket as they come, because the node
 * says that it takes them (`k8s.io/kubernetes/pkg/registry/core/pod/rest/subresources.go`, ExtendWebSocketsToKubelet).
 * Every container is a client of MariaDB that is given a password and SQL.
 */
export async function startKubelet(plane: ControlPlane): Promise<Kubelet> {
  const { certFile, keyFile } = await plane.serverCertificateFor(['127.0.0.1'])
  const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)])
  const engines = new Map<string, PretendMariadb>()
  const sockets = new Set<Duplex>()
  const server = createServer({ cert, key })
  server.on('upgrade', ({ url = '', headers }, socket: Duplex) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    const [, namespace, pod] = /^\/exec\/([^/]+)\/([^/]+)\/mariadb\?/.exec(url) ?? []
    const engine = engines.get(`${namespace}/${pod}`)
    if (engine === undefined) return void socket.end('HTTP/1.1 404 Not Found\r\n\r\n')
    const [protocol = ''] = String(headers['sec-websocket-protocol']).split(',')
    socket.write(switching(String(headers['sec-websocket-key']), protocol.trim()))
    serve(socket, engine)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    node: { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE }, status: statusOf(port) },
    engines,
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const statusOf = (port: number) => ({
  addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
  daemonEndpoints: { kubeletEndpoint: { Port: port } },
  declaredFeatures: ['ExtendWebSocketsToKubelet'],
})

/** RFC 6455, section 4.2.2. */
function switching(key: string, protocol: string): string {
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
  return [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept}`,
    `Sec-WebSocket-Protocol: ${protocol}`,
    '\r\n',
  ].join('\r\n')
}

/** Does what it is told once all of it is there; whether anybody still listens then is another matter. */
function serve(socket: Duplex, engine: PretendMariadb): void {
  let input = ''
  let isDone = false
  acceptFrames(socket, (bytes) => {
    if (bytes[0] === STDIN) input += bytes.subarray(1).toString()
    if (isDone || !(bytes[0] === CLOSE || input.endsWith('\n\\q\n'))) return
    isDone = true
    const refused = answer(engine, input)
    const said = refused === undefined ? message(STDOUT, 'root@localhost\n') : message(STDERR, refused)
    socket.write(frameOf(said))
    socket.write(frameOf(statusMessage(refused === undefined ? { status: 'Success' } : FAILED)))
    socket.end(frameOf(Buffer.alloc(0), 'close'))
  })
}

const FAILED = {
  status: 'Failure',
  reason: 'NonZeroExitCode',
  details: { causes: [{ reason: 'ExitCode', message: '1' }] },
}

/** What the client complains about. */
function answer(engine: PretendMariadb, input: string): string | undefined {
  const [first = '', ...sql] = input.split('\n')
  if (nativeHash(first.slice(1, -1)) !== engine.rootHash) {
    return "ERROR 1045 (28000): Access denied for user 'root'@'localhost' (using password: YES)\n"
  }
  const [, hash] = /IDENTIFIED BY PASSWORD ''(\*[0-9A-F]{40})''/.exec(sql.join('\n')) ?? []
  if (hash !== undefined && hash !== engine.rootHash) {
    engine.rootHash = hash
    engine.changes += 1
  }
  return undefined
}
