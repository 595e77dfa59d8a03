import { describe, expect, test } from 'vitest'
import type { Secret, StoredSecret } from '../../src/k8s/objects.ts'
import { json, scripted, status } from './scripted-fetch.ts'

const SECRETS = '/api/v1/namespaces/tenant-a/secrets'
const fresh: Secret = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'tenant-a', name: 's' } }
const stored: StoredSecret = {
  ...fresh,
  metadata: { ...fresh.metadata, uid: 'uid-1', resourceVersion: '240' },
}
const release = {
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  metadata: { name: 'r', namespace: 'tenant-a', uid: 'u', resourceVersion: '7' },
}
const senseless = (call: string, code = 200) => ({ ok: false, failure: { reason: 'kube_error', call, code } })
const preconditions = { uid: 'uid-1', resourceVersion: '240' }

describe('reading', () => {
  test('asks for JSON, follows no redirect, and knows the paths', async () => {
    const { kube, sent } = scripted(
      json(stored),
      json({ ...release, spec: {} }),
      json({ gitVersion: 'v1.36.3' }),
    )
    expect(await kube.getSecret('tenant-a', 's')).toEqual({ ok: true, value: stored })
    expect(await kube.getHelmRelease('tenant-a', 'r')).toMatchObject({ ok: true })
    expect(await kube.ping()).toEqual({ ok: true, value: undefined })
    expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
      `GET ${SECRETS}/s`,
      'GET /apis/helm.toolkit.fluxcd.io/v2/namespaces/tenant-a/helmreleases/r',
      'GET /version',
    ])
    expect(sent.every(({ redirect, headers }) => redirect === 'manual' && headers.get('accept'))).toBe(true)
  })

  test.each([
    ['another kind', { ...stored, kind: 'ConfigMap' }],
    ['a Status', { kind: 'Status', status: 'Success' }],
    ['no uid', { ...stored, metadata: { ...stored.metadata, uid: '' } }],
    ['no resourceVersion', { ...stored, metadata: { ...stored.metadata, resourceVersion: undefined } }],
    ['no metadata', { kind: 'Secret' }],
    ['a list', [stored]],
    ['null', null],
    ['a text', 'Secret'],
  ])('takes no answer with %s for a Secret', async (_, answer) => {
    expect(await scripted(json(answer)).kube.getSecret('tenant-a', 's')).toEqual(senseless('get Secret'))
  })

  test.each(['', '{"kind":"Secret"', '<html></html>'])('takes %j for no answer', async (text) => {
    expect(await scripted(new Response(text)).kube.getSecret('tenant-a', 's')).toEqual(
      senseless('get Secret'),
    )
  })

  test('a HelmRelease without a spec, which its CRD allows, has an empty one', async () => {
    const answer = await scripted(json(release)).kube.getHelmRelease('tenant-a', 'r')
    expect(answer).toEqual({ ok: true, value: { ...release, spec: {} } })
  })

  test('a key of a Secret that is named like a property of every object is kept as any other', async () => {
    const text =
      '{"kind":"Secret","metadata":{"name":"s","uid":"u","resourceVersion":"1"},"data":{"__proto__":"eA=="}}'
    const answer = await scripted(new Response(text)).kube.getSecret('tenant-a', 's')
    expect(answer.ok && Object.keys(answer.value?.data ?? {})).toEqual(['__proto__'])
  })

  test.each(['..', 'a/b', '', 'UPPER', '%2e%2e'])(
    'a name such as %j is a bug and reaches no URL',
    async (name) => {
      const { kube, sent } = scripted()
      await expect(kube.getSecret('tenant-a', name)).rejects.toThrow(TypeError)
      await expect(kube.getSecret(name, 's')).rejects.toThrow(TypeError)
      await expect(kube.listSecrets(name, {})).rejects.toThrow(TypeError)
      await expect(kube.createSecret({ ...fresh, metadata: { name: 's', namespace: name } })).rejects.toThrow(
        TypeError,
      )
      expect(sent).toEqual([])
    },
  )
})

