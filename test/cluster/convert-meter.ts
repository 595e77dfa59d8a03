import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Somebody on the wire who counts what a client sends, whatever it is. */
export interface Meter {
  readonly url: string
  /** Resolves when so many pieces were sent on: of a connection that is kept, one or two for each request. */
  readonly reached: (pieces: number) => Promise<void>
  readonly stop: () => Promise<void>
}

/** In front of a server on this machine. */
export async function startMeter(server: string): Promise<Meter> {
  const { port } = new URL(server)
  const sockets = new Set<Socket>()
  let pieces = 0
  const waiting: { readonly count: number; readonly resolve: () => void }[] = []
  const check = () => {
    for (const { count, resolve } of waiting) if (pieces >= count) resolve()
  }
  const meter = createServer((client) => {
    const upstream = connect(Number(port), '127.0.0.1')
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
    client.on('data', (chunk: Buffer) => {
      upstream.write(chunk)
      pieces += 1
      check()
    })
    upstream.pipe(client)
  })
  await once(meter.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `https://127.0.0.1:${(meter.address() as AddressInfo).port}`,
    reached: (count) =>
      new Promise((resolve) => {
        waiting.push({ count, resolve })
        check()
      }),
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await once(meter.close(), 'close')
    },
  }
}
