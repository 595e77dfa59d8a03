import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Anchoring, createAnchoring, SOURCE } from '../contract/anchoring.ts'
import type { Backend } from '../contract/backend.ts'
import { nodeProcess } from '../contract/backends/node-process.ts'
import { startRealApiServer } from '../contract/backends/real-api-server.ts'
import { decode } from '../contract/kube.ts'
import { leaks } from '../contract/passwords.ts'
import { createTenant } from '../contract/tenant.ts'
import { type Authority, createAuthority, type KeyPair } from '../control-plane/certificates.ts'
import { command, type Finished } from '../control-plane/command.ts'
import { bodyLinesOf } from '../helpers/engine-ca.ts'
import { installEngines } from './install.ts'
import { startTlsNginx, type WebServer } from './nginx.ts'
import { type Postgres, startPostgres } from './postgres.ts'

/** A client that has the published Secret and nothing else verifies a real server, and no other. */

const HOSTS = ['localhost', '127.0.0.1']

let backend: Backend
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mintonce-trust-anchor.'))
  backend = await nodeProcess(await startRealApiServer())
})
afterAll(async () => {
  await backend?.stop()
  await rm(folder, { recursive: true, force: true })
})

const tenant = () => createTenant(backend)
const anchoring = () => createAnchoring({ backend: () => backend, tenant })
const authority = (name: string, signer?: KeyPair) => createAuthority(folder, name, signer)

/** What an operator keeps: the authority with its key, and the server's certificate with its key. */
async function keptBy({ certFile, keyFile }: KeyPair, server: KeyPair) {
  const [crt, key, serverCrt, serverKey] = await Promise.all(
    [certFile, keyFile, server.certFile, server.keyFile].map((file) => readFile(file, 'utf8')),
  )
  return { 'ca.crt': crt ?? '', 'ca.key': key ?? '', 'tls.crt': serverCrt ?? '', 'tls.key': serverKey ?? '' }
}

let anchors = 0

/** Has it published, and writes what a tenant can read of it to a file. */
async function publishedBy(acme: Anchoring): Promise<string> {
  const { body } = await acme.publish()
  expect(body.message).toMatch(/^Projected: /)
  const { type, data } = await acme.published()
  expect([type, Object.keys(data)]).toEqual(['Opaque', ['ca.crt']])
  anchors += 1
  const file = join(folder, `anchor-${anchors}.crt`)
  await writeFile(file, decode(data['ca.crt']))
  return file
}

/** A tenant whose engine's operator has left this behind; the file that a client gets. */
async function tenantWith(data: Readonly<Record<string, string>>) {
  const acme = await anchoring()
  await acme.declare()
  await acme.leave(SOURCE, data)
  return { acme, anchor: await publishedBy(acme) }
}

interface Engine {
  readonly ca: Authority
  readonly server: KeyPair
  readonly acme: Anchoring
  readonly anchor: string
}

/** A new authority with a server of its own, published. */
async function engineOf(name: string): Promise<Engine> {
  const ca = await authority(name)
  const server = await ca.serverFor(HOSTS)
  return { ca, server, ...(await tenantWith(await keptBy(ca, server))) }
}

test('of a Secret with the CA, its key and the server’s key, a tenant reads the certificate alone', async () => {
  const { ca, server, acme, anchor } = await engineOf('alone')
  expect(await readFile(anchor, 'utf8')).toBe(await readFile(ca.certFile, 'utf8'))
  const source = await acme.admin.get(`/api/v1/namespaces/${acme.namespace}/secrets/${SOURCE}`)
  const keys = await Promise.all([ca.keyFile, server.keyFile].map((file) => readFile(file, 'utf8')))
  const lines = keys.flatMap(bodyLinesOf)
  const textsOf = ({ data }: { readonly data: Readonly<Record<string, string>> }) =>
    Object.values(data).map(decode).join('\n')
  // They are where the operator has put them, so the search would find them elsewhere.
  expect(leaks(textsOf(source), lines)).not.toEqual([])
  expect(leaks(textsOf(await acme.published()), lines)).toEqual([])
  expect(leaks(backend.logged(), lines)).toEqual([])
})