describe('writing', () => {
  test('CLI-03: creates, updates and deletes, and patches nothing; each body says that it is JSON', async () => {
    const { kube, sent } = scripted(
      json(stored, 201),
      json(stored),
      json({ kind: 'Status', status: 'Success' }),
    )
    await kube.createSecret(fresh)
    await kube.updateSecret(stored)
    await kube.deleteSecret('tenant-a', 's', preconditions)
    expect(sent.map(({ method, path, headers }) => [method, path, headers.get('content-type')])).toEqual([
      ['POST', SECRETS, 'application/json'],
      ['PUT', `${SECRETS}/s`, 'application/json'],
      ['DELETE', `${SECRETS}/s`, 'application/json'],
    ])
  })

  test('an update carries the uid and the version that were read, and every field that we do not know', async () => {
    const read = {
      ...stored,
      metadata: { ...stored.metadata, managedFields: [{ manager: 'x' }] },
      novel: { deep: [1] },
    }
    const { kube, sent } = scripted(
      json(read),
      json({ ...read, metadata: { ...read.metadata, resourceVersion: '241' } }),
    )
    const found = await kube.getSecret('tenant-a', 's')
    if (!found.ok || found.value === undefined) throw new Error('not found')
    const answer = await kube.updateSecret({ ...found.value, type: 'kubernetes.io/basic-auth' })
    expect(sent[1]?.body).toEqual({ ...read, type: 'kubernetes.io/basic-auth' })
    expect(answer.ok && answer.value.metadata.resourceVersion).toBe('241')
  })

  test('a delete names the uid and the version in its body', async () => {
    const { kube, sent } = scripted(json({ kind: 'Status', status: 'Success' }))
    expect(await kube.deleteSecret('tenant-a', 's', preconditions)).toEqual({ ok: true, value: undefined })
    expect(sent[0]?.body).toEqual({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions,
      propagationPolicy: 'Background',
    })
  })

  test.each([
    ['', '240'],
    ['0', '240'],
    ['uid-1', ''],
    ['uid-1', '0'],
  ])('uid %j with version %j would be no precondition: nothing is sent', async (uid, resourceVersion) => {
    const { kube, sent } = scripted()
    const secret = { ...stored, metadata: { ...stored.metadata, uid, resourceVersion } }
    await expect(kube.updateSecret(secret)).rejects.toThrow(TypeError)
    await expect(kube.deleteSecret('tenant-a', 's', { uid, resourceVersion })).rejects.toThrow(TypeError)
    expect(sent).toEqual([])
  })

  test('a dry run is one in the query, and for a delete in the body too, where the API server looks first', async () => {
    const { uid } = stored.metadata
    const unversioned = { ...fresh, metadata: { ...fresh.metadata, uid } }
    const { kube, sent } = scripted(json(unversioned, 201), json(stored), json(stored))
    const options = { dryRun: true }
    expect(await kube.createSecret(fresh, options)).toEqual({ ok: true, value: unversioned })
    expect(await kube.updateSecret(stored, options)).toMatchObject({ ok: true })
    expect(await kube.deleteSecret('tenant-a', 's', preconditions, options)).toMatchObject({ ok: true })
    expect(sent.map(({ query }) => query.dryRun)).toEqual(['All', 'All', 'All'])
    expect(sent[2]?.body).toMatchObject({ dryRun: ['All'] })
  })

  test('a write that is no dry run says nothing of one', async () => {
    const { kube, sent } = scripted(json(stored, 201), json(stored))
    await kube.createSecret(fresh, { dryRun: false })
    await kube.deleteSecret('tenant-a', 's', preconditions, { dryRun: false })
    expect(sent.map(({ query }) => 'dryRun' in query)).toEqual([false, false])
    expect(sent[1]?.body).not.toHaveProperty('dryRun')
  })

  test('a create that answers no version did not store', async () => {
    const unversioned = { ...fresh, metadata: { ...fresh.metadata, uid: 'uid-1' } }
    expect(await scripted(json(unversioned, 201)).kube.createSecret(fresh)).toEqual(
      senseless('create Secret'),
    )
  })

  test.each(['<html>signed out</html>', '', '[]', '"deleted"', 'null'])(
    'a delete that is answered 200 with %j, as a proxy may, did not delete for certain',
    async (text) => {
      const { kube } = scripted(new Response(text))
      expect(await kube.deleteSecret('tenant-a', 's', preconditions)).toEqual(senseless('delete Secret'))
    },
  )

  test.each([409, 429, 500, 503, 504])('a write that is answered %i is not sent again', async (code) => {
    const { kube, sent } = scripted(status(code, 'x', { headers: { 'retry-after': '0' } }))
    expect((await kube.updateSecret(stored)).ok).toBe(false)
    expect(sent).toHaveLength(1)
  })
})

