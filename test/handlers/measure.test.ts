import { describe, expect, test } from 'vitest'
import { noMetrics, type RequestLabels } from '../../src/core/metrics.ts'
import { fail, ok } from '../../src/core/result.ts'
import { text } from '../../src/handlers/answer.ts'
import { createRouter } from '../../src/router.ts'
import { callApp } from '../helpers/call-app.ts'
import { accountSecret, applicationLabels, CREDENTIAL, release } from '../helpers/orders.ts'
import { CREDENTIALS, GROUP, MINT, REVOKE, scriptedApp } from '../helpers/scripted-app.ts'

const ONE = `${CREDENTIALS}/${CREDENTIAL}`
const KIND_LABEL = 'apps.cozystack.io/application.kind'
const nobody = { headers: {} }
const root = new Request('http://mintonce.test/')
const unwatched = { group: GROUP, deps: { now: () => 0, log: () => undefined, metrics: noMetrics } }

describe('a request is counted', () => {
  test.each<[string, string, RequestInit, RequestLabels]>([
    ['a mint', MINT, { method: 'POST' }, { verb: 'mint', code: 201, kind: 'Postgres' }],
    ['a revoke', REVOKE, { method: 'POST' }, { verb: 'revoke', code: 201, kind: 'Postgres' }],
    ['a get', ONE, {}, { verb: 'get', code: 200, kind: 'Postgres' }],
    ['a HEAD, as the get that it is', ONE, { method: 'HEAD' }, { verb: 'get', code: 200, kind: 'Postgres' }],
    ['a list, which may have many kinds', CREDENTIALS, {}, { verb: 'list', code: 200, kind: '' }],
    ['a stranger', MINT, { method: 'POST', ...nobody }, { verb: 'mint', code: 401, kind: '' }],
    [
      'an absent credential',
      `${CREDENTIALS}/postgres-orders.nobody`,
      {},
      { verb: 'get', code: 404, kind: '' },
    ],
    ['discovery', '/apis', {}, { verb: 'discovery', code: 200, kind: '' }],
    ['a document of the API', '/openapi/v3', {}, { verb: 'openapi', code: 200, kind: '' }],
    ['the version', '/version', {}, { verb: 'other', code: 200, kind: '' }],
    ['an unknown path', '/metrics', {}, { verb: 'other', code: 404, kind: '' }],
    ['a path that is no path', '/version/', {}, { verb: 'other', code: 400, kind: '' }],
    ['a wrong method', MINT, { method: 'PUT' }, { verb: 'other', code: 405, kind: '' }],
    ['a method that nobody knows', ONE, { method: 'JANE' }, { verb: 'other', code: 405, kind: '' }],
  ])('once: %s', async (_, path, init, labels) => {
    const { call, counted } = scriptedApp()
    const { headers, ...rest } = init
    const answer = await call(path, headers === undefined ? rest : { ...rest, headers })
    expect(counted).toEqual([labels])
    expect(answer.status).toBe(labels.code)
  })

  test('and probes are not', async () => {
    const { call, counted } = scriptedApp()
    for (const path of ['/livez', '/healthz', '/readyz']) expect((await call(path)).status).toBe(200)
    expect(counted).toEqual([])
  })

  test.each([new Error('broken'), 'broken'])('when a handler throws %j', async (thrown) => {
    const { call, counted } = scriptedApp({
      getSecret: () => {
        throw thrown
      },
    })
    expect((await call(ONE)).status).toBe(500)
    expect(counted).toEqual([{ verb: 'get', code: 500, kind: '' }])
  })
})

describe('the kind', () => {
  test('is none while no definition has it: whoever writes a release chooses its labels', async () => {
    const labels = { ...applicationLabels, [KIND_LABEL]: 'Invented' }
    const { call, counted } = scriptedApp({
      getHelmRelease: async () => ok({ ...release, metadata: { ...release.metadata, labels } }),
    })
    expect((await call(MINT, { method: 'POST' })).status).toBe(404)
    expect(counted).toEqual([{ verb: 'mint', code: 404, kind: '' }])
  })

  test('is not looked at for somebody who may not ask', async () => {
    const { call, counted } = scriptedApp({ reviewAccess: async () => ok(false) })
    await call(MINT, { method: 'POST' })
    await call(ONE)
    expect(counted).toEqual([
      { verb: 'mint', code: 403, kind: '' },
      { verb: 'get', code: 403, kind: '' },
    ])
  })

  test('of a mint that fails later is known', async () => {
    const { call, counted } = scriptedApp({ updateSecret: async () => fail({ reason: 'kube_conflict' }) })
    await call(MINT, { method: 'POST' })
    expect(counted).toEqual([{ verb: 'mint', code: 409, kind: 'Postgres' }])
  })

  test('of a get is what the account Secret says, and no definition is asked', async () => {
    const secret = accountSecret()
    const labels = { ...secret.metadata.labels, [KIND_LABEL]: 'Retired' }
    const { call, counted, called } = scriptedApp({
      getSecret: async () => ok({ ...secret, metadata: { ...secret.metadata, labels } }),
    })
    await call(ONE)
    expect(counted).toEqual([{ verb: 'get', code: 200, kind: 'Retired' }])
    expect(called()).toEqual(['reviewAccess', 'getSecret'])
  })
})

describe('the time', () => {
  const secondsWith = async (...readings: readonly number[]) => {
    const seconds: number[] = []
    const clock = readings.values()
    const metrics = { ...noMetrics, request: (_: RequestLabels, took: number) => seconds.push(took) }
    const now = () => clock.next().value ?? Number.NaN
    await callApp(createRouter([], { ...unwatched, deps: { ...unwatched.deps, now, metrics } }), root)
    return seconds
  }

  test('is from before the first handler until there is an answer, in seconds', async () => {
    expect(await secondsWith(10_000, 10_250)).toEqual([0.25])
  })

  test('is never negative: a clock may be set back', async () => {
    expect(await secondsWith(10_000, 9000)).toEqual([0])
  })
})

test('where nobody comes to read them, nothing changes', async () => {
  const app = createRouter([{ method: 'GET', path: '/', handler: () => text('found') }], unwatched)
  expect(await (await callApp(app, root)).text()).toBe('found')
  expect((await callApp(app, new Request('http://mintonce.test/elsewhere'))).status).toBe(404)
})
