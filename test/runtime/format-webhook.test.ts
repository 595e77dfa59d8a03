import { createHmac, pbkdf2Sync } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Backend } from '../contract/backend.ts'
import { inProcess } from '../contract/backends/in-process.ts'
import { nodeProcess } from '../contract/backends/node-process.ts'
import { startSandboxApiServer } from '../contract/backends/sandbox-api-server.ts'
import { adminOf, decode } from '../contract/kube.ts'
import { createSyncing } from '../contract/syncing.ts'
import { createTenant, type Tenant } from '../contract/tenant.ts'
import { misbehaving } from '../helpers/misbehaving.ts'
import { type Running, startProgram } from '../helpers/program.ts'
import { localConfig, withFormatWebhook } from '../helpers/webhook-blocks.ts'
import {
  answering,
  type TestAuthority,
  testAuthority,
  type WebhookServer,
  webhookServer,
} from '../helpers/webhook-server.ts'

const EXAMPLE = join(import.meta.dirname, '../../examples/mongodb-format-webhook/server.ts')
const SETTINGS = { MINTONCE_WEBHOOK_HOSTS: '.svc,localhost' }
const WORDS =
  'Internal error occurred: failed calling webhook "spec.credentials.format.webhook": ApplicationDefinition "liar": '

let authority: TestAuthority
let example: Running
let liar: WebhookServer
let other: WebhookServer
beforeAll(async () => {
  authority = await testAuthority()
  const { certFile, keyFile } = await authority.serverFor(['localhost'])
  example = await startProgram([process.execPath, EXAMPLE], {
    env: { PORT: '0', HOST: '127.0.0.1', TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile },
    ready: /listening on (\d+)/,
  })
  liar = await webhookServer({ certFile, keyFile })
  other = await webhookServer({ certFile, keyFile })
})
afterAll(async () => {
  await Promise.all([example?.stop('SIGTERM'), liar?.stop(), other?.stop()])
  await authority?.remove()
})

describe.each([
  ['in process', inProcess],
  ['as a Node process', nodeProcess],
])('a webhook format, %s', (_, start) => {
  let backend: Backend
  let tenant: Tenant
  beforeAll(async () => {
    backend = await start(await startSandboxApiServer(), SETTINGS)
    const admin = adminOf(backend.admin)
    const ports = { Mongo: Number(example.found[1]), Liar: liar.port }
    for (const [kind, port] of Object.entries(ports)) {
      const credentials = withFormatWebhook({ clientConfig: localConfig(port, authority.caBundle) })
      await admin.create('/apis/cozystack.io/v1alpha1/applicationdefinitions', {
        apiVersion: 'cozystack.io/v1alpha1',
        kind: 'ApplicationDefinition',
        metadata: { name: kind.toLowerCase() },
        spec: { application: { kind, plural: `${kind.toLowerCase()}s`, openAPISchema: '{}' }, credentials },
      })
    }
    tenant = await createTenant(backend)
    await tenant.release('Mongo', 'mongo-shop', { users: { web: {} } })
    await tenant.release('Liar', 'liar-shop', { users: { web: {} } })
  })
  afterAll(() => backend?.stop())

  test('stores the document of the example, and MongoDB would take the password that was shown', async () => {
    const { status, body } = await tenant.mint('mongo-shop.web')
    expect(status).toBe(201)
    const { data } = await tenant.secret('mongo-shop.web')
    const stored = decode(data.password)
    const { 'SCRAM-SHA-256': kept } = JSON.parse(stored)
    const salted = pbkdf2Sync(body.status.password, Buffer.from(kept.salt, 'base64'), 15_000, 32, 'sha256')
    expect(createHmac('sha256', salted).update('Server Key').digest('base64')).toBe(kept.serverKey)
    expect(stored).not.toContain(body.status.password)
    expect(backend.logged()).not.toContain(body.status.password)
    expect(example.output()).not.toContain(body.status.password)
  })

  describe('EXT-01 fails the mint in the words of a failed webhook, with nothing written, when it', () => {
    test.each(misbehaving(() => other.port))('%s', async (_, behaviour, says) => {
      liar.behave(behaviour)
      const before = liar.asked.length
      const { status, headers, body, text } = await tenant.mint('liar-shop.web')
      expect(status).toBe(500)
      expect(headers.has('Retry-After')).toBe(false)
      expect(body).toMatchObject({ kind: 'Status', reason: 'InternalError' })
      expect(body.message).toMatch(says)
      expect(body.message.slice(0, WORDS.length)).toBe(WORDS)
      expect(await tenant.secret('liar-shop.web')).toBeUndefined()
      expect(other.asked).toEqual([])
      const [asked, more] = liar.asked.slice(before)
      expect(more).toBeUndefined()
      const password = String(asked?.request.password)
      expect(password).toMatch(/^[A-Za-z0-9]{32}$/)
      expect(text + backend.logged()).not.toContain(password)
    })

    test('answers the password', async () => {
      liar.behave(answering(({ request }) => ({ value: `{"pwd":"${request.password}"}` })))
      const { status, body } = await tenant.mint('liar-shop.web')
      expect({ status, message: body.message }).toEqual({
        status: 500,
        message: `${WORDS}the value contains the password; the stored password is as it was`,
      })
      expect(await tenant.secret('liar-shop.web')).toBeUndefined()
    })
  })

  test('fails a revoke alike, and keeps what was stored; get and list go on', async () => {
    liar.behave(answering(() => ({ value: 'verifier-of-web' })))
    expect((await tenant.mint('liar-shop.web')).status).toBe(201)
    const before = await tenant.secret('liar-shop.web')
    liar.behave((_, outgoing) => void outgoing.writeHead(503).end())
    const revoked = await tenant.revoke('liar-shop.web')
    expect({ status: revoked.status, message: revoked.body.message }).toEqual({
      status: 500,
      message: `${WORDS}answered 503; the stored password is as it was`,
    })
    expect(await tenant.secret('liar-shop.web')).toEqual(before)
    expect((await tenant.get('liar-shop.web')).status).toBe(200)
    expect((await tenant.list()).status).toBe(200)
  })

  test('fails a sync alike, which then has seeded nothing', async () => {
    const syncing = await createSyncing({ backend: () => backend, tenant: () => createTenant(backend) })
    await syncing.release('Liar', 'liar-new', { users: { web: {} } })
    liar.behave((_, outgoing) => void outgoing.writeHead(503).end())
    const { status, body } = await syncing.sync('liar-new')
    expect({ status, message: body.message }).toEqual({
      status: 500,
      message: `${WORDS}answered 503; the stored password is as it was`,
    })
    expect(await syncing.secret('liar-new.web')).toBeUndefined()
  })

  test('a dry run asks it too, and stores nothing', async () => {
    liar.behave(answering(() => ({ value: 'verifier-of-a-dry-run' })))
    const before = await tenant.secret('liar-shop.web')
    expect((await tenant.mint('liar-shop.web', { query: 'dryRun=All' })).status).toBe(201)
    expect(await tenant.secret('liar-shop.web')).toEqual(before)
  })
})
