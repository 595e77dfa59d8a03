import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Fetch } from '../../src/core/deps.ts'
import { inClusterSend } from '../../src/k8s/node-in-cluster.ts'
import { type ControlPlane, startControlPlane } from '../control-plane/start.ts'
import { fetchOver } from '../helpers/fetch-over.ts'
import { eventually } from './eventually.ts'
import { build } from './shipped.ts'

const NAMESPACE = 'tenant-acme'
const SECRETS = `/api/v1/namespaces/${NAMESPACE}/secrets`
const ACCOUNT = 'kubernetes.io/basic-auth'
const TOKEN = 'kubernetes.io/service-account-token'

let plane: ControlPlane
let asAdmin: Client
let asFunction: Client
/** An identity with the same rights, which the policy does not name. */
let asAnother: Client

beforeAll(async () => {
  plane = await startControlPlane()
  await plane.apply(await build('deploy/base', plane))
  await plane.apply(SURROUNDINGS)
  asAdmin = createClient(plane, plane.adminFetch)
  asFunction = createClient(plane, await fetchAs('mintonce'))
  asAnother = createClient(plane, await fetchAs('another'))
  await eventually('the policy is in force', async () => {
    const { status } = await asFunction('POST', `${SECRETS}?dryRun=All`, secret('probe', 'Opaque'))
    return status === 422
  })
})

afterAll(() => plane?.stop())

describe('the function creates', () => {
  test.each([
    ['an account Secret', 'orders.web.account', ACCOUNT],
    ['a CA of an application', 'orders.tenant-ca', 'Opaque'],
  ])('%s', async (_, name, type) => {
    expect(await asFunction('POST', SECRETS, secret(name, type))).toMatchObject({ status: 201 })
  })
})

/** CEL has a budget, and a key is looked for in all of it. */
test('the function creates and changes a CA of as much as a Secret holds', async () => {
  const [root = ''] = rootCertificates
  const full = tenantCa('full', `${root}\n`.repeat(Math.floor(2 ** 20 / (root.length + 1))))
  expect(await asFunction('POST', SECRETS, full)).toMatchObject({ status: 201 })
  const labelled = { ...full, metadata: { ...full.metadata, labels: { a: 'b' } } }
  expect(await asFunction('PUT', `${SECRETS}/full.tenant-ca`, labelled)).toMatchObject({ status: 200 })
})

describe('the function does not create', () => {
  test.each([
    ['a token of another ServiceAccount', 'bait', TOKEN],
    ['such a token under the name of an account Secret', 'bait.account', TOKEN],
    ['an account Secret of another type', 'opaque.account', 'Opaque'],
    ['an account Secret of the default type', 'untyped.account', undefined],
    ['a Secret of the right type and another name', 'web', ACCOUNT],
    ['a Secret whose name only looks like one', 'web-account', ACCOUNT],
    ['a Secret whose name goes on', 'orders.account.web', ACCOUNT],
    ['a CA of another type', 'typed.tenant-ca', ACCOUNT],
    ['a CA under another name', 'orders-ca', 'Opaque'],
    ['a Helm release', 'sh.helm.release.v1.orders.v1', 'helm.sh/release.v1'],
  ])('%s', async (_, name, type) => {
    const answer = await asFunction('POST', SECRETS, secret(name, type))
    expect(answer).toMatchObject({ status: 422, message: expect.stringContaining(WRITES(name, type)) })
    expect(await asAdmin('GET', `${SECRETS}/${name}`)).toMatchObject({ status: 404 })
  })

  test.each([
    ['the key beside the CA', { 'ca.crt': 'Y2E=', 'ca.key': 'a2V5' }],
    ['another key alone', { 'tls.crt': 'Y2E=' }],
  ])('a CA of an application with %s', async (_, data) => {
    const more = { ...secret('more.tenant-ca', 'Opaque'), data }
    const message = expect.stringContaining(
      'mintonce may write nothing but ca.crt into a Secret named *.tenant-ca, and more.tenant-ca would hold more',
    )
    expect(await asFunction('POST', SECRETS, more)).toMatchObject({ status: 422, message })
    expect(await asAnother('POST', `${SECRETS}?dryRun=All`, more)).toMatchObject({ status: 201 })
  })

  test.each(['', ' ', '  '])('a CA with a private key behind its certificates and "%s"', async (space) => {
    const { privateKey } = generateKeyPairSync('ed25519')
    const key = privateKey.export({ format: 'pem', type: 'pkcs8' })
    const keyed = tenantCa('keyed', `${rootCertificates.join('\n')}\n${space}${key}`)
    const message = expect.stringContaining(
      'mintonce may write certificates only into a Secret named *.tenant-ca, and ca.crt of keyed.tenant-ca would hold a private key',
    )
    expect(await asFunction('POST', SECRETS, keyed)).toMatchObject({ status: 422, message })
    expect(await asAdmin('GET', `${SECRETS}/keyed.tenant-ca`)).toMatchObject({ status: 404 })
    expect(await asAnother('POST', `${SECRETS}?dryRun=All`, keyed)).toMatchObject({ status: 201 })
  })

  test('a CA as text that the API server encodes, beside which there is something else', async () => {
    const plain = { ...secret('plain.tenant-ca', 'Opaque'), stringData: { 'ca.key': 'key' } }
    expect(await asFunction('POST', SECRETS, plain)).toMatchObject({ status: 422 })
  })

  test('a Secret whose name is generated', async () => {
    const { name: _, ...metadata } = secret('', ACCOUNT).metadata
    const generated = { ...secret('', ACCOUNT), metadata: { ...metadata, generateName: 'orders.account' } }
    expect(await asFunction('POST', SECRETS, generated)).toMatchObject({ status: 422 })
  })
})

