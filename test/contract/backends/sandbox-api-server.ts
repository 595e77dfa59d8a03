import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import type { Fetch } from '../../../src/core/deps.ts'
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts'
import { type ApiServer, FUNCTION } from './api-server.ts'
import { formatDefinitions } from './format-definitions.ts'
import { exampleDefinitions, shippedRoles } from './manifests.ts'

const FUNCTION_TOKEN = 'token-of-the-function'

/** The Kubernetes API in memory, for in-process use, and over HTTP on loopback for other processes. */
export async function startSandboxApiServer(): Promise<ApiServer> {
  const written: string[] = []
  const sandbox = createSandbox({
    now: () => Date.now(),
    randomBytes: (length) => new Uint8Array(randomBytes(length)),
    manifests: [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: FUNCTION.namespace } },
      ...(await shippedRoles()),
      ...exampleDefinitions(),
      ...formatDefinitions(),
    ],
  })
  const cleanups: (() => Promise<unknown>)[] = []
  sandbox.addToken(FUNCTION_TOKEN, {
    ...serviceAccount(FUNCTION.namespace, FUNCTION.name),
    audiences: ['api'],
  })

  return {
    admin: sandbox.admin,
    asFunction: recording(sandbox.fetchAs(serviceAccount(FUNCTION.namespace, FUNCTION.name)), written),
    forProcess: async () => {
      const folder = await mkdtemp(join(tmpdir(), 'mintonce-sandbox.'))
      const tokenFile = join(folder, 'token')
      await writeFile(tokenFile, FUNCTION_TOKEN)
      const server = await serveOverHttp(recording(sandbox.fetch, written))
      cleanups.push(
        () => rm(folder, { recursive: true }),
        () => closeServer(server),
      )
      return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, tokenFile }
    },
    tokenOf: async (namespace, name) => issueToken(sandbox, namespace, name),
    stored: async () => written.join('\n'),
    stop: async () => {
      await Promise.all(cleanups.map((clean) => clean()))
    },
  }
}

const serviceAccount = (namespace: string, name: string) => ({
  username: `system:serviceaccount:${namespace}:${name}`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
})

function issueToken(sandbox: Sandbox, namespace: string, name: string): string {
  const token = `token-of-${namespace}-${name}`
  sandbox.addToken(token, { ...serviceAccount(namespace, name), audiences: ['mintonce'] })
  return token
}

/** Keeps every body of a write to a stored object: the sandbox forgets what is replaced. */
const recording =
  (fetch: Fetch, written: string[]): Fetch =>
  async (request) => {
    const isWrite = request.method !== 'GET' && !request.url.includes('reviews')
    if (isWrite) written.push(await request.clone().text())
    return fetch(request)
  }

async function serveOverHttp(fetch: Fetch): Promise<Server> {
  const server = createServer(getRequestListener(fetch, { overrideGlobalObjects: false }))
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return server
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise((resolve) => {
    server.close(resolve)
  })
}
