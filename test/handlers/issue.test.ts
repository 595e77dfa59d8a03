import { describe, expect, test } from 'vitest'
import type { Authenticator } from '../../src/auth/authenticator.ts'
import type { KubeFailure } from '../../src/core/failure.ts'
import { fail, ok, type Result } from '../../src/core/result.ts'
import { encodeData } from '../../src/core/text.ts'
import { accountSecret, CREDENTIAL, rules } from '../helpers/orders.ts'
import {
  CREDENTIALS,
  MINT,
  messageOf,
  passwordOf,
  REVOKE,
  SYNC,
  scriptedApp,
  TOKEN,
} from '../helpers/scripted-app.ts'

const POST = { method: 'POST' } as const
const bearer = { Authorization: `Bearer ${TOKEN}` }

test('a mint answers 201 with the password once, and no cache keeps it', async () => {
  const { call } = scriptedApp()
  const answer = await call(MINT, POST)
  expect(answer.status).toBe(201)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(await answer.json()).toEqual({
    apiVersion: 'core.cozystack.io/v1alpha1',
    kind: 'CredentialRequest',
    metadata: { name: 'postgres-orders.web', namespace: 'tenant-acme' },
    status: {
      username: 'web',
      password: expect.stringMatching(/^[A-Za-z0-9]{32}$/),
      issuedAt: '2026-10-02T09:14:07Z',
    },
  })
})

test('each mint and revoke is one log line, which has no password', async () => {
  const { call, logged } = scriptedApp()
  const auditId = '7d1a9a3c-6b1c-4b5e-9a53-d6b1b4f2d6f1'
  const minted = await call(MINT, { ...POST, headers: { ...bearer, 'Audit-ID': auditId } })
  await call(REVOKE, POST)
  await call(`${CREDENTIALS}/postgres-orders.nobody/mint`, POST)
  expect(logged.filter(({ event }) => event === 'credential').map(({ fields }) => fields)).toMatchObject([
    {
      operation: 'Mint',
      namespace: 'tenant-acme',
      credential: 'postgres-orders.web',
      user: 'jane@example.org',
      uid: 'u-1',
      auditId,
      code: 201,
      durationMs: 0,
    },
    { operation: 'Revoke', code: 201 },
    { operation: 'Mint', code: 404 },
  ])
  const password = await passwordOf(minted)
  expect(password).toMatch(/^[A-Za-z0-9]{32}$/)
  expect(JSON.stringify(logged)).not.toContain(password)
})

test.each(['a b', '<script>', 'x'.repeat(65)])('an audit id that is none (%s) is not logged', async (id) => {
  const { call, logged } = scriptedApp()
  await call(MINT, { ...POST, headers: { ...bearer, 'Audit-ID': id } })
  expect(JSON.stringify(logged)).not.toContain(id)
})

