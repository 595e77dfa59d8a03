import { describe, expect, test } from 'vitest'
import type { KubeFailure } from '../../src/core/failure.ts'
import { fail, ok } from '../../src/core/result.ts'
import type { Kube } from '../../src/k8s/kube.ts'
import { accountSecret, release, rules } from '../helpers/orders.ts'
import { GROUP, messageOf, SYNC, scriptedApp, TOKEN } from '../helpers/scripted-app.ts'

const POST = { method: 'POST' } as const
const bearer = { Authorization: `Bearer ${TOKEN}` }
/** Never deployed, and no account Secret yet. */
const NEW: Partial<Kube> = {
  listSecrets: async () => ok({ items: [], resourceVersion: '12' }),
  getSecret: async () => ok(undefined),
}

const successOf = (counts: Readonly<Record<string, number>>) => {
  const all = { created: 0, adopted: 0, marked: 0, deleted: 0, warnings: 0, ...counts }
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    message: `created ${all.created}, adopted ${all.adopted}, marked ${all.marked}, deleted ${all.deleted}, warnings ${all.warnings}`,
    details: {
      name: 'postgres-orders',
      group: GROUP,
      kind: 'helmreleases',
      causes: [
        { reason: 'Created', message: `${all.created}` },
        { reason: 'Adopted', message: `${all.adopted}` },
        { reason: 'Marked', message: `${all.marked}` },
        { reason: 'Deleted', message: `${all.deleted}` },
        { reason: 'Warnings', message: `${all.warnings}` },
      ],
    },
    code: 200,
  }
}

test('a sync answers 200 with what it did, and names who asked in the record', async () => {
  const { call, argumentsOf } = scriptedApp(NEW)
  const answer = await call(SYNC, POST)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(await answer.json()).toEqual(successOf({ created: 1 }))
  const [[secret] = []] = argumentsOf('createSecret')
  expect(secret?.metadata.name).toBe('postgres-orders.web.account')
  expect(secret?.metadata.annotations).toMatchObject({
    'credentials.cozystack.io/origin': 'NotIssued',
    'credentials.cozystack.io/history': expect.stringContaining('"by":"jane@example.org"'),
  })
})

test('who acts as another is recorded with both names', async () => {
  const { call, argumentsOf, logged } = scriptedApp(NEW)
  const headers = { ...bearer, 'Impersonate-User': 'bob@example.org' }
  expect((await call(SYNC, { ...POST, headers })).status).toBe(200)
  const [[secret] = []] = argumentsOf('createSecret')
  const history = secret?.metadata.annotations?.['credentials.cozystack.io/history'] ?? ''
  expect(JSON.parse(history)).toMatchObject([
    { operation: 'Create', by: 'bob@example.org', impersonator: 'jane@example.org' },
  ])
  expect(logged.find(({ event }) => event === 'sync')?.fields).toMatchObject({
    user: 'bob@example.org',
    impersonator: 'jane@example.org',
  })
})

test('one with nothing to do writes nothing, whatever proxies may think of it', async () => {
  const canonical = { ...rules, format: { ...rules.format, canonical: /./ } }
  const { call, writes } = scriptedApp({}, { web: canonical })
  for (const headers of [{}, { 'Idempotency-Key': '1' }, { 'X-Idempotency-Key': '1' }]) {
    const answer = await call(SYNC, { ...POST, headers: { ...bearer, ...headers } })
    expect([answer.status, await answer.json()]).toEqual([200, successOf({})])
  }
  expect(writes()).toBe(0)
})

test('each sync is one log line, and counted as one', async () => {
  const { call, logged, counted } = scriptedApp(NEW)
  await call(SYNC, { ...POST, headers: { ...bearer, 'Audit-ID': 'a-1' } })
  await call(SYNC.replace('postgres-orders', 'nothing'), POST)
  expect(logged.filter(({ event }) => event === 'sync')).toEqual([
    {
      level: 'info',
      event: 'sync',
      fields: {
        operation: 'Sync',
        namespace: 'tenant-acme',
        release: 'postgres-orders',
        user: 'jane@example.org',
        uid: 'u-1',
        auditId: 'a-1',
        code: 200,
        created: 1,
        adopted: 0,
        marked: 0,
        deleted: 0,
        warnings: 0,
        durationMs: 0,
      },
    },
    { level: 'info', event: 'sync', fields: expect.objectContaining({ release: 'nothing', code: 404 }) },
  ])
  expect(counted).toEqual([
    { verb: 'sync', code: 200, kind: 'Postgres' },
    { verb: 'sync', code: 404, kind: '' },
  ])
})

