import { expect, test } from 'vitest'
import type { Anything } from '../contract/kube.ts'
import { CREDENTIAL } from '../helpers/orders.ts'
import { CREDENTIALS, GROUP, RELEASE, scriptedApp } from '../helpers/scripted-app.ts'

const V2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const V2_BETA_1 = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList'
const PROTOBUF = 'application/vnd.kubernetes.protobuf'
const VERSION = { groupVersion: `${GROUP}/v1alpha1`, version: 'v1alpha1' }
const CREDENTIAL_KIND = { group: GROUP, version: 'v1alpha1', kind: 'Credential' }
const REQUEST_KIND = { group: GROUP, version: 'v1alpha1', kind: 'CredentialRequest' }
const STATUS_KIND = { group: '', version: 'v1', kind: 'Status' }
const DOCUMENTS = ['/apis', `/apis/${GROUP}`, `/apis/${GROUP}/v1alpha1`]

/** Without credentials, as probes and the aggregator come. */
const ask = async (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') => {
  const { call, called } = scriptedApp()
  const answer = await call(path, { method, headers })
  expect(called()).toEqual([])
  const text = await answer.text()
  const body: Anything = text === '' ? undefined : JSON.parse(text)
  return { status: answer.status, headers: answer.headers, type: answer.headers.get('content-type'), body }
}

/** As `k8s.io/api/apidiscovery/v2` defines it. */
const AGGREGATED = {
  kind: 'APIGroupDiscoveryList',
  apiVersion: 'apidiscovery.k8s.io/v2',
  metadata: {},
  items: [
    {
      metadata: { name: GROUP },
      versions: [
        {
          version: 'v1alpha1',
          freshness: 'Current',
          resources: [
            {
              resource: 'credentials',
              responseKind: CREDENTIAL_KIND,
              scope: 'Namespaced',
              singularResource: 'credential',
              verbs: ['get', 'list'],
              subresources: ['mint', 'revoke'].map((subresource) => ({
                subresource,
                responseKind: REQUEST_KIND,
                acceptedTypes: [REQUEST_KIND],
                verbs: ['create'],
              })),
            },
            // Named because of its sub-resource only: clients leave out what has an empty kind.
            {
              resource: 'helmreleases',
              responseKind: { group: '', version: '', kind: '' },
              scope: 'Namespaced',
              singularResource: '',
              verbs: [],
              subresources: [{ subresource: 'sync', responseKind: STATUS_KIND, verbs: ['create'] }],
            },
          ],
        },
      ],
    },
  ],
}

test.each([
  ['the namespace controller', `${V2},application/json`],
  // `k8s.io/kube-aggregator/pkg/apiserver/handler_discovery.go` and `k8s.io/client-go/discovery`, word for word.
  ['the aggregator', `${V2},${V2_BETA_1}`],
  ['kubectl', `${V2},${V2_BETA_1},application/json`],
  ['the aggregator to its peers', `${V2};profile=nopeer,${V2_BETA_1},application/json`],
  ['somebody who likes it better', `application/json;q=0.5,${V2};q=0.8`],
  ['somebody who knows protobuf', `${PROTOBUF};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,${V2}`],
])('AGG-01: %s gets the aggregated document of /apis', async (_who, accept) => {
  const { status, type, body } = await ask('/apis', { Accept: accept })
  expect(status).toBe(200)
  expect(type).toBe(V2)
  expect(body).toEqual(AGGREGATED)
})

