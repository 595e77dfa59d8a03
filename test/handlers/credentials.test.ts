import { expect, test } from 'vitest'
import { textAt } from '../../src/core/json.ts'
import { fail, ok } from '../../src/core/result.ts'
import { accountSecret, CREDENTIAL } from '../helpers/orders.ts'
import { CREDENTIALS, MINT, scriptedApp, TOKEN } from '../helpers/scripted-app.ts'

const ONE = `${CREDENTIALS}/${CREDENTIAL}`
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
const asTable = { headers: { Authorization: `Bearer ${TOKEN}`, Accept: TABLE } }

test('a get answers one Credential, a list all of the namespace', async () => {
  const { call } = scriptedApp()
  const one = await (await call(ONE)).json()
  expect(one).toMatchObject({
    apiVersion: 'core.cozystack.io/v1alpha1',
    kind: 'Credential',
    metadata: { name: CREDENTIAL },
  })
  expect(await (await call(CREDENTIALS)).json()).toEqual({
    apiVersion: 'core.cozystack.io/v1alpha1',
    kind: 'CredentialList',
    metadata: { resourceVersion: '12' },
    items: [one],
  })
})

test('AGG-04: kubectl, which asks for a Table first, gets one of a get and of a list', async () => {
  const { call } = scriptedApp()
  for (const [path, resourceVersion] of [
    [ONE, '10'],
    [CREDENTIALS, '12'],
  ] as const) {
    const answer = await call(path, asTable)
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(await answer.json()).toMatchObject({
      kind: 'Table',
      metadata: { resourceVersion },
      rows: [{ cells: expect.arrayContaining([CREDENTIAL, 'web', 'Minted']) }],
    })
  }
})

test('reading never asks for a release or a definition: a broken one hides nothing', async () => {
  const { call, called } = scriptedApp()
  await call(ONE)
  await call(CREDENTIALS)
  expect(called()).toEqual(['reviewAccess', 'getSecret', 'reviewAccess', 'listSecrets'])
})

test('VER-03: nothing but a mint or a revoke writes: a get, a list, a Table and a probe do not', async () => {
  const { call, writes, called } = scriptedApp()
  await Promise.all([
    call(ONE),
    call(CREDENTIALS),
    call(ONE, asTable),
    call(CREDENTIALS, asTable),
    call('/readyz'),
    call('/livez'),
  ])
  expect(writes()).toBe(0)
  expect(called()).not.toContain('createEvent')
  expect((await call(MINT, { method: 'POST' })).status).toBe(201)
  expect(writes()).toBe(1)
})

test.each([
  ['get', ONE, { verb: 'get', name: CREDENTIAL }],
  ['list', CREDENTIALS, { verb: 'list' }],
])('a %s is reviewed first, and reads nothing when it is refused', async (_, path, access) => {
  const { call, called, argumentsOf } = scriptedApp({ reviewAccess: async () => ok(false) })
  expect((await call(path)).status).toBe(403)
  expect(called()).toEqual(['reviewAccess'])
  expect(argumentsOf('reviewAccess')[0]?.[1]).toEqual({
    group: 'core.cozystack.io',
    resource: 'credentials',
    namespace: 'tenant-acme',
    ...access,
  })
})

test('a list passes on selectors and paging, beside the label of account Secrets', async () => {
  const { call, argumentsOf } = scriptedApp({
    listSecrets: async () => ok({ items: [accountSecret()], resourceVersion: '12', continue: 'next' }),
  })
  const selector = encodeURIComponent('apps.cozystack.io/application.name in (orders,shop)')
  const answer = await call(
    `${CREDENTIALS}?labelSelector=${selector}&fieldSelector=metadata.name%3D${CREDENTIAL}&limit=1&continue=here`,
  )
  expect(argumentsOf('listSecrets')[0]).toMatchObject([
    'tenant-acme',
    {
      labelSelector:
        'credentials.cozystack.io/account=true,apps.cozystack.io/application.name in (orders,shop)',
      fieldSelector: `metadata.name=${CREDENTIAL}.account`,
      limit: 1,
      continue: 'here',
    },
  ])
  expect(await answer.json()).toMatchObject({ metadata: { continue: 'next' } })
})

