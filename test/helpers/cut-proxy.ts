import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Somebody on the wire between a client and a server on this machine, who can cut it. */
export interface CutProxy {
  readonly port: number
  /** Connections that were ever made. */
  readonly connections: () => number
  /** The next thing that the server sends back is lost, and its connection with it. Answers when that has happened. */
  readonly cutNextAnswer: () => Promise<void>
  readonly stop: () => Promise<void>
}

export async function startCutProxy(port: number): Promise<CutProxy> {
  const sockets = new Set<Socket>()
  let connections = 0
  let cut: (() => void) | undefined
  const server = createServer((client) => {
    connections += 1
    const upstream = connect(port, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket
        .on('error', () => undefined)
        .once('close', () => {
          sockets.delete(socket)
          client.destroy()
          upstream.destroy()
        })
    }
    client.pipe(upstream)
    upstream.on('data', (chunk: Buffer) => {
      if (cut === undefined) {
        client.write(chunk)
        return
      }
      cut()
      cut = undefined
      client.destroy()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    cutNextAnswer: () =>
      new Promise((resolve) => {
        cut = resolve
      }),
    stop: async () => {
      const closed = once(server.close(), 'close')
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
