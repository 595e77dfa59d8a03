import { describe, expect, test } from 'vitest'
import { fail, ok } from '../../src/core/result.ts'
import type { Kube } from '../../src/k8s/kube.ts'
import type { Anything } from '../contract/kube.ts'
import { check, danglingRefs, refsIn } from '../helpers/openapi.ts'
import { accountAnnotations, accountSecret, CREDENTIAL, NAMESPACE } from '../helpers/orders.ts'
import { CREDENTIALS, GROUP, MINT, REVOKE, SYNC, scriptedApp } from '../helpers/scripted-app.ts'

const V2 = '/openapi/v2'
const V3 = `/openapi/v3/apis/${GROUP}/v1alpha1`
const DOCUMENTS = [V2, '/openapi/v3', V3]
const PREFIX = 'io.cozystack.core.v1alpha1.'
const ONE = `${CREDENTIALS}/${CREDENTIAL}`

/** Without credentials, as the aggregator comes. */
const ask = async (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') => {
  const { call, called } = scriptedApp()
  const answer = await call(path, { method, headers })
  expect(called()).toEqual([])
  return answer
}

const v2: Anything = await (await ask(V2)).json()
const v3: Anything = await (await ask(V3)).json()
const schemasOf = (document: Anything) => document.definitions ?? document.components.schemas
const operationsOf = (document: Anything): readonly Anything[] =>
  Object.entries<Anything>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Anything>(methods).map(([method, operation]) => ({ path, method, ...operation })),
  )

test('the versions are those of OpenAPI', () => {
  expect([v2.swagger, v3.openapi]).toEqual(['2.0', '3.0.0'])
})

describe.each([
  ['OpenAPI 2.0', v2],
  ['OpenAPI 3.0', v3],
])('AGG-03: the document in %s', (_name, document) => {
  test('refers to what is there, and holds nothing that nobody refers to', () => {
    expect(danglingRefs(document)).toEqual([])
    const used = new Set(refsIn(document).map((ref) => ref.split('/').at(-1)))
    expect(Object.keys(schemasOf(document)).filter((name) => !used.has(name))).toEqual([])
  })

  test('names no definition that Kubernetes has', () => {
    const names = Object.keys(schemasOf(document))
    expect(names).toEqual(expect.arrayContaining([`${PREFIX}Credential`, `${PREFIX}CredentialRequest`]))
    expect(names.filter((name) => !name.startsWith(PREFIX))).toEqual([])
  })

  test('declares every parameter of a path, and its operations once each', () => {
    const ids = operationsOf(document).map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(5)
    for (const { path, parameters } of operationsOf(document)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      const declared = parameters.filter((parameter: Anything) => parameter.in === 'path')
      expect(declared.map(({ name }: Anything) => name)).toEqual(inPath)
      expect(declared.every(({ required }: Anything) => required === true)).toBe(true)
      const names = parameters.map((parameter: Anything) => `${parameter.in} ${parameter.name}`)
      expect(new Set(names).size).toBe(names.length)
    }
  })

  test('lists the calls as Kubernetes tools look for them', () => {
    const namespace = `/apis/${GROUP}/v1alpha1/namespaces/{namespace}`
    const path = `${namespace}/credentials`
    const kind = (name: string) => ({ group: GROUP, version: 'v1alpha1', kind: name })
    const calls = operationsOf(document).map((operation) => [
      `${operation.method} ${operation.path}`,
      operation['x-kubernetes-action'],
      operation['x-kubernetes-group-version-kind'],
    ])
    expect(calls).toEqual([
      [`get ${path}`, 'list', kind('Credential')],
      [`get ${path}/{name}`, 'get', kind('Credential')],
      [`post ${path}/{name}/mint`, 'post', kind('CredentialRequest')],
      [`post ${path}/{name}/revoke`, 'post', kind('CredentialRequest')],
      [`post ${namespace}/helmreleases/{name}/sync`, 'post', { group: '', version: 'v1', kind: 'Status' }],
    ])
    for (const name of ['Credential', 'CredentialList', 'CredentialRequest']) {
      const { 'x-kubernetes-group-version-kind': kinds } = schemasOf(document)[`${PREFIX}${name}`]
      expect(kinds).toEqual([kind(name)])
    }
  })

  test('describes everything in words', () => {
    for (const [name, schema] of Object.entries<Anything>(schemasOf(document))) {
      expect(schema.description, name).toMatch(/^\S+ .*\.$/)
      for (const [field, property] of Object.entries<Anything>(schema.properties)) {
        expect(property.description, `${name}.${field}`).toMatch(/^\w.*$/)
      }
    }
    for (const { path, description, parameters, responses } of operationsOf(document)) {
      const described = [
        ...parameters.filter((each: Anything) => each.in !== 'body'),
        ...Object.values(responses),
      ]
      for (const text of [description, ...described.map((each) => each.description)]) {
        expect(text, path).toMatch(/^\w.*\.$/)
      }
    }
  })

  test('says that the answer to a mint contains the password', () => {
    expect(schemasOf(document)[`${PREFIX}CredentialRequest`].description).toContain(
      'THE ANSWER TO A MINT CONTAINS THE PASSWORD',
    )
    const mint = operationsOf(document).find(({ path }) => path.endsWith('/mint'))
    expect(mint.description).toContain('the answer contains it in clear text')
  })
})