describe('who may', () => {
  test('is asked twice: for the call, and for an update of the application by its own name', async () => {
    const { call, argumentsOf } = scriptedApp(NEW)
    await call(SYNC, POST)
    expect(argumentsOf('reviewAccess').map(([, access]) => access)).toEqual([
      {
        verb: 'create',
        group: GROUP,
        resource: 'helmreleases',
        subresource: 'sync',
        namespace: 'tenant-acme',
        name: 'postgres-orders',
      },
      {
        verb: 'update',
        group: 'apps.cozystack.io',
        resource: 'postgreses',
        namespace: 'tenant-acme',
        name: 'orders',
      },
    ])
  })

  test('behind the front proxy only the first was asked by kube-apiserver: the second is without its mightiest group', async () => {
    const master = { username: 'root', uid: undefined, groups: ['system:masters', 'dev'], extra: {} }
    const vouched = {
      name: 'proxy',
      authenticate: async () => ok({ ...master, vouchedBy: 'front-proxy' as const }),
    }
    const { call, argumentsOf } = scriptedApp(NEW, { authenticators: [vouched] })
    await call(SYNC, POST)
    expect(argumentsOf('reviewAccess').map(([{ groups }]) => groups)).toEqual([
      ['system:masters', 'dev'],
      ['dev'],
    ])
  })

  test('without a yes to the first, nothing that was read reaches the caller', async () => {
    const unserved = { ...release, metadata: { ...release.metadata, labels: {} } }
    const scripts: readonly Partial<Kube>[] = [
      {},
      { getHelmRelease: async () => ok(undefined) },
      { getHelmRelease: async () => ok(unserved) },
      { getHelmRelease: async () => fail({ reason: 'kube_timeout', call: 'get HelmRelease' }) },
    ]
    const answers = await Promise.all(
      scripts.flatMap((script) => {
        const { call, writes } = scriptedApp({ ...script, reviewAccess: async () => ok(false) })
        return [SYNC, `${SYNC}?dryRun=All`].map(async (path) => {
          const text = await (await call(path, POST)).text()
          expect(writes()).toBe(0)
          return text
        })
      }),
    )
    expect(new Set(answers).size).toBe(1)
    expect(JSON.parse(answers[0] ?? '')).toMatchObject({
      code: 403,
      message: `helmreleases.${GROUP} "postgres-orders" is forbidden: User "jane@example.org" cannot create resource "helmreleases/sync" in API group "${GROUP}" in the namespace "tenant-acme"`,
    })
  })

  test('without a yes to the second nothing is done, and the answer names the application', async () => {
    const { call, called, writes } = scriptedApp({
      ...NEW,
      reviewAccess: async (_subject, { verb }) => ok(verb === 'create'),
    })
    const answer = await call(SYNC, POST)
    expect(answer.status).toBe(403)
    expect(await messageOf(answer)).toBe(
      'postgreses.apps.cozystack.io "orders" is forbidden: User "jane@example.org" cannot update resource "postgreses" in API group "apps.cozystack.io" in the namespace "tenant-acme"',
    )
    expect(called()).not.toContain('listSecrets')
    expect(writes()).toBe(0)
  })

  test('is nobody without credentials', async () => {
    const { call, called } = scriptedApp()
    const answer = await call(SYNC, { ...POST, headers: {} })
    expect([answer.status, called()]).toEqual([401, []])
  })
})