test('a page whose Secrets are no account Secrets is an empty list that goes on', async () => {
  const foreign = accountSecret({ metadata: { annotations: {} } })
  const { call } = scriptedApp({
    listSecrets: async () => ok({ items: [foreign], resourceVersion: '12', continue: 'next' }),
  })
  expect(await (await call(CREDENTIALS)).json()).toMatchObject({ items: [], metadata: { continue: 'next' } })
})

test('a continue token that is too old is a 410, one that does not decode a 400', async () => {
  const answering = (reason: 'kube_expired' | 'kube_invalid') =>
    scriptedApp({
      listSecrets: async () =>
        fail(reason === 'kube_expired' ? { reason } : { reason, call: 'list Secrets' }),
    })
  const path = `${CREDENTIALS}?limit=1&continue=x`
  expect(await (await answering('kube_expired').call(path)).json()).toMatchObject({
    code: 410,
    reason: 'Expired',
  })
  expect(await (await answering('kube_invalid').call(path)).json()).toMatchObject({
    code: 400,
    reason: 'BadRequest',
  })
})

test('an includeObject of nothing is one that was not given', async () => {
  const { call } = scriptedApp()
  const rows = await Promise.all(
    ['', '?includeObject=', '?includeObject=Metadata'].map(async (query) =>
      (await call(`${CREDENTIALS}${query}`, asTable)).text(),
    ),
  )
  expect(new Set(rows).size).toBe(1)
})

test.each(['includeObject=all', 'includeObject=metadata'])('?%s is a 400', async (query) => {
  const { call } = scriptedApp()
  expect((await call(`${CREDENTIALS}?${query}`, asTable)).status).toBe(400)
})

test('a Secret that is no account Secret, and none at all, are the same 404', async () => {
  const bodies = await Promise.all(
    [undefined, accountSecret({ metadata: { annotations: {} } })].map(async (secret) => {
      const { call } = scriptedApp({ getSecret: async () => ok(secret) })
      return (await call(ONE)).text()
    }),
  )
  expect(new Set(bodies).size).toBe(1)
  expect(JSON.parse(bodies[0] ?? '')).toMatchObject({
    code: 404,
    reason: 'NotFound',
    details: { name: CREDENTIAL, kind: 'credentials' },
  })
})

test.each([
  ['PUT', ONE, 'GET, HEAD'],
  ['PATCH', ONE, 'GET, HEAD'],
  ['DELETE', ONE, 'GET, HEAD'],
  ['DELETE', CREDENTIALS, 'GET, HEAD'],
  ['POST', CREDENTIALS, 'GET, HEAD'],
  ['GET', MINT, 'POST'],
  ['PUT', MINT, 'POST'],
  ['PATCH', MINT, 'POST'],
  ['DELETE', MINT, 'POST'],
])('AGG-06: %s %s is a 405 that says what is allowed, at once', async (method, path, allow) => {
  const { call, called } = scriptedApp()
  const answer = await call(path, { method })
  expect(answer.status).toBe(405)
  expect(answer.headers.get('allow')).toBe(allow)
  const body = await answer.json()
  expect(body).toMatchObject({ kind: 'Status', reason: 'MethodNotAllowed' })
  const message = textAt(body, 'message') ?? ''
  expect(message.startsWith(`${method} is not supported on ${path}`)).toBe(true)
  // Of a call that there is, nobody wants to hear that credentials are read only.
  expect(message.includes('credentials are read only. POST to ')).toBe(path !== MINT)
  expect(called()).toEqual([])
})

test('there is no list of all namespaces, and no watch', async () => {
  const { call } = scriptedApp()
  expect((await call('/apis/core.cozystack.io/v1alpha1/credentials')).status).toBe(405)
  expect((await call(`${CREDENTIALS}?watch=1`)).status).toBe(405)
})