describe('before anything is read', () => {
  test.each(['Idempotency-Key', 'X-Idempotency-Key', 'idempotency-key'])(
    'the header %s is refused: proxies retry on it, and a retry is another mint',
    async (name) => {
      const { call, called } = scriptedApp()
      const answer = await call(MINT, { ...POST, headers: { ...bearer, [name]: '1' } })
      expect(answer.status).toBe(400)
      expect(await messageOf(answer)).toContain('not supported')
      expect(called()).toEqual([])
    },
  )

  test.each<[what: string, headers: Record<string, string>]>([
    ['no credentials', {}],
    ['an unknown token', { Authorization: 'Bearer other' }],
    ['another scheme', { Authorization: 'Basic amFuZTpwdw==' }],
    ['two tokens in one header', { Authorization: `Bearer ${TOKEN}, Bearer other` }],
  ])('a caller with %s is 401', async (_, headers) => {
    const { call, called } = scriptedApp()
    for (const path of [MINT, REVOKE]) {
      const answer = await call(path, { ...POST, headers })
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
    expect(called()).toEqual([])
  })
})

test('without a yes of the access review nothing that was read reaches the caller, and nothing is written', async () => {
  const broken: Parameters<typeof scriptedApp>[0] = {
    getHelmRelease: async () =>
      fail({ reason: 'kube_not_served', groupVersion: 'helm.toolkit.fluxcd.io/v2' }),
  }
  for (const script of [{}, broken, { getSecret: async () => ok(undefined) }]) {
    const { call, writes } = scriptedApp({ ...script, reviewAccess: async () => ok(false) })
    const bodies = [undefined, '{', '{"spec":{"preconditions":{"uid":"other"}}}'].map((body) => ({
      ...POST,
      ...(body && { body, headers: { ...bearer, 'Content-Type': 'application/json' } }),
    }))
    const answers = await Promise.all(bodies.map(async (init) => (await call(MINT, init)).text()))
    expect(new Set(answers).size).toBe(1)
    expect(JSON.parse(answers[0] ?? '')).toMatchObject({ code: 403, reason: 'Forbidden' })
    expect(writes()).toBe(0)
  }
})

test('the access review asks for create on the subresource of this very credential', async () => {
  const { call, argumentsOf } = scriptedApp()
  await call(MINT, POST)
  await call(REVOKE, POST)
  const about = {
    verb: 'create',
    group: 'core.cozystack.io',
    resource: 'credentials',
    namespace: 'tenant-acme',
    name: 'postgres-orders.web',
  }
  expect(argumentsOf('reviewAccess').map(([, access]) => access)).toEqual([
    { ...about, subresource: 'mint' },
    { ...about, subresource: 'revoke' },
  ])
})

describe('OBS-03: an event', () => {
  const failures: readonly KubeFailure[] = [
    { reason: 'kube_forbidden', call: 'create Event' },
    { reason: 'kube_overloaded', retryAfterSeconds: 5 },
    { reason: 'kube_error', call: 'create Event', code: 500 },
  ]
  test.each(failures)(
    'that fails with $reason is tried once and costs the caller nothing but is worth a warning',
    async (failure) => {
      const { call, called, logged, afterwards } = scriptedApp({ createEvent: async () => fail(failure) })
      const answer = await call(MINT, POST)
      expect(answer.status).toBe(201)
      expect(await passwordOf(answer)).toMatch(/^[A-Za-z0-9]{32}$/)
      await afterwards()
      expect(called().filter((method) => method === 'createEvent')).toHaveLength(1)
      expect(logged.filter(({ level }) => level === 'warn')).toEqual([
        { level: 'warn', event: 'event_lost', fields: { lost: 'CredentialIssued', reason: failure.reason } },
      ])
    },
  )

  test('that is never answered does not hold up the mint', async () => {
    const { call } = scriptedApp({ createEvent: () => new Promise<never>(() => undefined) })
    expect((await call(MINT, POST)).status).toBe(201)
  })

  test('carries neither the password nor what is stored', async () => {
    const { call, argumentsOf } = scriptedApp()
    const password = (await passwordOf(await call(MINT, POST))) ?? 'none'
    const stored = argumentsOf('updateSecret')[0]?.[0].data?.password ?? ''
    const events = JSON.stringify(argumentsOf('createEvent'))
    expect(events).toContain('password of user web issued by jane@example.org')
    for (const secret of [password, encodeData(password), stored]) expect(events).not.toContain(secret)
  })
})

/** A write whose answer was lost, and what the read after it shows. */
describe.each<KubeFailure>([
  { reason: 'kube_unreachable', call: 'update Secret', why: 'ECONNRESET', sent: true },
  { reason: 'kube_timeout', call: 'update Secret' },
  { reason: 'kube_error', call: 'update Secret', code: 500 },
])('a write that ends in $reason', (failure) => {
  test('is a 500 without a password that invites to mint again, and never to retry', async () => {
    const { call, called } = scriptedApp({ updateSecret: async () => fail(failure) })
    const answer = await call(MINT, POST)
    expect(answer.status).toBe(500)
    expect(await answer.json()).toEqual({
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      code: 500,
      message: expect.stringMatching(/may have been replaced.*mint again/),
      kind: 'Status',
      reason: 'InternalError',
      details: { name: 'postgres-orders.web', group: 'core.cozystack.io', kind: 'credentials' },
    })
    expect(answer.headers.has('retry-after')).toBe(false)
    expect(called().filter((method) => method === 'updateSecret')).toHaveLength(1)
    expect(called()).not.toContain('createEvent')
  })

  test('is a 201 when the read shows that it was done', async () => {
    const { call, argumentsOf } = scriptedApp({
      updateSecret: async () => fail(failure),
      getSecret: async () => ok(argumentsOf('updateSecret')[0]?.[0] ?? accountSecret()),
    })
    const answer = await call(MINT, POST)
    expect(answer.status).toBe(201)
    expect(await passwordOf(answer)).toMatch(/^[A-Za-z0-9]{32}$/)
    expect(argumentsOf('updateSecret')).toHaveLength(1)
  })
})

/** The rows that a caller sees, by what the API server said to the write. */
test.each<[failure: KubeFailure, code: number, reason: string]>([
  [{ reason: 'kube_conflict' }, 409, 'Conflict'],
  [{ reason: 'kube_absent' }, 409, 'Conflict'],
  [{ reason: 'kube_quota_exceeded', quota: 'secrets' }, 409, 'Conflict'],
  [{ reason: 'kube_namespace_terminating', namespace: 'tenant-acme' }, 409, 'Conflict'],
  [{ reason: 'kube_immutable' }, 409, 'Conflict'],
  [{ reason: 'kube_invalid', call: 'update Secret' }, 500, 'InternalError'],
  [{ reason: 'kube_forbidden', call: 'update Secret' }, 500, 'InternalError'],
  [{ reason: 'kube_overloaded', retryAfterSeconds: 9 }, 429, 'TooManyRequests'],
  [
    { reason: 'kube_unreachable', call: 'update Secret', why: 'ECONNREFUSED', sent: false },
    503,
    'ServiceUnavailable',
  ],
])('AGG-09: a write that is refused with %j is a %d Status with a reason', async (failure, code, reason) => {
  const { call, logged } = scriptedApp({ updateSecret: async () => fail(failure) })
  const answer = await call(MINT, POST)
  expect(answer.status).toBe(code)
  expect(answer.headers.has('retry-after')).toBe(false)
  expect(await answer.json()).toMatchObject({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code,
    reason,
  })
  expect(logged.find(({ event }) => event === 'credential')).toMatchObject({
    level: code < 500 ? 'info' : 'error',
  })
})

test.each<[failure: KubeFailure, code: number, retryAfter: string | null]>([
  [{ reason: 'kube_overloaded', retryAfterSeconds: 9 }, 429, '9'],
  [{ reason: 'kube_timeout', call: 'get Secret' }, 504, null],
  [{ reason: 'kube_unreachable', call: 'get Secret', why: 'ECONNREFUSED', sent: false }, 503, null],
])('CLI-07: before the write %j is passed on as %d', async (failure, code, retryAfter) => {
  const refusing = async (): Promise<Result<never>> => fail(failure)
  for (const script of [{ getSecret: refusing }, { getHelmRelease: refusing }, { reviewAccess: refusing }]) {
    const { call, writes } = scriptedApp(script)
    const answer = await call(MINT, POST)
    expect(answer.status).toBe(code)
    expect(answer.headers.get('retry-after')).toBe(retryAfter)
    expect(writes()).toBe(0)
  }
})

test('a value that no engine would take is a 500, and nothing is written', async () => {
  const wrong = { ...rules, format: { ...rules.format, derive: async () => '' } }
  const { call, writes } = scriptedApp({}, { web: wrong })
  const answer = await call(MINT, POST)
  expect(answer.status).toBe(500)
  expect(await messageOf(answer)).toContain('nothing was written')
  expect(writes()).toBe(0)
})

describe('a caller who hangs up is at fault, and not who was asked about them:', () => {
  const lost = fail({ reason: 'kube_timeout', call: 'create TokenReview' })

  test.each([
    [MINT, POST],
    [`${CREDENTIALS}/${CREDENTIAL}`, {}],
    [CREDENTIALS, {}],
    [SYNC, POST],
  ])('%s', async (path, init) => {
    for (const asked of ['token', 'impersonation', 'access'] as const) {
      const caller = new AbortController()
      const hangUp = async () => {
        caller.abort()
        return lost
      }
      const unknown: Authenticator = { name: 'hangs up', authenticate: hangUp }
      const script = asked === 'token' ? {} : { reviewAccess: hangUp }
      const { call, logged } = scriptedApp(script, { authenticators: asked === 'token' ? [unknown] : [] })
      const headers = asked === 'impersonation' ? { ...bearer, 'Impersonate-User': 'joe' } : bearer
      expect((await call(path, { ...init, headers, signal: caller.signal })).status).toBe(504)
      expect(logged).toMatchObject([{ level: 'info', fields: { failure: { reason: 'caller_gone' } } }])
    }
  })
})

test('a caller who hangs up while it is read gets no new password', async () => {
  const caller = new AbortController()
  const { call, writes } = scriptedApp({
    reviewAccess: async () => {
      caller.abort()
      return ok(true)
    },
  })
  expect((await call(MINT, { ...POST, signal: caller.signal })).status).toBe(504)
  expect(writes()).toBe(0)
})

test('when reading took so long that a write may not end in time, there is no write', async () => {
  const { call, writes } = scriptedApp(
    {
      reviewAccess: async () => {
        await new Promise((resolve) => setTimeout(resolve, 60))
        return ok(true)
      },
    },
    { writeByMs: 20 },
  )
  const answer = await call(MINT, POST)
  expect(answer.status).toBe(504)
  expect(await answer.json()).toMatchObject({
    reason: 'Timeout',
    message: expect.stringContaining('nothing was written'),
  })
  expect(writes()).toBe(0)
})

test('a body that never ends does not hold the request for longer than a write could wait', async () => {
  const { call, writes } = scriptedApp({}, { writeByMs: 30 })
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{')),
  })
  const answer = await call(MINT, { ...POST, body, duplex: 'half' } as RequestInit)
  expect(answer.status).toBe(504)
  // Nobody is blamed who was not slow.
  expect(await messageOf(answer)).toContain('the time was over: nothing was written')
  expect(writes()).toBe(0)
})