test.each<[what: string, script: Partial<Kube>, says: string]>([
  ['unknown', { getHelmRelease: async () => ok(undefined) }, 'not found'],
  [
    'no application',
    { getHelmRelease: async () => ok({ ...release, metadata: { ...release.metadata, labels: {} } }) },
    'it is no application',
  ],
  [
    'of a kind that is not served',
    {
      getHelmRelease: async () => {
        const labels = { ...release.metadata.labels, 'apps.cozystack.io/application.kind': 'Bucket' }
        return ok({ ...release, metadata: { ...release.metadata, labels } })
      },
    },
    'applications of kind Bucket have no minted credentials',
  ],
])('a release that is %s is 404', async (_, script, says) => {
  const { call, writes } = scriptedApp(script)
  const answer = await call(SYNC, POST)
  expect(answer.status).toBe(404)
  expect(await answer.json()).toMatchObject({
    reason: 'NotFound',
    message: expect.stringContaining(says),
    details: { name: 'postgres-orders', group: GROUP, kind: 'helmreleases' },
  })
  expect(writes()).toBe(0)
})

test.each([undefined, 'no plural', '../secrets'])(
  'a definition with the plural %j is a 500',
  async (plural) => {
    const { call, writes } = scriptedApp(NEW, { web: { ...rules, plural } })
    const answer = await call(SYNC, POST)
    expect(answer.status).toBe(500)
    expect(await messageOf(answer)).toContain('"postgres" is wrong: spec.application.plural')
    expect(writes()).toBe(0)
  },
)

test.each<[what: string, path: string, init: RequestInit, code: number]>([
  ['a dry run', `${SYNC}?dryRun=All`, {}, 400],
  ['half a dry run', `${SYNC}?dryRun`, {}, 400],
  ['an unknown parameter', `${SYNC}?dryrun=All`, {}, 400],
  ['a body that is no JSON', SYNC, { body: '{' }, 400],
  ['a body that is no object', SYNC, { body: '[]' }, 400],
  ['a body that is too large', SYNC, { body: `{"a":"${'x'.repeat(65_536)}"}` }, 413],
  ['a form', SYNC, { body: 'a=b', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }, 415],
  ['a release that can be none', SYNC.replace('postgres-orders', 'Postgres'), {}, 400],
  ['a namespace that can be none', SYNC.replace('tenant-acme', 'tenant.acme'), {}, 400],
  ['a segment too many', `${SYNC}/again`, {}, 400],
])('%s is refused', async (_, path, init, code) => {
  const { call, writes } = scriptedApp(NEW)
  const type = init.body === undefined ? {} : { 'Content-Type': 'application/json' }
  const answer = await call(path, { ...POST, ...init, headers: { ...bearer, ...type, ...init.headers } })
  expect([answer.status, writes()]).toEqual([code, 0])
})

test.each(['', '{}', ' {"kind":"Anything"} '])('the body %j is none', async (body) => {
  const { call } = scriptedApp(NEW)
  const answer = await call(SYNC, {
    ...POST,
    body,
    headers: { ...bearer, 'Content-Type': 'application/json' },
  })
  expect(answer.status).toBe(200)
})

test.each<[failure: KubeFailure, code: number, says: RegExp]>([
  [{ reason: 'kube_conflict' }, 409, /sync again/],
  [{ reason: 'kube_quota_exceeded', quota: 'few' }, 409, /resource quota "few"/],
  [{ reason: 'kube_namespace_terminating', namespace: 'tenant-acme' }, 409, /being terminated/],
  [{ reason: 'kube_forbidden', call: 'create Secret' }, 500, /create Secret/],
  [{ reason: 'kube_overloaded', retryAfterSeconds: 9 }, 429, /overloaded/],
  [{ reason: 'kube_timeout', call: 'create Secret' }, 504, /did not answer in time/],
])('a write that ends in %j is %d', async (failure, code, says) => {
  const { call } = scriptedApp({ ...NEW, createSecret: async () => fail(failure) })
  const answer = await call(SYNC, POST)
  expect(answer.status).toBe(code)
  expect(await messageOf(answer)).toMatch(says)
})

test('what it warns about is counted, and an Event', async () => {
  const { call, argumentsOf, writes } = scriptedApp({
    listSecrets: async () => ok({ items: [], resourceVersion: '12' }),
    getSecret: async () => ok(accountSecret({ type: 'Opaque' })),
  })
  expect(await (await call(SYNC, POST)).json()).toEqual(successOf({ warnings: 1 }))
  expect(argumentsOf('createEvent')).toHaveLength(1)
  expect(writes()).toBe(0)
})
