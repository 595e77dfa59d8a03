import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Agent, request as httpsRequest } from 'node:https'
import { text } from 'node:stream/consumers'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createHttpsClient } from '../../src/k8s/node-https.ts'
import { type Admin, type Anything, adminOf } from '../contract/kube.ts'
import { createAuthority, type KeyPair } from '../control-plane/certificates.ts'
import { type ApiProxy, startApiProxy } from '../helpers/api-proxy.ts'
import { type Aggregated, GROUP, startAggregated } from './aggregated.ts'
import { type AggregatedTenant, createAggregatedTenant } from './aggregated-tenant.ts'

const CREDENTIAL = 'postgres-orders.web'
const SOON = { interval: 10, timeout: 20_000 }

let aggregated: Aggregated
let between: ApiProxy
let admin: Admin
let acme: AggregatedTenant
let other: AggregatedTenant
let jane: KeyPair

beforeAll(async () => {
  aggregated = await startAggregated(async ({ plane }) => {
    between = await startApiProxy(createHttpsClient(plane.url, { ca: plane.ca }).fetch)
    return { MINTONCE_KUBE_URL: between.url }
  })
  const { plane } = aggregated
  admin = adminOf(plane.adminFetch)
  acme = await createAggregatedTenant(aggregated, 'tenant-acme')
  other = await createAggregatedTenant(aggregated, 'tenant-other')
  for (const tenant of [acme, other]) await tenant.release('Postgres', 'orders', { users: { web: {} } })
  jane = await plane.clientCertificateFor('jane', [])
})
afterAll(async () => {
  await aggregated?.stop()
  await between?.stop()
})

interface Sent {
  readonly client?: KeyPair
  /** Names and values in turn, as they stand on the wire. */
  readonly headers?: readonly string[]
  readonly method?: string
  readonly path?: string
  readonly body?: string
  /** Undefined: kube-apiserver's. */
  readonly port?: number
  readonly signal?: AbortSignal
}

/** A request as it is written, to kube-apiserver or to the function's own port. */
async function send({ client, headers = [], method = 'POST', path, body = '{}', port, signal }: Sent) {
  const { plane } = aggregated
  const agent = new Agent({
    ca: plane.ca,
    ...(client && { cert: await readFile(client.certFile), key: await readFile(client.keyFile) }),
  })
  const request = httpsRequest({
    host: 'localhost',
    port: port ?? new URL(plane.url).port,
    path: path ?? acme.path(CREDENTIAL, 'mint'),
    method,
    agent,
    headers: ['Host', 'localhost', 'Content-Length', String(Buffer.byteLength(body)), ...headers],
    ...(signal && { signal }),
  })
  request.end(body)
  const [response] = await once(request, 'response')
  const answer = { status: response.statusCode as number, text: await text(response) }
  agent.destroy()
  return answer
}

const secretOf = async (tenant: AggregatedTenant): Promise<Anything> =>
  admin.find(`/api/v1/namespaces/${tenant.namespace}/secrets/${CREDENTIAL}.account`)
const versionOf = async (tenant: AggregatedTenant): Promise<string | undefined> =>
  (await secretOf(tenant))?.metadata.resourceVersion
const historyOf = async (tenant: AggregatedTenant): Promise<readonly Anything[]> =>
  JSON.parse((await secretOf(tenant))?.metadata.annotations['credentials.cozystack.io/history'] ?? '[]')

const FORGED = ['X-Remote-User', 'admin', 'X-Remote-Group', 'system:masters']

