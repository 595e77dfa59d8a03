import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import type { Fetch } from '../src/core/deps.ts'
import { exampleFunction, exampleTenant, exampleUsers, TENANT } from '../src/sandbox/example.ts'
import { createSandbox } from '../src/sandbox/sandbox.ts'
import { shippedRoles } from '../test/contract/backends/manifests.ts'
import { adminOf } from '../test/contract/kube.ts'
import { createAuthority, type KeyPair } from '../test/control-plane/certificates.ts'
import { onProcessEnd } from '../test/control-plane/daemon.ts'

/** What a process is told of the API server, and who calls it. */
export interface Way {
  readonly url: string
  readonly caFile: string
  readonly tokenFile: string
}

/** The Kubernetes API in memory, served by this process: whoever calls it, it costs the same. */
export interface StartApi {
  readonly plain: Way
  /** The same API over HTTPS. */
  readonly secure: Way
  /** What a process may serve HTTPS with, and the CA that vouches for it. */
  readonly serving: KeyPair
  readonly ca: string
  /** The bearer token of somebody who may mint. It looks like one of a ServiceAccount, as most do. */
  readonly callerToken: string
  readonly namespace: string
  readonly credential: string
  /** `data.password` of the account Secret, decoded. */
  readonly readStored: () => Promise<string>
  /** `METHOD /path` of every call so far. */
  readonly calls: readonly string[]
  /** Users of the same application, for whoever mints a lot. */
  readonly addUsers: (names: readonly string[]) => Promise<void>
  /** Events are never listed here, and would only fill the memory of who serves them. */
  readonly forgetEvents: () => Promise<void>
  readonly stop: () => Promise<void>
}

const CREDENTIAL = 'postgres-orders.web'
const FUNCTION_TOKEN = 'token-of-the-function'

export async function startApi(): Promise<StartApi> {
  const calls: string[] = []
  const callerToken = tokenLikeOne()
  const sandbox = createSandbox({
    now: () => Date.now(),
    randomBytes: (length) => new Uint8Array(randomBytes(length)),
    manifests: [...(await shippedRoles()), ...exampleTenant()],
  })
  for (const { token, ...user } of exampleUsers.filter((each) => each.token === 'tenant-admin'))
    sandbox.addToken(callerToken, user)
  sandbox.addToken(FUNCTION_TOKEN, { ...exampleFunction, audiences: ['api'] })

  const folder = await mkdtemp(join(tmpdir(), 'mintonce-start.'))
  const forget = onProcessEnd(() => rmSync(folder, { recursive: true, force: true }))
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, FUNCTION_TOKEN)
  const authority = await createAuthority(folder, 'ca')
  const serving = await authority.serverFor(['localhost', '127.0.0.1'])
  const [cert, key, ca] = await Promise.all(
    [serving.certFile, serving.keyFile, authority.certFile].map((path) => readFile(path, 'utf8')),
  )
  const listener = getRequestListener(counting(sandbox.fetch, calls), { overrideGlobalObjects: false })
  const servers = [createHttpServer(listener), createHttpsServer({ cert, key }, listener)] as const
  const [port, securePort] = await Promise.all(servers.map(listen))
  const way = { caFile: authority.certFile, tokenFile }
  return {
    plain: { url: `http://127.0.0.1:${port}`, ...way },
    secure: { url: `https://127.0.0.1:${securePort}`, ...way },
    serving,
    ca: ca ?? '',
    callerToken,
    namespace: TENANT,
    credential: CREDENTIAL,
    readStored: () => storedIn(sandbox.admin),
    calls,
    addUsers: (names) => addUsers(sandbox.admin, names),
    forgetEvents: async () => {
      const path = `/apis/events.k8s.io/v1/namespaces/${TENANT}/events`
      await adminOf(sandbox.admin).remove(path)
    },
    stop: async () => {
      await Promise.all(servers.map(close))
      await rm(folder, { recursive: true })
      forget()
    },
  }
}

/** A JSON Web Token (RFC 7519) that nobody verifies. */
function tokenLikeOne(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { iss: 'https://kubernetes.default.svc.cluster.local', aud: ['mintonce'], sub: 'jane' }
  return [part({ alg: 'RS256', kid: 'none' }), part(claims), randomBytes(256).toString('base64url')].join('.')
}

const counting =
  (fetch: Fetch, calls: string[]): Fetch =>
  async (request) => {
    calls.push(`${request.method} ${new URL(request.url).pathname}`)
    return fetch(request)
  }

async function addUsers(admin: Fetch, names: readonly string[]): Promise<void> {
  const path = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${TENANT}/helmreleases/postgres-orders`
  await adminOf(admin).change(path, ({ spec }) => {
    for (const name of names) spec.values.users[name] = {}
  })
}

async function storedIn(admin: Fetch): Promise<string> {
  const path = `/api/v1/namespaces/${TENANT}/secrets/${CREDENTIAL}.account`
  const answer = await admin(new Request(`https://kubernetes.default.svc${path}`))
  const secret = (await answer.json()) as { data?: { password?: string } }
  return Buffer.from(secret.data?.password ?? '', 'base64').toString()
}

const listen = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })

async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise((resolve) => {
    server.close(resolve)
  })
}