test.each([
  ['nobody in particular', ''],
  ['curl', '*/*'],
  ['an old kubectl', 'application/json, */*'],
  ['who knows protobuf too', `${PROTOBUF},application/json`],
  ['who asks for the version that is gone', `${V2_BETA_1},application/json`],
  ['who likes it better', `${V2};q=0.5,application/json`],
  ['who asks for a Table', 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'],
])('AGG-01: %s gets the groups', async (_who, accept) => {
  const { status, type, body } = await ask('/apis', accept === '' ? {} : { Accept: accept })
  expect(status).toBe(200)
  expect(type).toBe('application/json')
  expect(body).toEqual({
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: [{ name: GROUP, versions: [VERSION], preferredVersion: VERSION }],
  })
})

test.each([PROTOBUF, V2_BETA_1, 'text/html', `${V2};q=0`])(
  'AGG-01: %s alone is a 406 that names what is served',
  async (accept) => {
    const { status, type, body } = await ask('/apis', { Accept: accept })
    expect([status, type]).toEqual([406, 'application/json'])
    expect(body).toMatchObject({ kind: 'Status', reason: 'NotAcceptable', code: 406 })
    expect(body.message).toContain('APIGroupDiscoveryList')
  },
)

test('the group has one version', async () => {
  expect((await ask(`/apis/${GROUP}`)).body).toEqual({
    kind: 'APIGroup',
    apiVersion: 'v1',
    name: GROUP,
    versions: [VERSION],
    preferredVersion: VERSION,
  })
})

test('AGG-06: the version lists its resources and what they can', async () => {
  expect((await ask(`/apis/${GROUP}/v1alpha1`)).body).toEqual({
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: `${GROUP}/v1alpha1`,
    resources: [
      {
        name: 'credentials',
        singularName: 'credential',
        namespaced: true,
        ...CREDENTIAL_KIND,
        verbs: ['get', 'list'],
      },
      { name: 'credentials/mint', singularName: '', namespaced: true, ...REQUEST_KIND, verbs: ['create'] },
      { name: 'credentials/revoke', singularName: '', namespaced: true, ...REQUEST_KIND, verbs: ['create'] },
      { name: 'helmreleases/sync', singularName: '', namespaced: true, ...STATUS_KIND, verbs: ['create'] },
    ],
  })
})

/** How each verb is asked for: of the collection, or of one object. */
const CALLS: Readonly<Record<string, readonly [method: string, path: 'one' | 'all']>> = {
  get: ['GET', 'one'],
  list: ['GET', 'all'],
  create: ['POST', 'all'],
  update: ['PUT', 'one'],
  patch: ['PATCH', 'one'],
  delete: ['DELETE', 'one'],
  deletecollection: ['DELETE', 'all'],
}

test('AGG-06: what is listed is served, and what is not is a 405', async () => {
  const { resources } = (await ask(`/apis/${GROUP}/v1alpha1`)).body
  for (const { name, verbs } of resources) {
    const [, subresource] = name.split('/')
    const one = name.startsWith('helmreleases/') ? RELEASE : `${CREDENTIALS}/${CREDENTIAL}`
    const paths =
      subresource === undefined
        ? { one, all: CREDENTIALS }
        : { one: `${one}/${subresource}`, all: `${one}/${subresource}` }
    const served = await Promise.all(
      Object.entries(CALLS)
        .filter(([verb]) => subresource === undefined || verb !== 'list')
        .map(async ([verb, [method, path]]) => {
          const { status } = await scriptedApp().call(paths[path], { method })
          return status === 405 ? [] : [verb]
        }),
    )
    expect({ name, served: served.flat().toSorted() }).toEqual({ name, served: verbs.toSorted() })
  }
})

test.each([
  '/api',
  '/api/v1',
  '/apis/apps',
  '/apis/apps/v1',
  `/apis/${GROUP}/v1`,
  `/apis/${GROUP}/v1alpha1/credentials.yaml`,
])('%s is a 404, as of any API server that has no such group', async (path) => {
  const { status, type, body } = await ask(path)
  expect([status, type]).toEqual([404, 'application/json'])
  expect(body).toMatchObject({ kind: 'Status', reason: 'NotFound' })
})

test.each(DOCUMENTS)('%s is answered with 304 to who has it', async (path) => {
  const first = await ask(path)
  const etag = first.headers.get('etag') ?? ''
  expect(etag).toMatch(/^"[0-9a-f]{64}"$/)
  expect(first.headers.get('vary')).toBe('Accept')
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = await ask(path, { 'If-None-Match': known })
    expect([again.status, again.body, again.headers.get('etag')]).toEqual([304, undefined, etag])
  }
  for (const other of ['"other"', etag.slice(1, -1), '']) {
    expect((await ask(path, { 'If-None-Match': other })).status).toBe(200)
  }
})

test('the two documents of /apis have hashes of their own', async () => {
  const { headers } = await ask('/apis')
  const known = headers.get('etag') ?? ''
  expect((await ask('/apis', { Accept: V2, 'If-None-Match': known })).status).toBe(200)
})

test.each(DOCUMENTS)('%s is read only', async (path) => {
  const head = await ask(path, {}, 'HEAD')
  expect([head.status, head.body]).toEqual([200, undefined])
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const { status, headers, body } = await ask(path, {}, method)
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    expect(body).toMatchObject({ kind: 'Status', reason: 'MethodNotAllowed' })
  }
})
