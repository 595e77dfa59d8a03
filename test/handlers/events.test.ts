import { describe, expect, test } from 'vitest'
import type { KubeFailure } from '../../src/core/failure.ts'
import { fail, ok } from '../../src/core/result.ts'
import type { Kube } from '../../src/k8s/kube.ts'
import { binary, reference, structured } from '../helpers/cloud-events.ts'
import { EVENTS_KEY, type ScriptedApp, scriptedApp } from '../helpers/scripted-app.ts'

/** Never deployed, and no account Secret yet: until it was made. */
function fresh(): Partial<Kube> {
  let made: Awaited<ReturnType<Kube['getSecret']>> = ok(undefined)
  return {
    listSecrets: async () => ok({ items: [], resourceVersion: '12' }),
    getSecret: async (_namespace, name) => (name.endsWith('.account') ? made : ok(undefined)),
    createSecret: async (secret) => {
      const stored = { ...secret, metadata: { ...secret.metadata, uid: 'u-9', resourceVersion: '9' } }
      made = ok(stored)
      return ok(stored)
    },
  }
}

const key = { Authorization: `Bearer ${EVENTS_KEY}` }
const post = ({ call }: Pick<ScriptedApp, 'call'>, headers: Readonly<Record<string, string>>, body = '') =>
  call('/events', { method: 'POST', headers, body })
const REF = 'dev.knative.apiserver.ref.add'
const BATCH = { ...key, 'content-type': 'application/cloudevents-batch+json' }
const STRUCTURED = { 'content-type': 'application/cloudevents+json' }

test('an event about a HelmRelease syncs it, as the function itself, and is answered 204 without a body', async () => {
  const app = scriptedApp(fresh())
  const { headers, body } = binary({})
  const answer = await post(app, { ...key, ...headers }, body)
  expect([answer.status, await answer.text()]).toEqual([204, ''])
  const [[secret] = []] = app.argumentsOf('createSecret')
  expect(secret?.metadata.annotations?.['credentials.cozystack.io/history']).toContain(
    '"by":"system:serviceaccount:mintonce:mintonce"',
  )
  expect(app.called()).not.toContain('reviewAccess')
  expect(app.counted).toEqual([{ verb: 'events', code: 204, kind: '' }])
})

test('the same event again does nothing more', async () => {
  const app = scriptedApp(fresh())
  const { headers } = binary({})
  await post(app, { ...key, ...headers })
  await post(app, { ...key, ...headers })
  expect(app.argumentsOf('createSecret')).toHaveLength(1)
})

test('a batch looks at each release once', async () => {
  const app = scriptedApp(fresh())
  const at = (name: string) => structured(REF, { data: { ...reference, name } })
  const events = [at('postgres-orders'), at('postgres-orders'), at('nothing'), structured('other', {})]
  expect((await post(app, BATCH, JSON.stringify(events))).status).toBe(204)
  const looked = app.argumentsOf('getHelmRelease').map(([, name]) => String(name))
  expect(looked.toSorted()).toEqual(['nothing', 'postgres-orders'])
})

test('what is in an event is not believed: the release is read', async () => {
  const app = scriptedApp({ ...fresh(), getHelmRelease: async () => ok(undefined) })
  const data = { ...reference, metadata: reference, spec: { values: { users: { web: {} } } } }
  const event = structured('dev.knative.apiserver.resource.add', { data })
  const answer = await post(app, { ...key, ...STRUCTURED }, JSON.stringify(event))
  expect([answer.status, app.writes()]).toEqual([204, 0])
})