describe('the function changes', () => {
  test('its own Secrets', async () => {
    await asAdmin('POST', SECRETS, secret('changed.web.account', ACCOUNT))
    const changed = { ...secret('changed.web.account', ACCOUNT), data: { password: 'bmV3' } }
    const answer = await asFunction('PUT', `${SECRETS}/changed.web.account`, changed)
    expect(answer).toMatchObject({ status: 200 })
  })

  test.each([
    ["somebody else's Secret", 'foreign', 'Opaque'],
    ["somebody else's token", 'foreign-token', TOKEN],
    ['a Secret of another type that has the name of an account Secret', 'foreign.account', 'Opaque'],
  ])('not %s', async (_, name, type) => {
    await asAdmin('POST', SECRETS, secret(name, type))
    const changed = { ...secret(name, type), data: { password: 'bmV3' } }
    const answer = await asFunction('PUT', `${SECRETS}/${name}`, changed)
    expect(answer).toMatchObject({ status: 422, message: expect.stringContaining(CHANGES(name, type)) })
    expect(await asAnother('PUT', `${SECRETS}/${name}`, changed)).toMatchObject({ status: 200 })
  })

  test('not the type of its own', async () => {
    await asAdmin('POST', SECRETS, secret('retyped.account', ACCOUNT))
    const retyped = secret('retyped.account', TOKEN)
    expect(await asFunction('PUT', `${SECRETS}/retyped.account`, retyped)).toMatchObject({ status: 422 })
    expect(await asAdmin('GET', `${SECRETS}/retyped.account`)).toMatchObject({ type: ACCOUNT })
  })

  test('nothing into a CA but the one key, whatever somebody else has put there', async () => {
    const path = `${SECRETS}/grown.tenant-ca`
    const grown = {
      ...secret('grown.tenant-ca', 'Opaque'),
      data: { 'ca.crt': 'Y2E=', 'ca.key': 'a2V5' },
    }
    await asAdmin('POST', SECRETS, grown)
    expect(
      await asFunction('PUT', path, { ...grown, metadata: { ...grown.metadata, labels: { a: 'b' } } }),
    ).toMatchObject({
      status: 422,
    })
    expect(await asFunction('PUT', path, secret('grown.tenant-ca', 'Opaque'))).toMatchObject({ status: 200 })
  })

  test('nothing by a patch', async () => {
    await asAdmin('POST', SECRETS, secret('patched.account', ACCOUNT))
    const answer = await asFunction('PATCH', `${SECRETS}/patched.account`, { data: { password: 'bmV3' } })
    expect(answer).toMatchObject({ status: 403 })
  })
})

