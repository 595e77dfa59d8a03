import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { openExample } from '../../src/cli/example.ts'

/** A token of the example tenant whose holder may mint. */
export const ADMIN_TOKEN = 'tenant-admin'
export const EXAMPLE_MINT =
  '/apis/core.cozystack.io/v1alpha1/namespaces/tenant-acme/credentials/postgres-orders.web/mint'

export interface ExampleApiServer {
  readonly url: string
  /** Paths of the calls that were answered, with their methods: `POST /apis/…`. */
  readonly answered: () => readonly string[]
  readonly stop: () => Promise<void>
}

/** The example tenant on loopback, with no credentials asked: `delayMs` says how long the call of a path takes. */
export async function startExampleApiServer(delayMs: (path: string) => number): Promise<ExampleApiServer> {
  const { kube } = await openExample({
    deps: { now: () => Date.now(), randomBytes: (length) => new Uint8Array(randomBytes(length)) },
    rolesFolder: new URL('../../deploy/base/rbac/', import.meta.url),
    audiences: ['mintonce'],
  })
  const answered: string[] = []
  const server = createServer(
    getRequestListener(
      async (request) => {
        const { pathname } = new URL(request.url)
        await new Promise((resolve) => setTimeout(resolve, delayMs(pathname)))
        const answer = await kube(request)
        answered.push(`${request.method} ${pathname}`)
        return answer
      },
      { overrideGlobalObjects: false },
    ),
  )
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answered: () => answered,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => {
        server.close(resolve)
      })
    },
  }
}
