import { beforeEach, describe, expect, test } from 'vitest'
import { decodeData } from '../../src/core/text.ts'
import {
  admissionAppOf,
  type Cluster,
  createOf,
  newRelease,
  startCluster,
  updateOf,
  wireOf,
} from '../helpers/admission.ts'
import { scriptedApp } from '../helpers/scripted-app.ts'

const VALIDATE = '/admission/validate'
const MUTATE = '/admission/mutate'

let cluster: Cluster
let app: Awaited<ReturnType<typeof admissionAppOf>>
beforeEach(async () => {
  cluster = startCluster()
  app = await admissionAppOf(cluster)
})

const post = (path: string, body: string | Uint8Array<ArrayBuffer>, contentType = 'application/json') =>
  app.call(path, { method: 'POST', headers: { 'Content-Type': contentType }, body })

/** The answer to a review, which is 200 whatever it says. */
async function ask(path: string, review: ReturnType<typeof wireOf>) {
  const answer = await post(path, JSON.stringify(review))
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('application/json')
  const { apiVersion, kind, response } = (await answer.json()) as Answer
  expect({ apiVersion, kind }).toEqual({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' })
  expect(response.uid).toBe((review as { readonly request: { readonly uid: string } }).request.uid)
  return response
}

interface Answer {
  readonly apiVersion: string
  readonly kind: string
  readonly response: {
    readonly uid: string
    readonly allowed: boolean
    readonly status?: { readonly code: number; readonly reason: string; readonly message: string }
    readonly warnings?: readonly string[]
    readonly patchType?: string
    readonly patch?: string
  }
}

const billing = (users: unknown = { web: {} }) => newRelease('Postgres', 'billing', { users })
const secret = (user = 'web') => cluster.secret(`postgres-billing.${user}.account`)

describe('an AdmissionReview', () => {
  test('is allowed with its uid, and nothing else', async () => {
    const response = await ask(VALIDATE, wireOf(createOf(billing())))
    expect(response).toEqual({ uid: response.uid, allowed: true })
    expect(await secret()).toBeDefined()
    expect(app.counted).toEqual([{ verb: 'admission', code: 200, kind: '' }])
  })

  test('is refused by a Status whose causes name what was written', async () => {
    expect(await ask(VALIDATE, wireOf(createOf(billing({ a_b: {}, 'a-b': {} }))))).toEqual({
      uid: expect.any(String),
      allowed: false,
      status: {
        code: 422,
        reason: 'Invalid',
        message:
          'Postgres.apps.cozystack.io "billing" is invalid: spec.users["a-b"]: the usernames "a-b" and "a_b" map to one account name, "a-b": rename one of them',
        details: {
          group: 'apps.cozystack.io',
          kind: 'Postgres',
          name: 'billing',
          causes: [
            {
              reason: 'FieldValueInvalid',
              field: 'spec.users["a-b"]',
              message: 'the usernames "a-b" and "a_b" map to one account name, "a-b": rename one of them',
            },
          ],
        },
      },
    })
  })

  test('names what is wrong with a definition', async () => {
    await cluster.setBlock('postgres', { format: { name: 'md5' } })
    const { allowed, status } = await ask(VALIDATE, wireOf(createOf(billing())))
    expect({ allowed, code: status?.code }).toEqual({ allowed: false, code: 500 })
    expect(status?.message).toMatch(
      /ApplicationDefinition "postgres" is wrong: spec.credentials.format.name: /,
    )
  })

  test('is answered with a patch where there is something to patch', async () => {
    const { patchType, patch, warnings } = await ask(
      MUTATE,
      wireOf(createOf(billing({ web: { password: 'hunter2' } }))),
    )
    expect(patchType).toBe('JSONPatch')
    expect(JSON.parse(decodeData(patch) ?? '')).toEqual([
      { op: 'remove', path: '/spec/values/users/web/password' },
    ])
    expect(warnings).toEqual(['spec.users["web"].password is ignored: mint a password instead'])
    expect(cluster.logged.join('')).not.toContain('hunter2')
    const none = await ask(MUTATE, wireOf(createOf(billing())))
    expect(none).toEqual({ uid: none.uid, allowed: true })
  })

  test('has few warnings, and short ones', async () => {
    const users = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`${index}${'ü'.repeat(150)}`, { password: 'hunter2' }]),
    )
    const { warnings = [], patch } = await ask(MUTATE, wireOf(createOf(billing(users))))
    expect(JSON.parse(decodeData(patch) ?? '')).toHaveLength(40)
    expect(warnings.length).toBe(10)
    expect(warnings.at(-1)).toBe('and 31 more like these')
    for (const warning of warnings) expect(Buffer.byteLength(warning)).toBeLessThanOrEqual(256)
  })

  test('of a long list of mistakes gets an answer of some length', async () => {
    const users = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`-${'x'.repeat(3000)}${index}`, {}]),
    )
    const { status } = await ask(VALIDATE, wireOf(createOf(billing(users))))
    expect(JSON.stringify(status).length).toBeLessThan(16_384)
  })

  test.each([
    ['another resource', { resource: { group: 'apps', version: 'v1', resource: 'deployments' } }],
    ['a subresource', { subResource: 'status' }],
    ['a connection', { operation: 'CONNECT' }],
  ])('about %s is allowed, and nothing is done', async (_, change) => {
    const review = wireOf(createOf(billing()))
    const { allowed } = await ask(VALIDATE, {
      ...review,
      request: { ...(review.request as object), ...change },
    })
    expect(allowed).toBe(true)
    expect(cluster.writes()).toEqual([])
  })

  test('is looked at by what the cluster holds: adoption comes after the answer', async () => {
    await ask(VALIDATE, wireOf(createOf(billing())))
    const stored = await cluster.store(billing())
    const marks = { 'credentials.cozystack.io/release-uid': stored.metadata.uid }
    await cluster.send('PATCH', '/api/v1/namespaces/tenant-acme/secrets/postgres-billing.web.account', {
      metadata: { annotations: marks },
    })
    expect(await ask(VALIDATE, wireOf(updateOf(stored, { suspend: true })))).toMatchObject({ allowed: true })
    await app.afterwards()
    expect((await secret())?.metadata.ownerReferences).toMatchObject([{ uid: stored.metadata.uid }])
  })

  test('is answered before anything is read for adoption: the API server stores when it has the answer', async () => {
    const stored = await cluster.store(billing())
    expect(await ask(VALIDATE, wireOf(updateOf(stored, { suspend: true })))).toMatchObject({ allowed: true })
    cluster.breaks('GET', /\/helmreleases\/postgres-billing$/)
    await app.afterwards()
    expect(cluster.logged.join()).toContain('adoption_failed')
  })

  test('is stored nowhere in a dry run, not even afterwards', async () => {
    await ask(VALIDATE, wireOf(createOf(billing(), { dryRun: true })))
    const stored = await cluster.release('postgres-orders')
    await ask(VALIDATE, wireOf(updateOf(stored, { suspend: true }, { dryRun: true })))
    await app.afterwards()
    expect(cluster.writes()).toEqual([])
  })
})

