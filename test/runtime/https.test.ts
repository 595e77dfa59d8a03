import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { Agent, request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect, type PeerCertificate, type TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createFrontProxyAuthenticator } from '../../src/auth/front-proxy.ts'
import type { RequestHeaderConfig } from '../../src/auth/request-header.ts'
import { ok } from '../../src/core/result.ts'
import type { Subject } from '../../src/k8s/kube.ts'
import { type Serving, serve } from '../../src/node-server.ts'
import { openTls, type Tls } from '../../src/node-tls.ts'
import { type Authority, createAuthority, type KeyPair } from '../control-plane/certificates.ts'
import { accountSecret } from '../helpers/orders.ts'
import { CREDENTIALS, GROUP, scriptedApp, TOKEN } from '../helpers/scripted-app.ts'

const GET = `${CREDENTIALS}/postgres-orders.web`

let folder: string
let serving: Authority
let proxies: Authority
let newProxies: Authority
let people: Authority
let frontProxy: KeyPair

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mintonce-https.'))
  ;[serving, proxies, newProxies, people] = await Promise.all([
    createAuthority(folder, 'serving'),
    createAuthority(folder, 'proxies'),
    createAuthority(folder, 'new-proxies'),
    createAuthority(folder, 'people'),
  ])
  frontProxy = await proxies.clientFor('front-proxy-client')
})
afterAll(() => rm(folder, { recursive: true }))

interface Running {
  readonly port: number
  readonly tls: Tls
  /** Whom the access reviews were about. */
  readonly asked: Subject[]
  /** Replaces the certificate as the kubelet does: by one rename of a link. */
  readonly mount: (pair: Pick<KeyPair, 'certFile' | 'keyFile'>) => Promise<void>
  /** Replaces the request-header authority, by the files of these. */
  readonly trust: (...authorities: readonly KeyPair[]) => Promise<void>
  readonly logged: string[]
  readonly waitFor: (milliseconds: number) => void
}

let running: Running
let server: Serving
const agents: Agent[] = []

beforeEach(async () => {
  const volume = await mkdtemp(join(folder, 'volume.'))
  const mount = createMount(volume)
  await mount(await serving.serverFor(['localhost']))
  const asked: Subject[] = []
  const logged: string[] = []
  const log = (_level: string, event: string) => logged.push(event)
  let config = await configOf([proxies])
  let late = 0
  const now = () => Date.now() + late
  const tls = await openTls({
    certFile: join(volume, 'tls.crt'),
    keyFile: join(volume, 'tls.key'),
    clientAuthority: () => config.authority,
    now,
    log,
  })
  const { app } = scriptedApp(
    {
      reviewAccess: async (subject) => {
        asked.push(subject)
        return ok(true)
      },
      getSecret: async () => ok(accountSecret()),
    },
    { authenticators: [createFrontProxyAuthenticator({ requestHeader: () => config, log })] },
  )
  server = await serve({
    app,
    group: GROUP,
    port: 0,
    address: '127.0.0.1',
    drainMs: 0,
    log: () => undefined,
    tls,
  })
  running = {
    port: server.port,
    tls,
    asked,
    mount,
    logged,
    trust: async (...authorities) => {
      config = await configOf(authorities)
      await tls.refresh()
    },
    waitFor: (milliseconds) => {
      late += milliseconds
    },
  }
})
afterEach(async () => {
  for (const agent of agents.splice(0)) agent.destroy()
  await server.stop()
})

async function configOf(authorities: readonly KeyPair[]): Promise<RequestHeaderConfig> {
  const pems = await Promise.all(authorities.map(({ certFile }) => readFile(certFile, 'utf8')))
  return {
    authority: pems.join('\n'),
    allowedNames: ['front-proxy-client'],
    usernameHeaders: ['x-remote-user'],
    uidHeaders: ['x-remote-uid'],
    groupHeaders: ['x-remote-group'],
    extraHeaderPrefixes: ['x-remote-extra-'],
  }
}

