import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createHttpsClient } from '../../src/k8s/node-https.ts'
import type { Admin } from '../contract/kube.ts'
import { type Authority, createAuthority, type KeyPair } from '../control-plane/certificates.ts'
import type { ApiProxy } from '../helpers/api-proxy.ts'
import type { RunningEntry } from '../helpers/entry.ts'
import { type ProxiedApi, startProxiedApi } from '../helpers/proxied-api.ts'

const CONFIG_MAPS = '/api/v1/namespaces/kube-system/configmaps'
const PUBLISHED = `${CONFIG_MAPS}/extension-apiserver-authentication`
const SOON = { interval: 50, timeout: 15_000 }

let folder: string
let proxies: Authority
let newProxies: Authority
let people: Authority
let serving: KeyPair

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mintonce-front-proxy.'))
  ;[proxies, newProxies, people] = await Promise.all([
    createAuthority(folder, 'proxies'),
    createAuthority(folder, 'new-proxies'),
    createAuthority(folder, 'people'),
  ])
  serving = await people.serverFor(['localhost'])
})
afterAll(() => rm(folder, { recursive: true }))

let proxied: ProxiedApi
let admin: Admin
let between: ApiProxy

beforeEach(async () => {
  proxied = await startProxiedApi()
  ;({ admin, between } = proxied)
})
afterEach(() => proxied.stop())

const pem = (of: readonly KeyPair[]) =>
  Promise.all(of.map(({ certFile }) => readFile(certFile, 'utf8'))).then((each) => each.join(''))

async function published(more: Readonly<Record<string, string>> = {}) {
  const data = {
    'client-ca-file': await pem([people]),
    'requestheader-client-ca-file': await pem([proxies]),
    'requestheader-allowed-names': '["front-proxy-client"]',
    'requestheader-username-headers': '["X-Remote-User"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
    ...more,
  }
  const metadata = { name: 'extension-apiserver-authentication', namespace: 'kube-system' }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }
}

const start = () =>
  proxied.start({
    MINTONCE_TLS_CERT_FILE: serving.certFile,
    MINTONCE_TLS_KEY_FILE: serving.keyFile,
    MINTONCE_FRONT_PROXY: 'on',
    MINTONCE_REQUEST_HEADER_MAX_AGE_SECONDS: '1',
  })

/** Asks the function over TLS, with this client certificate. */
async function ask({ port }: RunningEntry, path: string, client?: KeyPair, headers = {}) {
  const { fetch, close } = createHttpsClient(`https://localhost:${port}`, {
    ca: await pem([people]),
    ...(client && { cert: await readFile(client.certFile), key: await readFile(client.keyFile) }),
  })
  const answer = await fetch(new Request(`https://localhost${path}`, { headers }))
  const text = await answer.text()
  close()
  return { status: answer.status, text }
}

const LIST = '/apis/core.cozystack.io/v1alpha1/namespaces/tenant-acme/credentials'
/** 403: the function believes that it is jane who asks, and RBAC knows nothing of her. */
const statusFor = async (entry: RunningEntry, client: KeyPair): Promise<number> =>
  (await ask(entry, LIST, client, { 'X-Remote-User': 'jane' })).status

describe('FPX-01: front-proxy mode does not start', () => {
  test.each<[string, () => Promise<Readonly<Record<string, string>> | undefined>, RegExp]>([
    ['when nothing is published', async () => undefined, /requestheader-client-ca-file: is empty/],
    [
      'when every name is allowed',
      async () => ({ 'requestheader-allowed-names': '[]' }),
      /allowed-names: is empty/,
    ],
    [
      'when the authority also signs the certificates of people',
      async () => ({ 'client-ca-file': await pem([people, proxies]) }),
      /is also in client-ca-file/,
    ],
  ])('%s', async (_when, more, why) => {
    const values = await more()
    if (values !== undefined) await admin.create(CONFIG_MAPS, await published(values))
    const started = start()
    await expect(started).rejects.toThrow(why)
    await expect(started).rejects.toThrow('ConfigMap kube-system/extension-apiserver-authentication')
  })
})

test('FPX-03: an authority that is replaced counts within the time that is set, without a restart', async () => {
  await admin.create(CONFIG_MAPS, await published())
  const entry = await start()
  const [old, renewed] = await Promise.all(
    [proxies, newProxies].map((each) => each.clientFor('front-proxy-client')),
  )
  if (old === undefined || renewed === undefined) throw new Error('no certificates')
  expect(await Promise.all([old, renewed].map((each) => statusFor(entry, each)))).toEqual([403, 401])

  const replace = async (authorities: readonly KeyPair[]) => {
    const bundle = await pem(authorities)
    await admin.change(PUBLISHED, ({ data }) => {
      data['requestheader-client-ca-file'] = bundle
    })
  }
  await replace([newProxies, proxies])
  await expect.poll(() => statusFor(entry, renewed), SOON).toBe(403)
  expect(await statusFor(entry, old)).toBe(403)
  await replace([newProxies])
  await expect.poll(() => statusFor(entry, old), SOON).toBe(401)
  expect(await statusFor(entry, renewed)).toBe(403)
})

test('what becomes dangerous later is not believed any more, and the process is not ready', async () => {
  await admin.create(CONFIG_MAPS, await published())
  const entry = await start()
  const client = await proxies.clientFor('front-proxy-client')
  expect(await ask(entry, '/readyz')).toMatchObject({ status: 200 })
  expect(await statusFor(entry, client)).toBe(403)
  await admin.change(PUBLISHED, ({ data }) => {
    data['requestheader-allowed-names'] = '[]'
  })
  await expect.poll(() => statusFor(entry, client), SOON).toBe(401)
  expect(await ask(entry, '/readyz')).toEqual({
    status: 503,
    text: 'not ready: the request-header CA is not loaded\n',
  })
  expect(entry.output()).toContain('request_header_refused')
})

test('RUN-05: an API server that is away at the start: alive, not ready, and ready when it comes', async () => {
  await admin.create(CONFIG_MAPS, await published())
  await between.leave()
  const entry = await start()
  expect(await ask(entry, '/livez')).toMatchObject({ status: 200 })
  expect(await ask(entry, '/apis/core.cozystack.io/v1alpha1')).toMatchObject({ status: 200 })
  const client = await proxies.clientFor('front-proxy-client')
  expect(await statusFor(entry, client)).toBe(401)
  expect(await ask(entry, '/readyz')).toMatchObject({
    status: 503,
    text: expect.stringContaining('request-header CA is not loaded'),
  })
  await between.comeBack()
  await expect.poll(async () => (await ask(entry, '/readyz')).status, SOON).toBe(200)
  expect(await statusFor(entry, client)).toBe(403)
})