describe('what is no AdmissionReview', () => {
  const review = () => wireOf(updateOf(newRelease('Postgres', 'orders', {}), { values: { users: {} } }))
  const withRequest = (change: object) => ({
    ...review(),
    request: { ...(review().request as object), ...change },
  })
  const release = (metadata: object) => ({ ...billing(), metadata: { ...billing().metadata, ...metadata } })

  test.each<[string, unknown]>([
    ['a list', []],
    ['another kind', { ...review(), kind: 'TokenReview' }],
    ['another version', { ...review(), apiVersion: 'admission.k8s.io/v1beta1' }],
    ['one without a request', { ...review(), request: null }],
    ['one without a uid', withRequest({ uid: '' })],
    ['one with a uid like no other', withRequest({ uid: '<script>' })],
    ['one without a namespace', withRequest({ namespace: '' })],
    ['one of a namespace that is a path', withRequest({ namespace: '../kube-system' })],
    [
      'one of a name that is a path',
      withRequest({ name: '../../secrets', object: null, operation: 'DELETE' }),
    ],
    ['one of two names', withRequest({ name: 'postgres-billing' })],
    ['one of nobody', withRequest({ userInfo: {} })],
    ['one without its object', withRequest({ object: null })],
    ['one without what was there', withRequest({ oldObject: null })],
    ['one whose object is of another namespace', withRequest({ object: release({ namespace: 'tenant-b' }) })],
    ['one whose object has no metadata', withRequest({ object: { spec: {} } })],
    ['one whose object has a uid like no other', withRequest({ object: release({ uid: 'a b' }) })],
    ['one whose object has no spec', withRequest({ object: { ...billing(), spec: 'x' } })],
  ])('%s is 400', async (_, body) => {
    for (const path of [VALIDATE, MUTATE]) {
      const answer = await post(path, JSON.stringify(body))
      expect(answer.status).toBe(400)
      expect(await answer.json()).toMatchObject({ kind: 'Status', reason: 'BadRequest' })
    }
    expect(cluster.writes()).toEqual([])
  })

  // `k8s.io/apiserver/pkg/registry/generic/registry/store.go`, `create`: the name is generated before validation only.
  test('a create without any name is one for a mutating webhook only, where it is still to be generated', async () => {
    const { request } = wireOf(
      createOf(release({ name: undefined, generateName: 'postgres-' }), { name: '' }),
    )
    const unnamed = JSON.stringify({ ...review(), request })
    expect((await post(VALIDATE, unnamed)).status).toBe(400)
    expect((await post(MUTATE, unnamed)).status).toBe(200)
    expect(cluster.logged.join('')).not.toContain('crashed')
    // The API server leaves `request.name` empty then, and the object has its name.
    const generated = { ...(request as object), object: release({ generateName: 'postgres-' }) }
    expect(await ask(VALIDATE, { ...review(), request: generated })).toMatchObject({ allowed: true })
  })

  test('nor is what is no JSON, no UTF-8, or a thousand lists in each other', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const unclosed = `"${'\\"'.repeat(2_000_000)}`
    for (const body of ['', 'x', '{', '\ufeff{}', new Uint8Array([0xff]), deep, unclosed]) {
      expect((await post(VALIDATE, body)).status).toBe(400)
    }
    const values = JSON.parse(`${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}`)
    const nested = wireOf(createOf(newRelease('Postgres', 'billing', values)))
    expect((await post(VALIDATE, JSON.stringify(nested))).status).toBe(400)
  })

  test('nor is what is sent as something else, in another way, or without end', async () => {
    expect((await post(VALIDATE, '{}', 'text/plain')).status).toBe(415)
    expect((await app.call(VALIDATE)).status).toBe(405)
    expect((await post(VALIDATE, ' '.repeat(8 * 1024 * 1024 + 1))).status).toBe(413)
    const large = createOf(newRelease('Kafka', 'large', { text: 'x'.repeat(3 * 1024 * 1024) }))
    await ask(VALIDATE, wireOf(large))
  })
})

