import { once } from 'node:events'

export interface LiveHeap {
  /** MiB that are still reached: what V8 keeps after it was made to look for garbage, and what typed arrays hold beside it. */
  readonly read: () => Promise<number>
  /** A process that somebody debugs does not end. */
  readonly close: () => Promise<void>
}

/** A flag for the process: its output then says where. */
export const INSPECTED = '--inspect=127.0.0.1:0'

/** What a process prints that was started with that. */
const LISTENS = /Debugger listening on (ws:\/\/\S+)/
/** What one collection has found may call back, and so let go of more. */
const COLLECTIONS = 2

/** Asks by the inspector's protocol (https://chromedevtools.github.io/devtools-protocol/v8/). Throws when nobody listens. */
export async function openLiveHeap(output: string): Promise<LiveHeap> {
  const [, url] = LISTENS.exec(output) ?? []
  if (url === undefined) throw new Error(`no inspector: ${output}`)
  const socket = new WebSocket(url)
  await once(socket, 'open')
  let last = 0
  const ask = async (method: string): Promise<Readonly<Record<string, number>>> => {
    last += 1
    // No domain is enabled, so that nothing comes but answers, and each is waited for.
    const answered = once(socket, 'message')
    socket.send(JSON.stringify({ id: last, method }))
    const [{ data }] = await answered
    const { id, result } = JSON.parse(data)
    if (id !== last || result === undefined) throw new Error(`${method}: ${data}`)
    return result
  }
  return {
    read: async () => {
      for (let time = 0; time < COLLECTIONS; time += 1) await ask('HeapProfiler.collectGarbage')
      const { usedSize = Number.NaN, backingStorageSize = 0 } = await ask('Runtime.getHeapUsage')
      return (usedSize + backingStorageSize) / 2 ** 20
    },
    close: async () => {
      const closed = once(socket, 'close')
      socket.close()
      await closed
    },
  }
}
