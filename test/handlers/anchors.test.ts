import { describe, expect, test } from 'vitest'
import { fail, ok } from '../../src/core/result.ts'
import type { Kube } from '../../src/k8s/kube.ts'
import type { TenantProjection } from '../../src/k8s/objects.ts'
import type { Legs } from '../../src/trust-anchor/services.ts'
import type { Anything } from '../contract/kube.ts'
import { structured } from '../helpers/cloud-events.ts'
import { NAMESPACE } from '../helpers/orders.ts'
import {
  EVENTS_KEY,
  GROUP,
  messageOf,
  RELEASE,
  type ScriptedApp,
  scriptedApp,
  TOKEN,
} from '../helpers/scripted-app.ts'

const POST = { method: 'POST' } as const
const bearer = { Authorization: `Bearer ${TOKEN}` }
const ANCHORS: Legs = { labels: false, names: new Map() }
const NAME = 'postgres-orders-ca'
const PROJECTIONS = `/apis/${GROUP}/v1alpha1/namespaces/${NAMESPACE}/tenantprojections`
const SYNC = `${PROJECTIONS}/${NAME}/sync`

const projectionOf = (name: string, source = NAME): TenantProjection => ({
  apiVersion: 'internal.cozystack.io/v1alpha1',
  kind: 'TenantProjection',
  metadata: {
    name,
    namespace: NAMESPACE,
    uid: `uid-of-${name}`,
    resourceVersion: '7',
    generation: 1,
    labels: { 'helm.toolkit.fluxcd.io/name': `release-of-${name}` },
  },
  spec: { projections: [{ type: 'CACert', sourceSecretName: source }] },
})

/** Declarations whose sources are not there yet. */
const declares = (...projections: readonly TenantProjection[]): Partial<Kube> => ({
  getTenantProjection: async (_, name) => ok(projections.find(({ metadata }) => metadata.name === name)),
  listTenantProjections: async () => ok({ items: projections, resourceVersion: '7' }),
  updateTenantProjectionStatus: async (projection) => ok(projection),
  getHelmRelease: async () => ok(undefined),
  getSecret: async () => ok(undefined),
})
const published = (script: Partial<Kube> = {}, more: Parameters<typeof scriptedApp>[1] = {}) =>
  scriptedApp({ ...declares(projectionOf(NAME)), ...script }, { anchors: ANCHORS, ...more })