describe('who may send', () => {
  const { headers } = binary({})
  const event = (more: object) => JSON.stringify(structured(REF, { data: reference, ...more }))
  const batch = (...more: readonly object[]) =>
    JSON.stringify(more.map((each) => structured(REF, { data: reference, ...each })))

  test.each<[what: string, headers: Readonly<Record<string, string>>, body: string]>([
    ['as bearer token', { ...headers, ...key }, ''],
    ['as attribute in a header', { ...headers, 'ce-mintoncekey': EVENTS_KEY }, ''],
    ['as attribute of a structured event', STRUCTURED, event({ mintoncekey: EVENTS_KEY })],
    [
      'as attribute of each of a batch',
      { 'content-type': BATCH['content-type'] },
      batch({ mintoncekey: EVENTS_KEY }),
    ],
  ])('has a key: %s', async (_, given, body) => {
    const app = scriptedApp(fresh())
    expect((await post(app, given, body)).status).toBe(204)
    expect(app.writes()).toBe(1)
  })

  test.each<[what: string, headers: Readonly<Record<string, string>>, body: string]>([
    ['nothing', headers, ''],
    ['another key', { ...headers, Authorization: `Bearer ${EVENTS_KEY}2` }, ''],
    ['another scheme', { ...headers, Authorization: `Basic ${btoa(`a:${EVENTS_KEY}`)}` }, ''],
    ['a wrong attribute', { ...headers, 'ce-mintoncekey': 'wrong' }, ''],
    ['the attribute twice', { ...headers, 'ce-mintoncekey': `${EVENTS_KEY}, ${EVENTS_KEY}` }, ''],
    ['a structured event without a key', STRUCTURED, event({})],
    ['a structured event with a wrong key', STRUCTURED, event({ mintoncekey: 'wrong' })],
    ['a key that is no text', STRUCTURED, event({ mintoncekey: [EVENTS_KEY] })],
    ['a key in the data', STRUCTURED, event({ data: { mintoncekey: EVENTS_KEY } })],
    ['an empty batch', { 'content-type': BATCH['content-type'] }, '[]'],
    [
      'a batch of which one has no key',
      { 'content-type': BATCH['content-type'] },
      batch({ mintoncekey: EVENTS_KEY }, {}),
    ],
    ['what is no event', STRUCTURED, '{'],
  ])('not with %s: 401, and nothing is asked', async (_, given, body) => {
    const app = scriptedApp(fresh())
    const answer = await post(app, given, body)
    expect(answer.status).toBe(401)
    expect(await answer.json()).toMatchObject({ kind: 'Status', reason: 'Unauthorized' })
    expect(app.called()).toEqual([])
  })

  test('nobody where no key is configured: 404, with every method', async () => {
    const { call } = scriptedApp({}, { eventSenders: { keys: [], oidc: undefined } })
    for (const path of ['/events', '/tick']) {
      for (const method of ['POST', 'GET']) {
        expect((await call(path, { method, headers: key })).status).toBe(404)
      }
    }
  })

  test('has a token of its own for the audience, where that is configured', async () => {
    const username = 'system:serviceaccount:tenant-acme:releases'
    const oidc = { audience: 'mintonce-events', usernames: [username] }
    const user = { username, uid: undefined, groups: [], extra: {} }
    const app = scriptedApp(
      {
        ...fresh(),
        reviewToken: async (token) =>
          ok({
            authenticated: token === 'of-the-source',
            audiences: ['mintonce-events'],
            user,
            error: undefined,
          }),
      },
      { eventSenders: { keys: [], oidc } },
    )
    expect((await post(app, { ...headers, Authorization: 'Bearer of-the-source' })).status).toBe(204)
    expect((await post(app, { ...headers, Authorization: 'Bearer other' })).status).toBe(401)
    expect((await post(app, { ...headers, ...key })).status).toBe(401)
    expect(JSON.stringify(app.logged)).not.toContain('of-the-source')
  })
})