test('OpenAPI 3.0 has nothing beside a $ref, where it would not count', () => {
  const besides = (value: Anything): readonly string[] => {
    if (typeof value !== 'object' || value === null) return []
    const own = '$ref' in value && Object.keys(value).length > 1 ? [value.$ref] : []
    return [...own, ...Object.values(value).flatMap(besides)]
  }
  expect(besides(v3)).toEqual([])
})

test('both documents describe the same', () => {
  const outline = (document: Anything) => ({
    calls: operationsOf(document).map(({ path, method, operationId, parameters, responses }) => ({
      call: `${method} ${path} ${operationId}`,
      parameters: parameters.map(({ name }: Anything) => name).filter((name: string) => name !== 'body'),
      responses: Object.keys(responses),
    })),
    fields: Object.entries<Anything>(schemasOf(document)).flatMap(([name, { properties }]) =>
      Object.keys(properties).map((property) => `${name}.${property}`),
    ),
  })
  expect(outline(v2)).toEqual(outline(v3))
})

const byJane = (init: RequestInit = {}): RequestInit => ({
  ...init,
  headers: { Authorization: 'Bearer token-of-jane', ...init.headers },
})
const body = (value: Anything): RequestInit =>
  byJane({ method: 'POST', body: JSON.stringify(value), headers: { 'Content-Type': 'application/json' } })
const operationAt = (path: string, method: string): Anything => {
  const template = path
    .replace(/\?.*/, '')
    .replace(NAMESPACE, '{namespace}')
    .replace(/postgres-orders(\.web)?/, '{name}')
  return v3.paths[template][method.toLowerCase()]
}

const HISTORY = [
  {
    operation: 'Mint',
    at: '2026-10-01T08:00:00Z',
    by: 'jane@example.org',
    impersonator: 'admin@example.org',
  },
  { operation: 'Create', at: '2026-09-01T08:00:00Z', by: 'system' },
]
const secret = accountSecret({
  metadata: {
    annotations: accountAnnotations({ 'credentials.cozystack.io/history': JSON.stringify(HISTORY) }),
  },
})
const FULL: Anything = {
  apiVersion: `${GROUP}/v1alpha1`,
  kind: 'CredentialRequest',
  metadata: { name: CREDENTIAL, namespace: NAMESPACE, creationTimestamp: '2026-10-02T09:14:07Z' },
  spec: { preconditions: { resourceVersion: '10', uid: secret.metadata.uid } },
}

const EXCHANGES: readonly [
  what: string,
  path: string,
  init: RequestInit,
  script: Partial<Kube>,
  code: number,
][] = [
  ['a get', ONE, byJane(), { getSecret: async () => ok(secret) }, 200],
  [
    'a page of a list',
    `${CREDENTIALS}?limit=1`,
    byJane(),
    { listSecrets: async () => ok({ items: [secret], resourceVersion: '12', continue: 'next' }) },
    200,
  ],
  ['a mint', MINT, body(FULL), {}, 201],
  ['a mint of nothing in particular', MINT, byJane({ method: 'POST' }), {}, 201],
  ['a dry run', `${MINT}?dryRun=All`, byJane({ method: 'POST' }), {}, 201],
  ['a revoke', REVOKE, body(FULL), {}, 201],
  ['a sync', SYNC, byJane({ method: 'POST' }), {}, 200],
  ['an unknown parameter', `${MINT}?dryrun=All`, byJane({ method: 'POST' }), {}, 400],
  ['nobody', ONE, { headers: {} }, {}, 401],
  ['a stranger', MINT, byJane({ method: 'POST' }), { reviewAccess: async () => ok(false) }, 403],
  ['nothing there', ONE, byJane(), { getSecret: async () => ok(undefined) }, 404],
  ['HTML', ONE, byJane({ headers: { Accept: 'text/html' } }), {}, 406],
  ['a stale version', MINT, body({ spec: { preconditions: { resourceVersion: '9' } } }), {}, 409],
  [
    'an old page',
    `${CREDENTIALS}?continue=old`,
    byJane(),
    { listSecrets: async () => fail({ reason: 'kube_expired' }) },
    410,
  ],
  ['too much', MINT, body({ padding: 'x'.repeat(70_000) }), {}, 413],
  ['a form', MINT, byJane({ method: 'POST', body: new URLSearchParams({ a: 'b' }) }), {}, 415],
  ['an empty precondition', MINT, body({ spec: { preconditions: { uid: '' } } }), {}, 422],
  [
    'an overloaded API server',
    ONE,
    byJane(),
    { getSecret: async () => fail({ reason: 'kube_overloaded', retryAfterSeconds: 3 }) },
    429,
  ],
  [
    'an API server that is slow',
    ONE,
    byJane(),
    { getSecret: async () => fail({ reason: 'kube_timeout', call: 'get Secret' }) },
    504,
  ],
]

