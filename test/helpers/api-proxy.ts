import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import type { Fetch } from '../../src/core/deps.ts'

/** `POST /api/v1/…`, without the query. */
type Fits = (call: string) => boolean

/** Somebody between a function and its API server: plain HTTP on loopback, every header passed on. */
export interface ApiProxy {
  readonly url: string
  /** Every call that came, in order. */
  readonly calls: () => readonly string[]
  /** From now on calls that fit take so much longer. Answers how to end that. */
  readonly slow: (fits: Fits, milliseconds: number) => () => void
  /** From now on calls that fit wait. Answers how to let them all go on. */
  readonly hold: (fits: Fits) => () => void
  /** Connections are refused, those that are open break. */
  readonly leave: () => Promise<void>
  readonly comeBack: () => Promise<void>
  readonly stop: () => Promise<void>
}

interface Obstacle {
  readonly fits: Fits
  readonly pass: () => Promise<unknown>
}

/** Starts one in front of the server that `fetch` reaches. */
export async function startApiProxy(fetch: Fetch): Promise<ApiProxy> {
  const calls: string[] = []
  const obstacles = new Set<Obstacle>()
  const meet = (obstacle: Obstacle) => {
    obstacles.add(obstacle)
    return () => obstacles.delete(obstacle)
  }
  const pass: Fetch = async (request) => {
    const call = `${request.method} ${new URL(request.url).pathname}`
    calls.push(call)
    for (const obstacle of [...obstacles]) if (obstacle.fits(call)) await obstacle.pass()
    return fetch(request)
  }
  const server = createServer(getRequestListener(pass, { overrideGlobalObjects: false }))
  const listen = async (port: number) => {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  }
  const leave = async () => {
    const closed = once(server.close(), 'close')
    server.closeAllConnections()
    await closed
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    calls: () => calls,
    slow: (fits, milliseconds) => meet({ fits, pass: () => sleep(milliseconds) }),
    hold: (fits) => {
      const gate = Promise.withResolvers<void>()
      const forget = meet({ fits, pass: () => gate.promise })
      return () => {
        forget()
        gate.resolve()
      }
    },
    leave,
    comeBack: () => listen(port),
    stop: async () => {
      if (server.listening) await leave()
    },
  }
}