describe('FPX-01: straight to the function', () => {
  test.each<[string, () => Promise<KeyPair | undefined>]>([
    ['without a certificate', async () => undefined],
    ['with a certificate that signed itself', () => createAuthority(aggregated.plane.folder, 'self')],
    [
      'with a certificate of the cluster, in the name of the proxy',
      () => aggregated.plane.clientCertificateFor('front-proxy-client', []),
    ],
    [
      'with the certificate of an administrator',
      () => aggregated.plane.clientCertificateFor('admin', ['system:masters']),
    ],
    [
      'with a certificate of the right authority in another name',
      () => aggregated.plane.requestHeader.clientFor('somebody'),
    ],
  ])('forged headers %s are nobody’s', async (_how, certificate) => {
    const client = await certificate()
    const before = await versionOf(acme)
    const answer = await send({ port: aggregated.entry.port, headers: FORGED, ...(client && { client }) })
    expect(answer).toMatchObject({ status: 401 })
    expect(await versionOf(acme)).toBe(before)
  })

  test('they take nothing from and add nothing to a token', async () => {
    const account = { metadata: { name: 'bob', namespace: acme.namespace } }
    await admin.create(`/api/v1/namespaces/${acme.namespace}/serviceaccounts`, account)
    const token = await aggregated.api.tokenOf(acme.namespace, 'bob')
    const headers = [...FORGED, 'Authorization', `Bearer ${token}`]
    const answer = await send({ port: aggregated.entry.port, headers })
    expect(answer.status).toBe(403)
    expect(answer.text).toContain('User \\"system:serviceaccount:tenant-acme:bob\\"')
  })

  test('the proxy’s own certificate is believed, and names who it likes', async () => {
    const { clientCertFile: certFile, clientKeyFile: keyFile } = aggregated.plane.requestHeader
    const client = { certFile, keyFile }
    const path = acme.path(CREDENTIAL, 'mint')
    const answer = await send({
      port: aggregated.entry.port,
      client,
      path,
      headers: ['X-Remote-User', 'jane'],
    })
    expect(answer.status).toBe(201)
    const nobody = await send({
      port: aggregated.entry.port,
      client,
      path,
      headers: ['X_Remote_User', 'jane'],
    })
    expect(nobody.status).toBe(401)
  })
})

describe('through the aggregator', () => {
  test('a caller’s own identity headers name nobody, in any spelling', async () => {
    const headers = [
      ...FORGED,
      'X_Remote_User',
      'admin',
      'X_Remote_Group',
      'system:masters',
      'X-Remote-Extra-A',
      'b',
    ]
    expect(await send({ client: jane, headers })).toMatchObject({ status: 201 })
    expect((await historyOf(acme))[0]).toMatchObject({ by: 'jane' })
    expect((await historyOf(acme))[0]).not.toHaveProperty('impersonator')
    const bob = await aggregated.plane.clientCertificateFor('bob', [])
    expect(await send({ client: bob, headers })).toMatchObject({ status: 403 })
  })

  test('FPX-04: a group with commas is one group, and makes nobody a member of another', async () => {
    const group = 'cn=dba,ou=people'
    await acme.bindRole(group, [{ apiGroups: [GROUP], resources: ['credentials'], verbs: ['list'] }], 'Group')
    const path = `/apis/${GROUP}/v1alpha1/namespaces/tenant-acme/credentials`
    const list = (client: KeyPair) => send({ client, method: 'GET', path, body: '' })
    const { plane } = aggregated
    expect(await list(await plane.clientCertificateFor('ann', [group]))).toMatchObject({ status: 200 })
    // `acme-dba` may list.
    expect(await list(await plane.clientCertificateFor('eve', ['x, acme-dba', 'x,acme-dba']))).toMatchObject({
      status: 403,
    })
  })

  test('names beyond ASCII are the same name everywhere', async () => {
    await acme.bindRole('Jürgen', [
      { apiGroups: [GROUP], resources: ['credentials/mint'], verbs: ['create'] },
    ])
    const client = await aggregated.plane.clientCertificateFor('Jürgen', [])
    expect(await send({ client })).toMatchObject({ status: 201 })
    expect((await historyOf(acme))[0]).toMatchObject({ by: 'Jürgen' })
  })

  test('FPX-06: somebody in four hundred groups mints', async () => {
    const groups = Array.from({ length: 400 }, (_, i) => `cn=group-${i},ou=databases,dc=example`)
    const rules = [{ apiGroups: [GROUP], resources: ['credentials/mint'], verbs: ['create'] }]
    await acme.bindRole(groups[399] ?? '', rules, 'Group')
    const client = await aggregated.plane.clientCertificateFor('gerd', groups)
    expect(await send({ client })).toMatchObject({ status: 201 })
    expect((await historyOf(acme))[0]).toMatchObject({ by: 'gerd' })
  })

  test('white space before "system:masters" makes nobody master anywhere', async () => {
    const client = await aggregated.plane.clientCertificateFor('mallory', [' system:masters'])
    expect(await send({ client })).toMatchObject({ status: 403 })
  })

  test.each([
    ['encoded slashes', '..%2f..%2f..%2f..%2ftenant-other/credentials/postgres-orders.web/mint'],
    ['double encoding', '..%252f..%252ftenant-other/credentials/postgres-orders.web/mint'],
    ['encoded dots', '%2e%2e/%2e%2e/%2e%2e/%2e%2e/tenant-other/credentials/postgres-orders.web/mint'],
    ['segments at the end', 'more/segments'],
    ['a slash at the end', ''],
    ['a backslash', '..%5c..%5c..%5c..%5ctenant-other'],
    ['a semicolon', ';/../../../../tenant-other/credentials/postgres-orders.web/mint'],
  ])('%s in the path reach no other namespace', async (_what, tail) => {
    const path = `${acme.path(CREDENTIAL, 'mint')}/${tail}`
    const before = [await versionOf(acme), await versionOf(other)]
    // She may mint in the first one only: kube-apiserver authorises what it reads in the path.
    const mia = await minterIn(acme)
    const answer = await send({ client: mia, path })
    // 301: Go's mux cleans what has dot segments in the clear; 400 or 403: refused by the function or by kube-apiserver.
    expect([301, 307, 400, 403, 404]).toContain(answer.status)
    expect(answer.text).not.toContain('"password"')
    expect([await versionOf(acme), await versionOf(other)]).toEqual(before)
  })

  test.each(['Idempotency-Key', 'X-Idempotency-Key', 'idempotency-key'])(
    '%s is refused before anything is read',
    async (name) => {
      const before = await versionOf(acme)
      const answer = await send({ client: jane, headers: [name, '1'] })
      expect(answer).toMatchObject({ status: 400, text: expect.stringContaining('is not supported') })
      expect(await versionOf(acme)).toBe(before)
    },
  )

  test('who expects a 100 is answered, and audited, with what came of it', async () => {
    const body = JSON.stringify({ spec: { preconditions: { resourceVersion: '1' } } })
    const headers = ['Expect', '100-continue', 'Content-Type', 'application/json']
    expect(await send({ client: jane, headers, body })).toMatchObject({ status: 409 })
    await expect.poll(() => aggregated.plane.auditLog(), SOON).toMatch(/"subresource":"mint".*"code":409/)
    expect(await aggregated.plane.auditLog()).not.toMatch(/"subresource":"mint".*"code":100/)
  })

  test('an upgrade mints nothing', async () => {
    const before = await versionOf(acme)
    const headers = ['Connection', 'Upgrade', 'Upgrade', 'websocket']
    const answer = await send({ client: jane, headers })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(await versionOf(acme)).toBe(before)
  })

  test('a watch, by parameter or by path, is a watch: refused', async () => {
    const path = `/apis/${GROUP}/v1alpha1/namespaces/tenant-acme/credentials?watch=1`
    const admin = await aggregated.plane.clientCertificateFor('root', ['system:masters'])
    expect(await send({ client: admin, method: 'GET', path, body: '' })).toMatchObject({ status: 405 })
    expect(await send({ client: jane, method: 'GET', path, body: '' })).toMatchObject({ status: 403 })
  })
})