/** `tls.crt` and `tls.key` behind `..data`, as a volume of a Secret is. */
function createMount(volume: string): Running['mount'] {
  let generation = 0
  return async ({ certFile, keyFile }) => {
    generation += 1
    const name = `..${generation}`
    await mkdir(join(volume, name))
    await copyFile(certFile, join(volume, name, 'tls.crt'))
    await copyFile(keyFile, join(volume, name, 'tls.key'))
    await symlink(name, join(volume, '..tmp'))
    await rename(join(volume, '..tmp'), join(volume, '..data'))
    if (generation > 1) return
    for (const file of ['tls.crt', 'tls.key']) await symlink(join('..data', file), join(volume, file))
  }
}

interface Asked {
  readonly client?: KeyPair
  readonly agent?: Agent
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
}

const JANE = { 'X-Remote-User': 'jane', 'X-Remote-Group': ['dba', 'system:authenticated'] }

async function agentOf(client?: KeyPair, ca: KeyPair = serving): Promise<Agent> {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 1,
    ca: await readFile(ca.certFile),
    ...(client && { cert: await readFile(client.certFile), key: await readFile(client.keyFile) }),
  })
  agents.push(agent)
  return agent
}

/** A request with these headers, each value in a field of its own. */
async function get({ client, agent, headers = JANE }: Asked) {
  const options = {
    port: running.port,
    host: 'localhost',
    path: GET,
    agent: agent ?? (await agentOf(client)),
  }
  const request = httpsRequest({
    ...options,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : [...value]]),
    ),
  })
  request.end()
  const [response] = await once(request, 'response')
  const body = await text(response)
  return {
    status: response.statusCode as number,
    body,
    headers: response.headers,
    socket: request.socket as TLSSocket,
  }
}