test('a bug is a bare 500, and the log says where and not what', async () => {
  const { call, logged } = scriptedApp({
    getSecret: async () => {
      throw new TypeError('could not read eyJhbGciOi')
    },
  })
  const answer = await call(MINT, POST)
  expect(answer.status).toBe(500)
  expect(await answer.json()).toMatchObject({ kind: 'Status', message: 'internal error' })
  expect(logged.find(({ event }) => event === 'crashed')).toMatchObject({
    level: 'error',
    fields: { error: 'TypeError' },
  })
  expect(JSON.stringify(logged)).not.toContain('eyJhbGciOi')
})

test('who may not mint causes no call to a source of accounts', async () => {
  let asked = 0
  const source = {
    kind: 'Webhook',
    resolve: async () => {
      asked += 1
      return { ok: true, value: { accounts: [{ username: 'web', owner: 'tenant' }], malformed: [] } } as const
    },
  }
  const reviewed = async (allowed: boolean) => {
    const app = scriptedApp({ reviewAccess: async () => ok(allowed) }, { source })
    return (await app.call(MINT, { method: 'POST' })).status
  }
  expect(await reviewed(false)).toBe(403)
  expect(asked).toBe(0)
  expect(await reviewed(true)).toBe(201)
  expect(asked).toBe(1)
})