describe('what is described is what is answered', () => {
  const seen = new Set<string>()

  test.each(EXCHANGES)('%s', async (_what, path, init, script, code) => {
    const answer = await scriptedApp(script).call(path, init)
    expect(answer.status).toBe(code)
    const operation = operationAt(path, init.method ?? 'GET')
    const response = operation.responses[String(code)]
    expect(response, `${code} is not described`).toBeDefined()
    const checked = check(v3, response.content['application/json'].schema, await answer.json())
    expect(checked.problems).toEqual([])
    for (const each of checked.seen) seen.add(each)

    if (typeof init.body !== 'string' || code !== 201) return
    const { schema } = operation.requestBody.content['application/json']
    const request = check(v3, schema, JSON.parse(init.body))
    expect(request.problems).toEqual([])
    for (const each of request.seen) seen.add(each)
  })

  test('and nothing is described that is never there', () => {
    const described = Object.entries<Anything>(v3.components.schemas).flatMap(([name, { properties }]) =>
      Object.keys(properties).map((property) => `${name.slice(PREFIX.length)}.${property}`),
    )
    expect([...seen].toSorted()).toEqual(described.toSorted())
  })

  test.each(operationsOf(v3).map(({ path, method, parameters }) => [method, path, parameters]))(
    '%s %s takes every parameter that it declares',
    async (method, path, parameters) => {
      const name = path.includes('/helmreleases/') ? 'postgres-orders' : CREDENTIAL
      const url = path.replace('{namespace}', NAMESPACE).replace('{name}', name)
      const query = new URLSearchParams()
      for (const { name, in: where, schema } of parameters) {
        const sample = schema.enum?.[0] ?? SAMPLES[name] ?? (schema.type === 'integer' ? '5' : 'x')
        if (where === 'query') query.set(name, sample)
      }
      const { status } = await scriptedApp().call(`${url}?${query}`, byJane({ method: method.toUpperCase() }))
      expect(status).toBe(/\/(mint|revoke)$/.test(path) ? 201 : 200)
    },
  )
})

const SAMPLES: Readonly<Record<string, string>> = {
  labelSelector: 'apps.cozystack.io/application.kind=Postgres',
  fieldSelector: `metadata.name=${CREDENTIAL}`,
}

describe('AGG-03: the documents are served', () => {
  test('the index leads to the document, which may be kept', async () => {
    const { paths }: Anything = await (await ask('/openapi/v3')).json()
    const { serverRelativeURL } = paths[`apis/${GROUP}/v1alpha1`]
    expect(Object.keys(paths)).toHaveLength(1)
    expect(serverRelativeURL).toMatch(new RegExp(`^${V3}\\?hash=[0-9a-f]{64}$`))
    const answer = await ask(serverRelativeURL)
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(answer.headers.get('etag')).toBe(`"${serverRelativeURL.split('=')[1]}"`)
    expect(await answer.json()).toEqual(v3)
  })

  test.each([V3, `${V3}?hash=`, `${V3}?hash=OTHER`])(
    '%s is no redirect, and may not be kept',
    async (path) => {
      const answer = await ask(path)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('cache-control')).toBe('public, no-cache')
    },
  )

  test.each(DOCUMENTS)('%s is JSON, and 304 to who has it', async (path) => {
    const { status, headers } = await ask(path)
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
    const etag = headers.get('etag') ?? ''
    expect(etag).toMatch(/^"[0-9a-f]{64}"$/)
    expect((await ask(path, { 'If-None-Match': etag })).status).toBe(304)
    expect((await ask(path, { 'If-None-Match': '"other"' })).status).toBe(200)
  })

  test.each(DOCUMENTS)('%s is a 406 to who takes protobuf alone', async (path) => {
    for (const version of ['v2@v1.0', 'v2.v1.0', 'v3@v1.0', 'v3.v1.0']) {
      const protobuf = `application/com.github.proto-openapi.spec.${version}+protobuf`
      const answer = await ask(path, { Accept: protobuf })
      expect(answer.status).toBe(406)
      expect(await answer.json()).toMatchObject({
        kind: 'Status',
        reason: 'NotAcceptable',
        message: 'only the following media types are accepted: application/json',
      })
      expect((await ask(path, { Accept: `${protobuf},application/json` })).status).toBe(200)
    }
  })

  test.each(DOCUMENTS)('%s is read only', async (path) => {
    const head = await ask(path, {}, 'HEAD')
    expect([head.status, await head.text()]).toEqual([200, ''])
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const { status, headers } = await ask(path, {}, method)
      expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    }
  })

  test.each(['/openapi', '/openapi/v4', '/openapi/v3/apis', '/openapi/v3/apis/apps/v1', '/swagger.json'])(
    '%s is a 404',
    async (path) => {
      const answer = await ask(path)
      expect(answer.status).toBe(404)
      expect(await answer.json()).toMatchObject({ kind: 'Status', reason: 'NotFound' })
    },
  )
})
