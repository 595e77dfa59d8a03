import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { noMetrics } from '../../src/core/metrics.ts'
import { createServices } from '../../src/services.ts'
import type { Anything } from '../contract/kube.ts'
import { type ControlPlane, startControlPlane } from '../control-plane/start.ts'
import { callApp } from '../helpers/call-app.ts'
import { danglingRefs } from '../helpers/openapi.ts'
import { registerApiService, SERVICE_HOST } from './api-service.ts'
import { eventually } from './eventually.ts'

const GROUP = 'credentials.cozystack.io'
const VERSION = `/apis/${GROUP}/v1alpha1`
const OURS = 'io.cozystack.credentials.v1alpha1.'
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** What kube-apiserver asked the function, and what it got. */
interface Exchange {
  readonly path: string
  readonly accept: string | null
  readonly status: number
  readonly type: string | null
}

let plane: ControlPlane
let server: Server
const exchanges: Exchange[] = []

beforeAll(async () => {
  plane = await startControlPlane()
  server = await serveFunction()
  await registerApiService(plane, (server.address() as AddressInfo).port, GROUP)
})
afterAll(async () => {
  server?.closeAllConnections()
  server?.close()
  await plane?.stop()
})

/** The function over TLS. Discovery asks the Kubernetes API nothing, and everybody may read it. */
async function serveFunction(): Promise<Server> {
  const services = createServices(await readConfig({ MINTONCE_API_GROUP: GROUP }), {
    deps: {
      now: () => Date.now(),
      randomBytes: (length) => new Uint8Array(randomBytes(length)),
      log: () => undefined,
      metrics: noMetrics,
    },
    kube: () => Promise.reject(new Error('discovery asks the Kubernetes API')),
    getFor: () => () => Promise.reject(new Error('no issuer is configured')),
    instance: 'discovery',
  })
  const app = createApp(services)
  const { certFile, keyFile } = await plane.serverCertificateFor([SERVICE_HOST, 'localhost'])
  const listener = getRequestListener(
    async (request) => {
      const answer = await callApp(app, request)
      exchanges.push({
        path: new URL(request.url).pathname,
        accept: request.headers.get('accept'),
        status: answer.status,
        type: answer.headers.get('content-type'),
      })
      return answer
    },
    { overrideGlobalObjects: false },
  )
  const https = createServer({ cert: await readFile(certFile), key: await readFile(keyFile) }, listener)
  await new Promise<void>((resolve) => {
    https.listen(0, '127.0.0.1', resolve)
  })
  return https
}