describe('a call', () => {
  const NOT_FOUND = `SourceNotFound: there is no Secret ${NAME} yet`

  test('answers 200 with the reason, whatever it is, and is one log line', async () => {
    const { call, logged, counted } = published()
    const answer = await call(SYNC, { ...POST, headers: { ...bearer, 'Audit-ID': 'a-1' } })
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(await answer.json()).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      message: NOT_FOUND,
      details: {
        name: NAME,
        group: GROUP,
        kind: 'tenantprojections',
        causes: [{ reason: 'SourceNotFound', message: NOT_FOUND.replace(/^\w+: /, '') }],
      },
      code: 200,
    })
    expect(logged.filter(({ event }) => event === 'sync')).toEqual([
      {
        level: 'info',
        event: 'sync',
        fields: {
          operation: 'Sync',
          namespace: NAMESPACE,
          projection: NAME,
          user: 'jane@example.org',
          uid: 'u-1',
          auditId: 'a-1',
          code: 200,
          reason: 'SourceNotFound',
          ready: false,
          wrote: false,
          durationMs: 0,
        },
      },
    ])
    expect(counted).toEqual([{ verb: 'sync', code: 200, kind: '' }])
  })

  test('asks for one right, in the group that is served, and reads nothing before it has it', async () => {
    const { call, argumentsOf, called } = published({ reviewAccess: async () => ok(false) })
    const answer = await call(SYNC, POST)
    expect(answer.status).toBe(403)
    expect(await messageOf(answer)).toContain('cannot create resource "tenantprojections/sync"')
    expect(argumentsOf('reviewAccess').map(([, access]) => access)).toEqual([
      {
        verb: 'create',
        group: GROUP,
        resource: 'tenantprojections',
        subresource: 'sync',
        namespace: NAMESPACE,
        name: NAME,
      },
    ])
    expect(called()).toEqual(['reviewAccess'])
  })

  test.each([
    ['what is not declared', SYNC.replace(NAME, 'nothing'), {}, 404],
    ['a name that is none', SYNC.replace(NAME, 'No_Name'), {}, 400],
    ['a namespace that is none', SYNC.replace(NAMESPACE, 'No_Name'), {}, 400],
    ['a dry run', `${SYNC}?dryRun=All`, {}, 400],
    ['a body that is none', SYNC, { body: 'x', headers: { 'Content-Type': 'application/json' } }, 400],
    ['a form', SYNC, { body: new URLSearchParams({ a: 'b' }) }, 415],
    ['nobody', SYNC, { headers: { Authorization: '' } }, 401],
    ['a path that goes on', `${SYNC}/more`, {}, 400],
  ])('of %s is refused', async (_, path, { headers, ...init }: RequestInit, code) => {
    const { call, writes } = published()
    const answer = await call(path, { ...POST, ...init, headers: { ...bearer, ...headers } })
    expect([answer.status, ((await answer.json()) as Anything).kind, writes()]).toEqual([code, 'Status', 0])
  })

  test.each([
    ['GET', 'POST'],
    ['DELETE', 'POST'],
  ])('by %s is 405', async (method, allow) => {
    const { status, headers } = await published().call(SYNC, { method, headers: bearer })
    expect([status, headers.get('allow')]).toEqual([405, allow])
  })

  test.each([
    [{ reason: 'kube_conflict' } as const, 409, 'was changed at the same time: sync again'],
    [
      { reason: 'kube_namespace_terminating', namespace: NAMESPACE } as const,
      409,
      `namespace "${NAMESPACE}" is being terminated`,
    ],
    [{ reason: 'kube_timeout', call: 'update' } as const, 504, 'did not answer in time'],
    [{ reason: 'kube_forbidden', call: 'update' } as const, 500, 'check its ClusterRole'],
  ])('that ends in %j says so', async (failure, code, words) => {
    const { call } = published({ updateTenantProjectionStatus: async () => fail(failure) })
    const answer = await call(SYNC, POST)
    expect([answer.status, await messageOf(answer)]).toEqual([code, expect.stringContaining(words)])
  })

  test('of what is there is none where no CA is published', async () => {
    const { call, called } = scriptedApp(declares(projectionOf(NAME)))
    expect((await call(SYNC, POST)).status).toBe(404)
    expect((await call(SYNC, { headers: bearer })).status).toBe(404)
    expect(called()).toEqual([])
  })
})

describe('the API', () => {
  const read = async (path: string, anchors?: Legs): Promise<Anything> =>
    (await scriptedApp({}, { ...(anchors && { anchors }) }).call(path)).json()

  test('lists the call only where CAs are published', async () => {
    const names = async (anchors?: Legs) =>
      (await read(`/apis/${GROUP}/v1alpha1`, anchors)).resources.map(({ name }: Anything) => name)
    expect(await names()).not.toContain('tenantprojections/sync')
    const added = (await names(ANCHORS)).filter((name: string) => name.startsWith('tenantprojections'))
    expect(added).toEqual(['tenantprojections/sync'])
  })

  test('lists it in the document of everything, too', async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
    const resources = async (anchors?: Legs) => {
      const app = scriptedApp({}, { ...(anchors && { anchors }) })
      const { items } = (await (await app.call('/apis', { headers: { Accept: accept } })).json()) as Anything
      return items[0].versions[0].resources
    }
    const before = await resources()
    const [added, ...others] = (await resources(ANCHORS)).slice(before.length)
    expect(others).toEqual([])
    expect(added).toMatchObject({
      resource: 'tenantprojections',
      verbs: [],
      subresources: [{ subresource: 'sync', responseKind: { kind: 'Status' }, verbs: ['create'] }],
    })
  })

  test('describes it only there', async () => {
    const paths = async (version: string, anchors?: Legs) =>
      Object.keys((await read(version, anchors)).paths).filter((path) => path.includes('tenantprojections'))
    for (const version of ['/openapi/v2', `/openapi/v3/apis/${GROUP}/v1alpha1`]) {
      expect(await paths(version)).toEqual([])
      const [path] = await paths(version, ANCHORS)
      expect(path).toBe(SYNC.replace(NAMESPACE, '{namespace}').replace(NAME, '{name}'))
      const { post } = (await read(version, ANCHORS)).paths[path ?? '']
      expect(Object.keys(post.responses)).toEqual(expect.arrayContaining(['200', '404', '409']))
    }
  })
})