describe('PostgreSQL', () => {
  let engine: Postgres
  beforeAll(async () => {
    engine = await startPostgres()
  })
  afterAll(() => engine?.stop())

  /** As the page for tenants says, with a password that the function has minted. */
  async function psql(password: string, anchor: string): Promise<Finished> {
    const place = `host=localhost hostaddr=127.0.0.1 port=${engine.port} dbname=postgres user=web`
    const query = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'
    const args = ['-X', '-w', '-At', '-c', query, `${place} sslmode=verify-full sslrootcert=${anchor}`]
    return command(engine.psql, args, { env: { PGPASSWORD: password, PGPASSFILE: '/dev/null', LC_ALL: 'C' } })
  }

  /** A server takes a new certificate over in its own time. */
  async function serve(pair: KeyPair): Promise<void> {
    await engine.serveTls(pair)
    const served = async () => {
      const args = ['s_client', '-starttls', 'postgres', '-connect', `127.0.0.1:${engine.port}`]
      const { stdout } = await command('openssl', args)
      return /-----BEGIN CERTIFICATE-----[^-]*/.exec(stdout)?.[0]
    }
    const [wanted] = /-----BEGIN CERTIFICATE-----[^-]*/.exec(await readFile(pair.certFile, 'utf8')) ?? []
    await expect.poll(served, { timeout: 10_000 }).toBe(wanted)
  }

  test('lets in who verifies it with the published Secret and has the minted password', async () => {
    const { server, acme, anchor } = await engineOf('postgres')
    const another = await engineOf('another')
    await serve(server)
    await acme.release('Postgres', 'orders', { users: { web: {} } })
    const { password } = (await acme.mint('postgres-orders.web')).body.status
    await engine.apply('web', decode((await acme.secret('postgres-orders.web')).data.password))
    expect(await psql(password, anchor)).toMatchObject({ code: 0, stdout: 't\n' })
    expect(await psql(password, another.anchor)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('certificate verify failed'),
    })
    await serve(another.server)
    expect(await psql(password, anchor)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('certificate verify failed'),
    })
    expect(await psql(password, another.anchor)).toMatchObject({ code: 0, stdout: 't\n' })
  })
})

describe('nginx', () => {
  const servers: WebServer[] = []
  const serve = async (pair: KeyPair): Promise<WebServer> => {
    const server = await startTlsNginx(pair)
    servers.push(server)
    return server
  }
  afterAll(() => Promise.all(servers.map(({ stop }) => stop())))

  /** What curl makes of a server: the code of the answer, or its own for what it cannot verify. */
  async function curl({ url }: WebServer, anchor: string): Promise<string> {
    const { curl } = await installEngines()
    const args = [
      '-q',
      '-sS',
      '-o',
      '/dev/null',
      '-w',
      '%{http_code}',
      '--noproxy',
      '*',
      '--cacert',
      anchor,
      url,
    ]
    const { code, stdout } = await command(curl, args)
    return code === 0 ? stdout : `curl ${code}`
  }
  /** CURLE_PEER_FAILED_VERIFICATION. */
  const REFUSED = 'curl 60'

  test('is verified with its own, and not with another’s', async () => {
    const [one, other] = [await engineOf('one'), await engineOf('other')]
    const [first, second] = [await serve(one.server), await serve(other.server)]
    expect(await curl(first, one.anchor)).toBe('204')
    expect(await curl(first, other.anchor)).toBe(REFUSED)
    expect(await curl(second, other.anchor)).toBe('204')
    expect(await curl(second, one.anchor)).toBe(REFUSED)
  })

  test('is verified before, while and after its CA is rotated, by a client that reads the Secret anew', async () => {
    const { ca, server, acme, anchor: before } = await engineOf('old')
    const next = await authority('next')
    const kept = await keptBy(next, await next.serverFor(HOSTS))
    const [old, fresh] = [await serve(server), await serve(await next.serverFor(HOSTS))]
    expect(await curl(old, before)).toBe('204')
    expect(await curl(fresh, before)).toBe(REFUSED)

    // Some operators put the new one in front, with a word about each.
    const both = `# new\r\n${kept['ca.crt'].replaceAll('\n', '\r\n')}# old\n${await readFile(ca.certFile, 'utf8')}`
    await acme.source({ ...kept, 'ca.crt': both })
    const during = await publishedBy(acme)
    expect(await curl(old, during)).toBe('204')
    expect(await curl(fresh, during)).toBe('204')

    await acme.source(kept)
    const after = await publishedBy(acme)
    expect(await curl(old, after)).toBe(REFUSED)
    expect(await curl(fresh, after)).toBe('204')
  })

  test('is verified still, when its source turns bad', async () => {
    const { ca, server, acme, anchor } = await engineOf('bad')
    const nginx = await serve(server)
    expect(await curl(nginx, anchor)).toBe('204')
    const { 'ca.crt': crt, 'ca.key': key } = await keptBy(ca, server)
    for (const value of [crt + key, crt.slice(0, -30), '']) {
      await acme.source({ 'ca.crt': value })
      expect((await acme.publish()).body.message).not.toMatch(/^Projected/)
      expect(decode((await acme.published()).data['ca.crt'])).toBe(await readFile(anchor, 'utf8'))
    }
  })

  test('with a certificate of an intermediate is verified with the chain that is published', async () => {
    const root = await authority('root')
    const middle = await authority('middle', root)
    const server = await middle.serverFor(HOSTS)
    const [kept, above] = [await keptBy(middle, server), await readFile(root.certFile, 'utf8')]
    const nginx = await serve(server)
    const alone = await tenantWith({ ...kept, 'ca.crt': above })
    const chain = await tenantWith({ ...kept, 'ca.crt': kept['ca.crt'] + above })
    // It sends its own alone: the one between has to come from somewhere.
    expect(await curl(nginx, alone.anchor)).toBe(REFUSED)
    expect(await curl(nginx, chain.anchor)).toBe('204')
  })
})