describe('reviews', () => {
  const subject = {
    username: 'jane@example.org',
    uid: 'uid-j',
    groups: ['team, with a comma', 'system:authenticated'],
    extra: { 'example.org/scope': ['a', 'b'] },
  }
  const access = {
    verb: 'create',
    group: 'core.cozystack.io',
    resource: 'credentials',
    subresource: 'mint',
    namespace: 'tenant-a',
    name: 'postgres-orders.web',
  }
  const reviewed = (reviewStatus: unknown) =>
    json({ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', status: reviewStatus }, 201)

  test('an access review names the resource and its subresource apart, and the caller whole', async () => {
    const { kube, sent } = scripted(reviewed({ allowed: true }))
    expect(await kube.reviewAccess(subject, access)).toEqual({ ok: true, value: true })
    expect(sent[0]).toMatchObject({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    })
    expect(sent[0]?.body).toEqual({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: 'jane@example.org',
        uid: 'uid-j',
        groups: subject.groups,
        extra: subject.extra,
        resourceAttributes: { ...access, version: 'v1alpha1' },
      },
    })
  })

  test('an access review says which version of which API it is about', async () => {
    const { kube, sent } = scripted(reviewed({ allowed: true }))
    const users = { verb: 'impersonate', group: '', version: 'v1', resource: 'users', name: 'ann' }
    await kube.reviewAccess(subject, users)
    expect(sent[0]?.body).toMatchObject({ spec: { resourceAttributes: users } })
  })

  test.each([
    [{ allowed: false }],
    [{ allowed: 'true' }],
    [{ allowed: 1 }],
    [{ allowed: true, denied: true }],
    [{ allowed: false, reason: 'no' }],
    [{}],
  ])('%j does not allow', async (reviewStatus) => {
    const { kube } = scripted(reviewed(reviewStatus))
    expect(await kube.reviewAccess(subject, access)).toEqual({ ok: true, value: false })
  })

  test.each([
    ['no status', reviewed(undefined)],
    ['another kind', json({ kind: 'Status', status: { allowed: true } }, 201)],
    ['a review of a token', json({ kind: 'TokenReview', status: { allowed: true } }, 201)],
  ])('an answer with %s is neither yes nor no', async (_, answer) => {
    const { kube } = scripted(answer)
    expect(await kube.reviewAccess(subject, access)).toEqual(senseless('create SubjectAccessReview', 201))
  })

  test('a token review sends the audiences and reads who it is', async () => {
    const user = { username: 'u', uid: 'x', groups: ['a', 7], extra: { k: ['v'], n: null } }
    const answer = { kind: 'TokenReview', status: { authenticated: true, audiences: ['mintonce'], user } }
    const { kube, sent } = scripted(json(answer, 201))
    expect(await kube.reviewToken('token-1', ['mintonce'])).toEqual({
      ok: true,
      value: {
        authenticated: true,
        audiences: ['mintonce'],
        user: { username: 'u', uid: 'x', groups: ['a'], extra: { k: ['v'], n: [] } },
        error: undefined,
      },
    })
    expect(sent[0]).toMatchObject({
      path: '/apis/authentication.k8s.io/v1/tokenreviews',
      body: { kind: 'TokenReview', spec: { token: 'token-1', audiences: ['mintonce'] } },
    })
  })
})
