import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createHttpsClient } from '../../src/k8s/node-https.ts'
import type { Admin } from '../contract/kube.ts'
import { type Authority, createAuthority, type KeyPair } from '../control-plane/certificates.ts'
import { createOf, newRelease, wireOf } from '../helpers/admission.ts'
import type { ApiProxy } from '../helpers/api-proxy.ts'
import type { RunningEntry } from '../helpers/entry.ts'
import { type ProxiedApi, startProxiedApi } from '../helpers/proxied-api.ts'

const VALIDATE = '/admission/validate'
const SECRET = '/api/v1/namespaces/tenant-acme/secrets/postgres-billing.web.account'
const SOON = { interval: 200, timeout: 20_000 }

let folder: string
let serving: Authority
let webhooks: Authority
let others: Authority
let certificate: KeyPair

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mintonce-admission.'))
  ;[serving, webhooks, others] = (await Promise.all(
    ['serving', 'webhooks', 'others'].map((name) => createAuthority(folder, name)),
  )) as [Authority, Authority, Authority]
  certificate = await serving.serverFor(['localhost'])
})
afterAll(() => rm(folder, { recursive: true }))

let proxied: ProxiedApi
let admin: Admin
let between: ApiProxy

beforeEach(async () => {
  proxied = await startProxiedApi()
  ;({ admin, between } = proxied)
  await admin.create('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'tenant-acme' },
  })
})
afterEach(() => proxied.stop())

interface Both extends RunningEntry {
  readonly admissionPort: number
}

async function start(settings: Readonly<Record<string, string>> = {}): Promise<Both> {
  const entry = await proxied.start({
    MINTONCE_TLS_CERT_FILE: certificate.certFile,
    MINTONCE_TLS_KEY_FILE: certificate.keyFile,
    MINTONCE_ADMISSION_PORT: '0',
    ...settings,
  })
  // It is there before the main port is: whoever is ready answers webhooks.
  const [, port] = /"event":"admission_listening".*?"port":(\d+)/.exec(entry.output()) ?? []
  return { ...entry, admissionPort: Number(port) }
}

async function ask(port: number, path: string, body?: object, client?: KeyPair) {
  const { fetch, close } = createHttpsClient(`https://localhost:${port}`, {
    ca: await readFile(serving.certFile),
    ...(client && { cert: await readFile(client.certFile), key: await readFile(client.keyFile) }),
  })
  const init = body && {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json' },
  }
  const answer = await fetch(new Request(`https://localhost${path}`, init))
  const text = await answer.text()
  close()
  return { status: answer.status, body: JSON.parse(text.startsWith('{') ? text : 'null') }
}

const review = () => wireOf(createOf(newRelease('Postgres', 'billing', { users: { web: {} } })))

describe('two listeners', () => {
  test('webhooks are answered on the one, and not there on the other', async () => {
    const { port, admissionPort } = await start()
    expect(await ask(admissionPort, VALIDATE, review())).toMatchObject({
      status: 200,
      body: { response: { allowed: true } },
    })
    expect(await admin.find(SECRET)).toMatchObject({ type: 'kubernetes.io/basic-auth' })
    for (const path of [VALIDATE, '/admission/mutate']) {
      expect((await ask(port, path, review())).status, path).toBe(404)
    }
    const ours = [
      '/livez',
      '/readyz',
      '/version',
      '/apis',
      '/apis/core.cozystack.io/v1alpha1',
      '/tick',
      '/events',
    ]
    for (const path of ours) expect((await ask(admissionPort, path)).status, path).toBe(404)
    expect((await ask(port, '/livez')).status).toBe(200)
  })

  test('a review that is under way is answered when the process ends', async () => {
    const { admissionPort, stop } = await start({ MINTONCE_DRAIN_SECONDS: '1' })
    const letGo = between.hold((call) => call.endsWith('/secrets'))
    const asked = ask(admissionPort, VALIDATE, review())
    await expect
      .poll(() => between.calls().some((call) => call.startsWith('POST') && call.endsWith('/secrets')))
      .toBe(true)
    const stopped = stop()
    letGo()
    expect(await asked).toMatchObject({ status: 200, body: { response: { allowed: true } } })
    await stopped
    expect(await admin.find(SECRET)).toBeDefined()
  })

  test('an API server that does not answer is a refusal in time, and its name is said', async () => {
    const { admissionPort } = await start({
      MINTONCE_KUBE_TIMEOUT_SECONDS: '1',
      MINTONCE_DEADLINE_SECONDS: '5',
    })
    const letGo = between.hold((call) => call.includes('/applicationdefinitions'))
    const { status, body } = await ask(admissionPort, VALIDATE, review())
    letGo()
    expect({ status, allowed: body.response.allowed }).toEqual({ status: 200, allowed: false })
    expect(body.response.status).toMatchObject({
      code: 504,
      message: expect.stringContaining('ApplicationDefinitions'),
    })
  })
})

describe('with a client CA', () => {
  test('whoever shows no certificate of it is refused, and nothing is read or written', async () => {
    const { port, admissionPort } = await start({ MINTONCE_ADMISSION_CLIENT_CA_FILE: webhooks.certFile })
    const [own, foreign] = await Promise.all([
      webhooks.clientFor('kube-apiserver'),
      others.clientFor('kube-apiserver'),
    ])
    const before = between.calls().length
    expect((await ask(admissionPort, VALIDATE, review())).status).toBe(401)
    expect((await ask(admissionPort, VALIDATE, review(), foreign)).status).toBe(401)
    // A serving certificate of that CA is for servers (RFC 5280, section 4.2.1.12).
    expect(
      (await ask(admissionPort, VALIDATE, review(), await webhooks.serverFor(['kube-apiserver']))).status,
    ).toBe(401)
    expect(between.calls()).toHaveLength(before)
    expect(await ask(admissionPort, VALIDATE, review(), own)).toMatchObject({
      body: { response: { allowed: true } },
    })
    expect((await ask(port, '/livez')).status).toBe(200)
  })

  test('one that is replaced counts without a restart', async () => {
    const file = join(folder, 'client-ca.crt')
    await copyFile(webhooks.certFile, file)
    const { admissionPort } = await start({ MINTONCE_ADMISSION_CLIENT_CA_FILE: file })
    const [old, renewed] = await Promise.all([
      webhooks.clientFor('kube-apiserver'),
      others.clientFor('kube-apiserver'),
    ])
    const statusFor = async (client: KeyPair) => (await ask(admissionPort, VALIDATE, review(), client)).status
    expect([await statusFor(old), await statusFor(renewed)]).toEqual([200, 401])
    await copyFile(others.certFile, file)
    await expect.poll(() => statusFor(renewed), SOON).toBe(200)
    expect(await statusFor(old)).toBe(401)
  })

  test.each<[string, () => string, string]>([
    ['that is not there', () => join(folder, 'nothing.crt'), 'nothing.crt cannot be read'],
    ['that holds none', () => certificate.keyFile, 'has no certificate in PEM'],
  ])('%s the process does not start', async (_, file, why) => {
    await expect(start({ MINTONCE_ADMISSION_CLIENT_CA_FILE: file() })).rejects.toThrow(why)
  })
})