describe('the function deletes', () => {
  test.each([
    ['an account Secret', 'deleted.web.account', ACCOUNT],
    ['a CA of an application', 'deleted.tenant-ca', 'Opaque'],
  ])('%s', async (_, name, type) => {
    await asAdmin('POST', SECRETS, secret(name, type))
    expect(await asFunction('DELETE', `${SECRETS}/${name}`)).toMatchObject({ status: 200 })
    expect(await asAdmin('GET', `${SECRETS}/${name}`)).toMatchObject({ status: 404 })
  })

  test.each([
    ["somebody else's Secret", 'kept', 'Opaque'],
    ['a Secret of another type that has the name of an account Secret', 'kept.account', 'Opaque'],
    ['a Secret of the right type and another name', 'kept-account', ACCOUNT],
  ])('not %s', async (_, name, type) => {
    await asAdmin('POST', SECRETS, secret(name, type))
    const answer = await asFunction('DELETE', `${SECRETS}/${name}`)
    expect(answer).toMatchObject({ status: 422, message: expect.stringContaining(CHANGES(name, type)) })
    expect(await asAnother('DELETE', `${SECRETS}/${name}`)).toMatchObject({ status: 200 })
  })

  test('not all at once', async () => {
    expect(await asFunction('DELETE', SECRETS)).toMatchObject({ status: 403 })
  })
})

test('nobody else is held to it: these rights alone make a token of any ServiceAccount', async () => {
  expect(await asAnother('POST', SECRETS, secret('made', TOKEN))).toMatchObject({ status: 201 })
  await eventually('the token is filled in', async () => {
    const { data } = await asAnother('GET', `${SECRETS}/made`)
    return typeof data === 'object' && data !== null && Object.hasOwn(data, 'token')
  })
})

const WRITES = (name: string, type = 'Opaque') =>
  `mintonce may write only Secrets named *.account of type kubernetes.io/basic-auth and *.tenant-ca of type Opaque, and ${name} would be of type ${type}`

const CHANGES = (name: string, type: string) =>
  `mintonce may change or delete only Secrets named *.account of type kubernetes.io/basic-auth and *.tenant-ca of type Opaque, and ${name} is of type ${type}`

const RBAC = 'rbac.authorization.k8s.io'

const SURROUNDINGS: readonly object[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'victim', namespace: NAMESPACE } },
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'another', namespace: 'mintonce' } },
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'another' },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'mintonce' },
    subjects: [{ kind: 'ServiceAccount', name: 'another', namespace: 'mintonce' }],
  },
]

/** A token Secret is for the ServiceAccount `victim`. What a type must hold is there, so that the policy has the word. */
const secret = (name: string, type: string | undefined) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name,
    namespace: NAMESPACE,
    annotations: type === TOKEN ? { 'kubernetes.io/service-account.name': 'victim' } : {},
  },
  ...(type && { type }),
  data:
    name.endsWith('.tenant-ca') && type === 'Opaque'
      ? { 'ca.crt': 'Y2E=' }
      : { username: 'd2Vi', password: 'b2xk' },
})

const tenantCa = (release: string, value: string) => ({
  ...secret(`${release}.tenant-ca`, 'Opaque'),
  data: { 'ca.crt': Buffer.from(value).toString('base64') },
})

interface Answer {
  readonly status: number
  readonly message?: unknown
  readonly type?: unknown
  readonly data?: unknown
}

type Client = (method: string, path: string, body?: object) => Promise<Answer>

const createClient =
  ({ url }: ControlPlane, fetch: Fetch): Client =>
  async (method, path, body) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const init = { method, ...(body && { body: JSON.stringify(body), headers: { 'content-type': type } }) }
    const response = await fetch(new Request(`${url}${path}`, init))
    return { ...((await response.json()) as object), status: response.status }
  }

/** As a pod of that ServiceAccount. */
async function fetchAs(serviceAccount: string): Promise<Fetch> {
  const tokenFile = join(plane.folder, `${serviceAccount}.token`)
  await writeFile(tokenFile, await plane.tokenOf('mintonce', serviceAccount))
  return fetchOver(inClusterSend({ url: plane.url, caFile: plane.caFile, tokenFile, now: () => Date.now() }))
}