async function kubectl(args: readonly string[], stdin?: string): Promise<string> {
  const { code, stdout, stderr } = await plane.kubectl(args, stdin)
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`)
  return stdout
}

const ask = (path: string, accept = 'application/json'): Promise<Response> =>
  plane.adminFetch(new Request(`${plane.url}${path}`, { headers: { Accept: accept } }))

const read = async (path: string, accept?: string): Promise<Anything> => (await ask(path, accept)).json()

describe('kube-apiserver', () => {
  test('AGG-01: takes the aggregated document over, and asks again with its hash', async () => {
    const ours = async () =>
      (await read('/apis', AGGREGATED)).items.find(({ metadata }: Anything) => metadata.name === GROUP)
    await eventually('the group is in the aggregated document', async () => (await ours()) !== undefined)
    expect((await ours()).versions).toEqual([
      {
        version: 'v1alpha1',
        freshness: 'Current',
        resources: [
          expect.objectContaining({
            resource: 'credentials',
            verbs: ['get', 'list'],
            responseKind: { group: GROUP, version: 'v1alpha1', kind: 'Credential' },
            subresources: [
              expect.objectContaining({ subresource: 'mint', verbs: ['create'] }),
              expect.objectContaining({ subresource: 'revoke', verbs: ['create'] }),
            ],
          }),
          expect.objectContaining({
            resource: 'helmreleases',
            subresources: [expect.objectContaining({ subresource: 'sync', verbs: ['create'] })],
          }),
        ],
      },
    ])
    const asked = exchanges.filter(({ path }) => path === '/apis')
    expect(asked[0]).toMatchObject({ status: 200, type: AGGREGATED })
    expect(asked[0]?.accept).toContain(AGGREGATED)

    // A changed APIService makes the aggregator look again.
    await kubectl(['annotate', 'apiservice', `v1alpha1.${GROUP}`, 'looked-at=again'])
    await eventually('it was not modified', async () =>
      exchanges.some(({ path, status }) => path === '/apis' && status === 304),
    )
    expect((await ours()).versions[0].freshness).toBe('Current')
  })

  test('lists the group for those who ask without aggregation', async () => {
    const { groups } = JSON.parse(await kubectl(['get', '--raw', '/apis']))
    const version = { groupVersion: `${GROUP}/v1alpha1`, version: 'v1alpha1' }
    expect(groups).toContainEqual({ name: GROUP, versions: [version], preferredVersion: version })
  })

  test('AGG-03: merges the OpenAPI document with its own, and breaks and renames nothing', async () => {
    const merged = async () => read('/openapi/v2')
    await eventually('the calls are in /openapi/v2', async () =>
      Object.keys((await merged()).paths).some((path) => path.startsWith(VERSION)),
    )
    const document = await merged()
    const { definitions, paths } = document
    expect(Object.keys(paths).filter((path) => path.startsWith(VERSION))).toHaveLength(5)
    expect(Object.keys(definitions)).toContain(`${OURS}Credential`)
    expect(Object.keys(definitions).filter((name) => /_v\d+$/.test(name))).toEqual([])
    expect(danglingRefs(document)).toEqual([])
    // Its parser for protobuf takes no field that OpenAPI does not have.
    const protobuf = await ask('/openapi/v2', 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf')
    expect(protobuf.status).toBe(200)
    expect(Buffer.from(await protobuf.arrayBuffer()).includes(`${OURS}Credential`)).toBe(true)
  })

  test('AGG-03: passes the OpenAPI 3 document on, by its hash', async () => {
    const key = `apis/${GROUP}/v1alpha1`
    const index = async () => (await read('/openapi/v3')).paths[key]
    await eventually('the group is in /openapi/v3', async () => (await index()) !== undefined)
    const document = await ask((await index()).serverRelativeURL)
    expect(document.headers.get('cache-control')).toContain('immutable')
    const { components }: Anything = await document.json()
    expect(components.schemas[`${OURS}CredentialRequest`].description).toContain('CONTAINS THE PASSWORD')
    const other = await ask(`/openapi/v3/${key}?hash=OTHER`)
    expect(other.status).toBe(200)
    expect(other.headers.get('cache-control')).not.toContain('immutable')
  })
})

describe('kubectl', () => {
  test('lists the resource', async () => {
    const out = await kubectl(['api-resources', `--api-group=${GROUP}`, '-o', 'wide'])
    expect(
      out
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => line.trim().split(/\s+/)),
    ).toEqual([['credentials', `${GROUP}/v1alpha1`, 'true', 'Credential', 'get,list']])
  })

  test('takes helmreleases for those of Flux, of which ours names a sub-resource only', async () => {
    const out = await kubectl(['get', 'helmreleases', '-A', '-o', 'json'])
    expect(JSON.parse(out)).toMatchObject({ kind: 'List', items: [] })
    expect(await kubectl(['explain', 'helmreleases'])).toContain('GROUP:      helm.toolkit.fluxcd.io')
    expect(
      await kubectl(['auth', 'can-i', 'create', `helmreleases.${GROUP}/x`, '--subresource=sync']),
    ).toContain('yes')
  })

  test.each([
    [['credentials'], ['KIND:       Credential', 'metadata\t<ObjectMeta>', 'never the password']],
    [
      ['credential.status'],
      ['FIELD: status <CredentialStatus>', 'history\t<[]HistoryEntry>', 'newest first'],
    ],
    [
      ['credentials.status.history', `--api-version=${GROUP}/v1alpha1`],
      ['FIELD: history <[]HistoryEntry>', 'operation\t<string>', 'enum: Create, Migrate, Mint, Revoke'],
    ],
    [
      ['credentials.spec.application', '--output=plaintext-openapiv2'],
      ['apiGroup\t<string>', 'such as Postgres'],
    ],
    [
      ['credentials', '--recursive'],
      ['impersonator\t<string>', 'labels\t<map[string]string>'],
    ],
  ])('explains %j', async (args, lines) => {
    const out = await kubectl(['explain', ...args])
    for (const line of lines) expect(out).toContain(line)
    expect(out).not.toContain('<no description>')
    expect(out).not.toContain('<empty>')
  })

  test('AGG-03: creates other objects with validation on', async () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'validated' } }
    await kubectl(['create', '--validate=strict', '-f', '-'], JSON.stringify(namespace))
    const wrong = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, dat: {} }
    const { code, stderr } = await plane.kubectl(['create', '-f', '-'], JSON.stringify(wrong))
    expect(code).toBe(1)
    expect(stderr).toContain('unknown field "dat"')
  })

  test('AGG-06: deletes a namespace, which nothing of ours holds up', async () => {
    await kubectl(['create', 'namespace', 'short-lived'])
    await kubectl(['-n', 'short-lived', 'create', 'configmap', 'x'])
    await kubectl(['delete', 'namespace', 'short-lived', '--timeout=60s'])
    expect((await ask('/api/v1/namespaces/short-lived')).status).toBe(404)
    // The namespace controller has asked for nothing but what discovery lists: that is, nothing of ours.
    expect(exchanges.filter(({ path }) => path.startsWith(`${VERSION}/`))).toEqual([])
  })
})