let minters = 0
async function minterIn(tenant: AggregatedTenant): Promise<KeyPair> {
  const name = `mia-${++minters}`
  await tenant.bindRole(name, [{ apiGroups: [GROUP], resources: ['*'], verbs: ['*'] }])
  return aggregated.plane.clientCertificateFor(name, [])
}

describe('a connection that is cut while a mint is under way', () => {
  const isRead = (call: string) => call.endsWith('/applicationdefinitions')

  test('by the caller, before the write: nothing is written', async () => {
    const before = await versionOf(acme)
    const goOn = between.hold(isRead)
    const gone = new AbortController()
    const calls = between.calls().length
    const asked = send({ client: jane, signal: gone.signal })
    const cut = expect(asked).rejects.toThrow()
    await expect.poll(() => between.calls().slice(calls).some(isRead), SOON).toBe(true)
    gone.abort()
    await cut
    await expect.poll(aggregated.entry.output, SOON).toContain('caller_gone')
    goOn()
    expect(await versionOf(acme)).toBe(before)
  })

  test('by the caller, on a socket that is torn down', async () => {
    const before = await versionOf(acme)
    const goOn = between.hold(isRead)
    const calls = between.calls().length
    const { plane } = aggregated
    const socket = connect({
      port: Number(new URL(plane.url).port),
      host: 'localhost',
      ca: plane.ca,
      cert: await readFile(jane.certFile),
      key: await readFile(jane.keyFile),
    })
    const gone = aggregated.entry.output().split('caller_gone').length
    socket.write(
      `POST ${acme.path(CREDENTIAL, 'mint')} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}`,
    )
    await expect.poll(() => between.calls().slice(calls).some(isRead), SOON).toBe(true)
    socket.destroy()
    await expect.poll(() => aggregated.entry.output().split('caller_gone').length, SOON).toBeGreaterThan(gone)
    goOn()
    expect(await versionOf(acme)).toBe(before)
  })
})
