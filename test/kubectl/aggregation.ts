import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { openExample } from '../../src/cli/example.ts'
import { createDeps, originOf, runApp } from '../../src/cli/run-app.ts'
import { readConfig } from '../../src/config.ts'
import { sendOver } from '../../src/k8s/send.ts'

export const GROUP = 'credentials.cozystack.io'
export const TENANT = 'tenant-acme'
export const CREDENTIAL = 'postgres-orders.web'

/** People as kube-apiserver knows them, and whom the function takes them for. */
const PEOPLE: Readonly<Record<string, string>> = {
  'kube-jane': 'tenant-admin',
  'kube-victor': 'tenant-viewer',
}

interface Seen {
  readonly call: string
  readonly rawHeaders: readonly string[]
  readonly body: string
}

/** In place of the function's answer, or after it: `forward` hands the call to the function. */
type Intervention = (response: ServerResponse, forward: () => Promise<Response>) => unknown

export interface Aggregation {
  readonly url: string
  readonly seen: Seen[]
  /** What happens to the next call. */
  readonly next: (intervention: Intervention) => void
  /** A kubeconfig whose current context is that of this person, in the tenant's namespace. */
  readonly kubeconfig: (token?: string) => Promise<string>
  readonly folder: string
  readonly stop: () => Promise<void>
}

/** The sandbox behind a server that plays kube-apiserver: it knows the callers, and nobody else reaches the function. */
export async function startAggregation(): Promise<Aggregation> {
  const config = await readConfig({ PORT: '0', MINTONCE_LOG_LEVEL: 'error', MINTONCE_API_GROUP: GROUP })
  const deps = createDeps(config)
  const rolesFolder = new URL('../../deploy/base/rbac/', import.meta.url)
  const { kube } = await openExample({ deps, rolesFolder, audiences: config.audiences })
  const serving = await runApp(config, { deps, kube: sendOver(kube) })
  const folder = await mkdtemp(join(tmpdir(), 'mintonce-kubectl.'))
  const seen: Seen[] = []
  const interventions: Intervention[] = []

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = (await buffer(request)).toString()
    const { method = '', url = '', rawHeaders, headers } = request
    seen.push({ call: `${method} ${url}`, rawHeaders, body })
    const forward = () => forwarded(`${originOf(serving)}${url}`, method, { headers, body })
    const intervention = interventions.shift()
    if (intervention !== undefined) return intervention(response, forward)
    return pass(response, await forward())
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    seen,
    next: (intervention) => void interventions.push(intervention),
    kubeconfig: async (token = 'kube-jane') => {
      const path = join(folder, `${token}.json`)
      await writeFile(path, JSON.stringify(kubeconfigOf(url, { token })))
      return path
    },
    folder,
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await serving.stop()
      await rm(folder, { recursive: true })
    },
  }
}

/** One cluster, one context `acme` in the tenant's namespace. */
export const kubeconfigOf = (server: string, user: object): object => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'acme', cluster: { server } }],
  users: [{ name: 'jane', user }],
  contexts: [{ name: 'acme', context: { cluster: 'acme', user: 'jane', namespace: TENANT } }],
  'current-context': 'acme',
})

/** Hands an answer on as it is. */
export async function pass(response: ServerResponse, answer: Response): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
}

interface Sent {
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

async function forwarded(url: string, method: string, { headers, body }: Sent): Promise<Response> {
  const [, token = ''] = /^Bearer (.*)$/.exec(headers.authorization ?? '') ?? []
  const caller = PEOPLE[token]
  if (caller === undefined) return statusOf(401, 'Unauthorized', 'Unauthorized')
  return fetch(url, {
    method,
    headers: { authorization: `Bearer ${caller}`, 'content-type': headers['content-type'] ?? '' },
    ...(method === 'GET' ? {} : { body }),
  })
}

export const statusOf = (code: number, reason: string, message: string): Response =>
  Response.json(
    { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code },
    { status: code },
  )