test('the app that Knative and the worker serve knows nothing of it', async () => {
  const { call, called } = scriptedApp()
  for (const path of [VALIDATE, MUTATE]) {
    const answer = await call(path, { method: 'POST', body: JSON.stringify(wireOf(createOf(billing()))) })
    expect(answer.status, path).toBe(404)
  }
  expect(called()).toEqual([])
})

test('there is nothing else here', async () => {
  for (const path of ['/', '/livez', '/readyz', '/apis', '/admission', `${VALIDATE}/more`, '/metrics']) {
    expect((await app.call(path)).status, path).toBe(404)
  }
  expect((await app.call(`${VALIDATE}/..%2fmutate`)).status).toBe(400)
})

describe('a review that somebody has made up', () => {
  const forged = (namespace: string, users: unknown = { web: {} }) => {
    const release = billing(users)
    return createOf({ ...release, metadata: { ...release.metadata, namespace } }, { namespace })
  }

  test('of a namespace that is not there writes nothing', async () => {
    expect(await ask(VALIDATE, wireOf(forged('tenant-nobody')))).toMatchObject({ allowed: false })
    expect(cluster.writes()).toEqual([])
  })

  test('can make at most 256 Secrets, of one namespace, that nobody can log in with', async () => {
    const users = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`u${index}`, {}]))
    expect(await ask(VALIDATE, wireOf(forged('default', users)))).toMatchObject({ allowed: false })
    expect(cluster.writes()).toEqual([])
    expect(await ask(VALIDATE, wireOf(forged('default')))).toMatchObject({ allowed: true })
    const made = await cluster.send('GET', '/api/v1/namespaces/default/secrets')
    expect(await made.json()).toMatchObject({
      items: [
        {
          type: 'kubernetes.io/basic-auth',
          metadata: { annotations: { 'credentials.cozystack.io/origin': 'NotIssued' } },
        },
      ],
    })
  })

  test.each(['CREATE', 'UPDATE', 'DELETE'] as const)(
    'as a %s of a release that exists changes no Secret',
    async (operation) => {
      const stored = await cluster.release('postgres-orders')
      const pretended = { ...stored, metadata: { ...stored.metadata, uid: 'made-up' } }
      for (const object of [stored, pretended]) {
        const review = { ...updateOf(object, { values: { users: { web: {}, report: {} } } }), operation }
        for (const path of [VALIDATE, MUTATE]) await ask(path, wireOf(review))
      }
      await app.afterwards()
      expect(cluster.writes()).toEqual([])
    },
  )
})