async function servedCertificate(): Promise<PeerCertificate> {
  const socket = connect({ port: running.port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const certificate = socket.getPeerCertificate()
  socket.destroy()
  return certificate
}

describe('the front proxy', () => {
  test('is believed by its certificate: the caller is whom it names', async () => {
    expect(await get({ client: frontProxy })).toMatchObject({ status: 200 })
    expect(running.asked).toEqual([
      { username: 'jane', uid: undefined, groups: ['dba', 'system:authenticated'], extra: {} },
    ])
  })

  test('FPX-04: groups with commas stay single groups all the way to the access review', async () => {
    const groups = ['cn=db,ou=x, system:masters', 'system:authenticated']
    await get({ client: frontProxy, headers: { 'X-Remote-User': 'jane', 'X-Remote-Group': groups } })
    expect(running.asked.map((subject) => subject.groups)).toEqual([groups])
  })

  test.each([400, 2500])('FPX-06: %i groups fit', async (length) => {
    const groups = Array.from({ length }, (_, i) => `cn=group-${i},ou=db`)
    await get({ client: frontProxy, headers: { 'X-Remote-User': 'jane', 'X-Remote-Group': groups } })
    expect(running.asked.map((subject) => subject.groups)).toEqual([groups])
  })

  test('an Authorization header beside it is ignored, whatever it holds', async () => {
    for (const authorization of [`Bearer ${TOKEN}`, 'Basic eDp5', 'nonsense']) {
      const answer = await get({ client: frontProxy, headers: { ...JANE, Authorization: authorization } })
      expect(answer.status).toBe(200)
    }
    expect(running.asked.map(({ username }) => username)).toEqual(['jane', 'jane', 'jane'])
  })

  test('is not believed any more when its certificate has run out on a connection that lives on', async () => {
    const agent = await agentOf(frontProxy)
    expect(await get({ agent })).toMatchObject({ status: 200 })
    running.waitFor(3 * 24 * 3600 * 1000)
    expect(await get({ agent })).toMatchObject({ status: 401 })
  })

  test('cannot resume a session: every connection shows its certificate', async () => {
    const [cert, key] = await Promise.all([readFile(frontProxy.certFile), readFile(frontProxy.keyFile)])
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const options = {
        port: running.port,
        host: '127.0.0.1',
        rejectUnauthorized: false,
        cert,
        key,
        maxVersion,
      }
      const first = connect(options)
      let session: Buffer | undefined
      first.on('session', (given: Buffer) => {
        session = given
      })
      first.write(`GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
      await text(first)
      const { cert: _, key: __, ...bare } = options
      const second = connect({ ...bare, ...(session && { session }) })
      await once(second, 'secureConnect')
      expect(second.isSessionReused(), maxVersion).toBe(false)
      second.destroy()
    }
  })
})

describe('FPX-01: the same headers mean nothing', () => {
  const forged = { 'X-Remote-User': 'admin', 'X-Remote-Group': 'system:masters' }

  test.each<[string, () => Promise<KeyPair | undefined>]>([
    ['without a certificate', async () => undefined],
    ['with a certificate that signed itself', () => createAuthority(folder, 'self')],
    [
      'with a certificate of another authority, in the right name',
      () => people.clientFor('front-proxy-client'),
    ],
    ['with a certificate of the serving authority', () => serving.clientFor('front-proxy-client')],
    [
      'with a certificate of the right authority in another name',
      () => proxies.clientFor('admin', ['system:masters']),
    ],
    ['with a serving certificate of the right authority', () => proxies.serverFor(['front-proxy-client'])],
  ])('%s', async (_how, certificate) => {
    const client = await certificate()
    expect(await get({ ...(client && { client }), headers: forged })).toMatchObject({ status: 401 })
    expect(running.asked).toEqual([])
    // A token counts as it always does, and for its own holder only.
    const headers = { ...forged, Authorization: `Bearer ${TOKEN}` }
    expect(await get({ ...(client && { client }), headers })).toMatchObject({ status: 200 })
    expect(running.asked).toMatchObject([{ username: 'jane@example.org', groups: [] }])
  })

  test('with underscores, behind the real proxy too', async () => {
    const headers = { X_Remote_User: 'admin', X_Remote_Group: 'system:masters' }
    expect(await get({ client: frontProxy, headers })).toMatchObject({ status: 401 })
    await get({ client: frontProxy, headers: { ...JANE, ...headers } })
    expect(running.asked).toMatchObject([{ username: 'jane', groups: ['dba', 'system:authenticated'] }])
  })
})

describe('a front proxy whose authority has others between itself and the proxy', () => {
  test('is believed, as long as the authority is the one that the handshake was checked with', async () => {
    const intermediate = await createIntermediate(proxies)
    const agent = await agentOf(await intermediate.clientFor('front-proxy-client'))
    expect(await get({ agent })).toMatchObject({ status: 200 })
    expect(await get({ agent })).toMatchObject({ status: 200 })
    await running.trust(newProxies)
    expect(await get({ agent })).toMatchObject({ status: 401, headers: { connection: 'close' } })
  })

  test('is not when it was made by another authority', async () => {
    const intermediate = await createIntermediate(people)
    const client = await intermediate.clientFor('front-proxy-client')
    expect(await get({ client })).toMatchObject({ status: 401 })
  })

  /** An authority that another one has signed, and whose certificates come with its own behind them. */
  async function createIntermediate(root: Authority): Promise<Pick<Authority, 'clientFor'>> {
    const intermediate = await createAuthority(folder, `intermediate-${Math.random()}`, root)
    return {
      clientFor: async (user) => {
        const leaf = await intermediate.clientFor(user)
        const chain = `${leaf.certFile}.chain`
        await writeFile(
          chain,
          (await readFile(leaf.certFile, 'utf8')) + (await readFile(intermediate.certFile, 'utf8')),
        )
        return { certFile: chain, keyFile: leaf.keyFile }
      },
    }
  }
})

test('who runs it can read in the log why a proxy is not believed', async () => {
  await get({ client: await people.clientFor('front-proxy-client') })
  expect(running.logged).toEqual(['client_certificate_untrusted'])
  await get({ client: await proxies.clientFor('somebody') })
  expect(running.logged).toEqual(['client_certificate_untrusted', 'front_proxy_not_allowed'])
})

test('an upgrade is refused before anything is asked: the proxy would lose the answer', async () => {
  const headers = { ...JANE, Connection: 'Upgrade', Upgrade: 'websocket' }
  expect(await get({ client: frontProxy, headers })).toMatchObject({
    status: 400,
    body: expect.stringContaining('Upgrade is not supported'),
  })
  expect(running.asked).toEqual([])
})

describe('FPX-03: the authority of the front proxy is replaced', () => {
  test('the new one counts at once, on new connections', async () => {
    const renewed = await newProxies.clientFor('front-proxy-client')
    expect(await get({ client: renewed })).toMatchObject({ status: 401 })
    await running.trust(newProxies)
    expect(await get({ client: renewed })).toMatchObject({ status: 200 })
  })

  test('the old one counts only while it is listed, on connections that live on too', async () => {
    const agent = await agentOf(frontProxy)
    expect(await get({ agent })).toMatchObject({ status: 200 })
    await running.trust(newProxies, proxies)
    expect(await get({ agent })).toMatchObject({ status: 200 })
    await running.trust(newProxies)
    expect(await get({ agent })).toMatchObject({ status: 401 })
  })

  test('what became trusted after the handshake counts from the next one on, and there is one at once', async () => {
    const agent = await agentOf(await newProxies.clientFor('front-proxy-client'))
    const early = await get({ agent })
    expect(early).toMatchObject({ status: 401, headers: { connection: 'close' } })
    await running.trust(newProxies)
    expect(await get({ agent })).toMatchObject({ status: 200, headers: { connection: 'keep-alive' } })
  })
})

test('an authority that is no certificate inside its PEM believes nobody, and the server goes on', async () => {
  const agent = await agentOf(frontProxy)
  const broken = { certFile: join(folder, 'broken.crt'), keyFile: '' }
  await writeFile(broken.certFile, '-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n')
  expect(await get({ agent })).toMatchObject({ status: 200 })
  await running.trust(broken)
  expect(await get({ agent })).toMatchObject({ status: 401 })
  expect(await get({ client: frontProxy })).toMatchObject({ status: 401 })
  await running.trust(proxies)
  expect(await get({ client: frontProxy })).toMatchObject({ status: 200 })
})

describe('AGG-10: the serving certificate is replaced', () => {
  test('new handshakes get the new one, and connections live on', async () => {
    const agent = await agentOf(frontProxy)
    const before = await get({ agent })
    const first = await servedCertificate()
    await running.mount(await serving.serverFor(['localhost']))
    await running.tls.refresh()
    const second = await servedCertificate()
    expect(second.fingerprint256).not.toBe(first.fingerprint256)
    const after = await get({ agent })
    expect(after.status).toBe(200)
    expect(after.socket).toBe(before.socket)
  })

  test('while certificate and key do not belong together, the old pair goes on', async () => {
    const first = await servedCertificate()
    const renewed = await serving.serverFor(['localhost'])
    const another = await serving.serverFor(['localhost'])
    for (const pair of [
      { certFile: renewed.certFile, keyFile: another.keyFile },
      { certFile: renewed.keyFile, keyFile: renewed.keyFile },
    ]) {
      await running.mount(pair)
      await running.tls.refresh()
      expect((await servedCertificate()).fingerprint256).toBe(first.fingerprint256)
    }
    expect(running.logged).toEqual(['serving_certificate_unread', 'serving_certificate_unread'])
    await running.mount(renewed)
    await running.tls.refresh()
    expect((await servedCertificate()).fingerprint256).not.toBe(first.fingerprint256)
  })
})

test('a pair that cannot be used at the start is named', async () => {
  const missing = { certFile: join(folder, 'none.crt'), keyFile: join(folder, 'none.key') }
  const options = { ...missing, clientAuthority: () => undefined, now: () => 0, log: () => undefined }
  await expect(openTls(options)).rejects.toThrow(
    `no serving certificate: ${missing.certFile}, ${missing.keyFile}: ENOENT`,
  )
  // Of two types, so that OpenSSL alone would keep both.
  const rsa = join(folder, 'rsa.key')
  await promisify(execFile)('openssl', ['genpkey', '-algorithm', 'RSA', '-out', rsa])
  await expect(openTls({ ...options, certFile: frontProxy.certFile, keyFile: rsa })).rejects.toThrow(
    'no serving certificate',
  )
  const mismatched = { certFile: frontProxy.certFile, keyFile: people.keyFile }
  await expect(openTls({ ...options, ...mismatched })).rejects.toThrow('no serving certificate')
})

test('what is no TLS, or an old one, ends at the handshake', async () => {
  const old = connect({
    port: running.port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    maxVersion: 'TLSv1.1',
    minVersion: 'TLSv1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  })
  const [error] = await once(old, 'error')
  expect(error).toBeInstanceOf(Error)
  expect(await get({ client: frontProxy })).toMatchObject({ status: 200 })
})