describe('events', () => {
  const send = ({ call }: Pick<ScriptedApp, 'call'>, events: readonly object[]) =>
    call('/events', {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${EVENTS_KEY}`,
        'content-type': 'application/cloudevents-batch+json',
      },
      body: JSON.stringify(events),
    })
  const about = (kind: string, name: string) =>
    structured('dev.knative.apiserver.ref.update', {
      data: {
        apiVersion: kind === 'Secret' ? 'v1' : 'internal.cozystack.io/v1alpha1',
        kind,
        namespace: NAMESPACE,
        name,
      },
    })
  const looked = (app: ScriptedApp) => app.argumentsOf('getTenantProjection').map(([, name]) => name)

  test('about a TenantProjection look at it, each once', async () => {
    const app = published()
    const events = [NAME, NAME, 'nothing'].map((name) => about('TenantProjection', name))
    const answer = await send(app, events)
    expect([answer.status, await answer.text()]).toEqual([204, ''])
    expect(looked(app).toSorted()).toEqual(['nothing', NAME])
    expect(app.counted).toEqual([{ verb: 'events', code: 204, kind: '' }])
  })

  test('about a TenantProjection look at those that it contested as well, each once', async () => {
    const contested = (name: string) => ({
      ...projectionOf(name),
      status: { conditions: [{ type: 'Ready', status: 'False', reason: 'ReleaseContested' }] },
    })
    const app = published(declares(contested('one'), contested('two'), projectionOf('three')))
    const events = ['nothing', 'gone'].map((name) => about('TenantProjection', name))
    expect((await send(app, events)).status).toBe(204)
    expect(looked(app).toSorted()).toEqual(['gone', 'nothing', 'one', 'two'])
    const lists = app.argumentsOf('listTenantProjections').filter(([, page]) => !page.labelSelector)
    expect(lists).toHaveLength(1)
  })

  test('about a TenantProjection that is gone look at what speaks without one, where that is heard', async () => {
    const listSecrets: Kube['listSecrets'] = async () => ok({ items: [], resourceVersion: '7' })
    const anchors: Legs = { labels: true, names: new Map() }
    const app = published({ listSecrets }, { anchors })
    expect((await send(app, [about('TenantProjection', NAME)])).status).toBe(204)
    expect(app.argumentsOf('listSecrets').map(([namespace]) => namespace)).toEqual([])
    expect((await send(app, [about('TenantProjection', 'gone')])).status).toBe(204)
    expect(app.argumentsOf('listSecrets').map(([namespace]) => namespace)).toEqual([NAMESPACE])
  })

  test('about Secrets look at what has to do with them, and read one list for all of a namespace', async () => {
    const app = published(declares(projectionOf('one', 'source'), projectionOf('two', 'other')))
    const events = ['source', 'a', 'b', 'release-of-two.tenant-ca', 'c'].map((name) => about('Secret', name))
    expect((await send(app, events)).status).toBe(204)
    expect(looked(app).toSorted()).toEqual(['one', 'two'])
    // Those of a whole namespace; beside them, each declaration looks for its rivals by their label.
    const lists = app.argumentsOf('listTenantProjections').filter(([, page]) => !page.labelSelector)
    expect(lists).toHaveLength(1)
  })

  test('a burst of them costs two looks at the namespace, and leaves none out', async () => {
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    const { promise: hasBegun, resolve: begun } = Promise.withResolvers<void>()
    const listTenantProjections: Kube['listTenantProjections'] = async () => {
      begun()
      await held
      return ok({ items: [projectionOf('one', 'source')], resourceVersion: '7' })
    }
    const app = published({ ...declares(projectionOf('one', 'source')), listTenantProjections })
    const first = send(app, [about('Secret', 'first')])
    await hasBegun
    const others = Array.from({ length: 20 }, async (_, index) => {
      const { status } = await send(app, [about('Secret', index === 19 ? 'source' : `secret-${index}`)])
      return status
    })
    expect(new Set(await Promise.all(others))).toEqual(new Set([202]))
    letGo()
    expect((await first).status).toBe(204)
    expect(looked(app)).toEqual(['one'])
    const lists = app.argumentsOf('listTenantProjections').filter(([, page]) => !page.labelSelector)
    expect(lists).toHaveLength(2)
  })

  test.each(['postgres-orders.web.account', 'sh.helm.release.v1.postgres-orders.v1'])(
    'about %s cost no call',
    async (name) => {
      const app = published()
      expect((await send(app, [about('Secret', name)])).status).toBe(204)
      expect(app.called()).toEqual([])
    },
  )

  test('are sent again when the Kubernetes API was away, and not when others were faster', async () => {
    const away = published({
      getTenantProjection: async () => fail({ reason: 'kube_overloaded', retryAfterSeconds: 1 }),
    })
    expect((await send(away, [about('TenantProjection', NAME)])).status).toBe(503)
    expect(away.logged).toContainEqual({
      level: 'warn',
      event: 'anchor_failed',
      fields: { leg: 'projection', namespace: NAMESPACE, name: NAME, failure: 'kube_overloaded' },
    })
    const unlisted = published({
      listTenantProjections: async () => fail({ reason: 'kube_timeout', call: 'list' }),
    })
    expect((await send(unlisted, [about('Secret', NAME)])).status).toBe(503)
    const raced = published({ updateTenantProjectionStatus: async () => fail({ reason: 'kube_conflict' }) })
    expect((await send(raced, [about('TenantProjection', NAME)])).status).toBe(204)
  })

  test('mean nothing where no CA is published', async () => {
    const app = scriptedApp(declares(projectionOf(NAME)))
    expect((await send(app, [about('TenantProjection', NAME), about('Secret', NAME)])).status).toBe(204)
    expect(app.called()).toEqual([])
  })
})

describe('a tick', () => {
  const tick = ({ call }: Pick<ScriptedApp, 'call'>) =>
    call('/tick', { method: 'POST', headers: { Authorization: `Bearer ${EVENTS_KEY}` } })

  test('looks at every declaration, after the releases', async () => {
    const app = published()
    expect((await tick(app)).status).toBe(204)
    expect(app.argumentsOf('listTenantProjections')[0]?.[0]).toBeUndefined()
    expect(app.argumentsOf('updateTenantProjectionStatus')).toHaveLength(1)
  })

  test('does so when the releases could not be listed, and the other way round', async () => {
    const releases = published({}, { sweep: async () => fail({ reason: 'kube_timeout', call: 'list' }) })
    expect((await tick(releases)).status).toBe(503)
    expect(releases.argumentsOf('updateTenantProjectionStatus')).toHaveLength(1)
    const anchors = published({
      listTenantProjections: async () => fail({ reason: 'kube_timeout', call: 'list' }),
    })
    expect((await tick(anchors)).status).toBe(503)
    expect(anchors.logged.map(({ event }) => event)).toContain('anchor_sweep_failed')
  })

  test('looks at none where no CA is published', async () => {
    const app = scriptedApp(declares(projectionOf(NAME)))
    expect((await tick(app)).status).toBe(204)
    expect(app.called()).toEqual([])
  })
})

test('a HelmRelease is synced as before', async () => {
  const { call } = published({ listSecrets: async () => ok({ items: [], resourceVersion: '1' }) })
  expect((await call(`${RELEASE}/sync`, POST)).status).toBe(404)
})