describe('bodies', () => {
  const padded = (bytes: number) =>
    JSON.stringify(structured(REF, { data: reference, padding: 'x'.repeat(bytes) }))

  test('may be large for who is known from the headers', async () => {
    const app = scriptedApp(fresh())
    const length = 8 * 1024 * 1024 - padded(0).length
    expect((await post(app, { ...key, ...STRUCTURED }, padded(length))).status).toBe(204)
    expect((await post(app, { ...key, ...STRUCTURED }, padded(length + 1))).status).toBe(413)
  })

  test('are read to 64 KiB for who is not', async () => {
    const { call } = scriptedApp()
    const body = padded(64 * 1024)
    expect((await call('/events', { method: 'POST', headers: STRUCTURED, body })).status).toBe(413)
  })

  test('that are no event are 400, and not shown', async () => {
    const app = scriptedApp()
    for (const body of [
      '{"specversion":"0.3","secret":"s3cr3t"}',
      's3cr3t',
      JSON.stringify(structured(REF, { data: { ...reference, name: 's3cr3t/..' } })),
    ]) {
      const answer = await post(app, { ...key, ...STRUCTURED }, body)
      expect(answer.status).toBe(400)
      expect(await answer.text()).not.toContain('s3cr3t')
    }
    expect(JSON.stringify(app.logged)).not.toContain('s3cr3t')
    expect(app.called()).toEqual([])
  })
})

test.each<[failure: KubeFailure, code: number]>([
  [{ reason: 'kube_unreachable', call: 'list Secrets', why: 'ECONNREFUSED', sent: false }, 503],
  [{ reason: 'kube_timeout', call: 'list Secrets' }, 503],
  [{ reason: 'kube_overloaded', retryAfterSeconds: 9 }, 503],
  [{ reason: 'kube_error', call: 'list Secrets', code: 500 }, 503],
  [{ reason: 'kube_forbidden', call: 'list Secrets' }, 500],
])('what cannot be done now is for the source to send again: %j is %d', async (failure, code) => {
  const app = scriptedApp({ ...fresh(), listSecrets: async () => fail(failure) })
  const { headers } = binary({})
  const answer = await post(app, { ...key, ...headers })
  expect(answer.status).toBe(code)
  expect(await answer.json()).toMatchObject({ kind: 'Status', status: 'Failure', code })
  expect(app.logged.find(({ event }) => event === 'hinted')).toMatchObject({
    level: 'error',
    fields: { via: 'events', hints: 1, code, failures: [failure.reason] },
  })
})

test.each<KubeFailure>([
  { reason: 'kube_conflict' },
  { reason: 'kube_quota_exceeded', quota: 'few' },
  { reason: 'kube_namespace_terminating', namespace: 'tenant-acme' },
])('what would end the same again is done: $reason', async (failure) => {
  const app = scriptedApp({ ...fresh(), createSecret: async () => fail(failure) })
  const { headers } = binary({})
  expect((await post(app, { ...key, ...headers })).status).toBe(204)
  expect(app.logged.find(({ event }) => event === 'sync_failed')?.fields).toMatchObject({ failure })
})

/** An app whose lists of Secrets wait until they are let go. */
function holding(options: Parameters<typeof scriptedApp>[1] = {}) {
  let letGo: () => void = () => undefined
  let begun: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve
  })
  const listSecrets: Kube['listSecrets'] = async () => {
    begun()
    await held
    return ok({ items: [], resourceVersion: '12' })
  }
  return { app: scriptedApp({ ...fresh(), listSecrets }, options), hasBegun, letGo }
}

test('what takes longer than a request may is answered 202, and goes on', async () => {
  const { app, letGo } = holding({ deadlineMs: 30 })
  const answer = await post(app, { ...key, ...binary({}).headers })
  expect([answer.status, await answer.text(), app.writes()]).toEqual([202, '', 0])
  letGo()
  await app.afterwards()
  expect(app.writes()).toBe(1)
})

test('a burst of events at one release costs two syncs: the one that runs, and one after it', async () => {
  const { app, hasBegun, letGo } = holding()
  const send = () => post(app, { ...key, ...binary({}).headers })
  const first = send()
  await hasBegun
  const others = await Promise.all(Array.from({ length: 20 }, send))
  expect(new Set(others.map(({ status }) => status))).toEqual(new Set([202]))
  letGo()
  expect((await first).status).toBe(204)
  expect(app.argumentsOf('listSecrets')).toHaveLength(2)
  expect(app.writes()).toBe(1)
})
