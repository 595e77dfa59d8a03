import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { type RealApiServer, startRealApiServer } from '../contract/backends/real-api-server.ts'
import { type Admin, type Anything, adminOf } from '../contract/kube.ts'
import { answerOf, releaseOf } from '../contract/tenant.ts'
import { succeed } from '../control-plane/command.ts'
import { readPage } from '../docs/blocks.ts'
import { ciSystems } from '../helpers/ci-claims.ts'
import { AUDIENCE, pathOf, rolesOf, SYSTEMS } from '../helpers/ci-place.ts'
import { type RunningEntry, startEntry } from '../helpers/entry.ts'
import { type OidcIssuer, startIssuer } from '../helpers/oidc-issuer.ts'
import { type Followed, follow } from './follow.ts'

/** The pages about CI and curl, in front of a real kube-apiserver with its own RBAC. */

const page = await readPage('docs/callers/ci-oidc.md')
const CREDENTIALS = '/apis/core.cozystack.io/v1alpha1/namespaces/tenant-acme/credentials'
const WEB = `${CREDENTIALS}/postgres-orders.web`

let folder: string
let api: RealApiServer
let admin: Admin
let issuer: OidcIssuer
let entry: RunningEntry

/** The three configurations of the page in one file. */
const configOf = (more: object = {}) => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AuthenticationConfiguration',
  jwt: SYSTEMS.flatMap((system) => parse(page.blocks(`${system}-config`).join('')).jwt).map(
    (entry: Anything) => ({ ...entry, issuer: { ...entry.issuer, ...more } }),
  ),
})

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mintonce-ci.'))
  const ofApiServer = join(folder, 'kube-apiserver.yaml')
  await writeFile(ofApiServer, stringify(configOf()))
  // It refuses to start with one that is wrong. The issuers themselves are not reached from here.
  api = await startRealApiServer({ apiServerFlags: [`--authentication-config=${ofApiServer}`] })
  admin = adminOf(api.admin)
  const metadata = { name: 'tenant-acme' }
  await admin.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata })
  const releases = '/apis/helm.toolkit.fluxcd.io/v2/namespaces/tenant-acme/helmreleases'
  await admin.create(releases, releaseOf('Postgres', 'orders', { users: { web: {} } }))

  issuer = await startIssuer(api.plane)
  const ofFunction = join(folder, 'mintonce.yaml')
  await writeFile(ofFunction, stringify(configOf({ certificateAuthority: api.plane.ca })))
  entry = await startEntry(api, {
    MINTONCE_AUTHENTICATION_CONFIG_FILE: ofFunction,
    MINTONCE_KEY_SET_URLS: SYSTEMS.map((system) => `${ciSystems[system].issuer}=${issuer.url}/keys`).join(
      ' ',
    ),
  })
})
afterAll(async () => {
  await entry?.stop()
  issuer?.stop()
  await api?.stop()
  await rm(folder, { recursive: true, force: true })
})

const call = async (token: string, path: string, method = 'POST') =>
  answerOf(
    await fetch(`http://127.0.0.1:${entry.port}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}` },
    }),
  )

describe('the roles of docs/callers/ci-oidc.md', () => {
  test('are accepted as they stand', async () => {
    for (const object of rolesOf(page)) {
      await admin.create(`${pathOf(object)}?dryRun=All&fieldValidation=Strict`, object)
      await admin.create(pathOf(object), object)
    }
  })

  test.each(SYSTEMS)('%s: they allow the job of the page one account, and others nothing', async (system) => {
    const { issuer: iss, claims, others } = ciSystems[system]
    const sign = (more: object = {}) => issuer.sign({ ...claims, iss, aud: AUDIENCE, ...more })
    expect((await call(await sign(), `${WEB}/mint`)).status).toBe(201)
    expect((await call(await sign(), CREDENTIALS, 'GET')).status).toBe(200)
    expect((await call(await sign(), `${WEB}/revoke`)).status).toBe(403)
    for (const [who, changed, code] of others) {
      expect((await call(await sign(changed), `${WEB}/mint`)).status, who).toBe(code)
    }
    expect((await call(await sign({ aud: 'https://vault.example.com' }), `${WEB}/mint`)).status).toBe(401)
  })
})

describe('ServiceAccounts', () => {
  const called = (path: string, ...more: readonly string[]) =>
    `curl -sS -H "$(cat "$AUTH")" ${more.join(' ')} http://127.0.0.1:${entry.port}${path}`
  /** What the page prints, as one JSON document. */
  async function run(followed: Followed, heading: string): Promise<Anything> {
    try {
      const output = await followed.run(heading, 'cluster')
      return JSON.parse(output.slice(output.indexOf('{')))
    } finally {
      await followed.remove()
    }
  }

  test('a runner in the cluster mints with a token for the function', async () => {
    const mints = called(`${WEB}/mint`, '-X POST')
    const followed = await follow('docs/callers/ci-oidc.md', api.plane, (block) => `${block}\n${mints}`)
    await writeFile(join(followed.folder, 'who-may.yaml'), page.blocks('rbac').join(''))
    const { status } = await run(followed, 'Runners in the cluster')
    expect(status.password).toMatch(/^[A-Za-z0-9]{32}$/)
    expect(entry.output()).toContain('"user":"system:serviceaccount:tenant-acme:orders-deployer"')
    expect(entry.output()).not.toContain(status.password)
  })

  test('without the audience its token is refused, with the command that gets the right one', async () => {
    const token = await api.plane.tokenOf('tenant-acme', 'orders-deployer')
    const { status, body } = await call(token, `${WEB}/mint`)
    expect(status).toBe(401)
    expect(body.message).toContain('--audience mintonce')
  })

  test('the token of docs/callers/curl.md is one that the function takes', async () => {
    await succeed(api.plane.binaries.kubectl, [
      ...['--kubeconfig', api.plane.kubeconfig, '-n', 'tenant-acme'],
      ...['create', 'serviceaccount', 'pipeline'],
    ])
    await admin.create('/apis/rbac.authorization.k8s.io/v1/namespaces/tenant-acme/rolebindings', {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'pipeline' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'mintonce:view' },
      subjects: [{ kind: 'ServiceAccount', name: 'pipeline', namespace: 'tenant-acme' }],
    })
    const lists = called(CREDENTIALS)
    const followed = await follow('docs/callers/curl.md', api.plane, (block) => `${block}\n${lists}`)
    const { items } = await run(followed, 'The token, in a file')
    expect(items.map(({ metadata }: Anything) => metadata.name)).toEqual(['postgres-orders.web'])
  })
})
