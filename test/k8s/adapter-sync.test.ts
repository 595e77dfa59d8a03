import { describe, expect, test } from 'vitest'
import type { Kube } from '../../src/k8s/kube.ts'
import { json, pageNotFound, scripted, status } from './scripted-fetch.ts'

const item = (name: string, more: object = {}) => ({
  metadata: { name, namespace: 'tenant-a', uid: `uid-${name}`, resourceVersion: '1' },
  ...more,
})
const listOf = (kind: string, items: unknown, next?: string) =>
  json({ kind, apiVersion: 'v1', metadata: { resourceVersion: '9', continue: next }, items })
const failed = (failure: object) => ({ ok: false, failure })

const LISTS: readonly (readonly [
  string,
  string,
  (kube: Kube) => Kube['listSecrets'] | Kube['listHelmReleases'] | Kube['listTenantProjections'],
  { readonly all: string; readonly one: string; readonly groupVersion: string },
])[] = [
  [
    'Secrets',
    'SecretList',
    (kube) => kube.listSecrets,
    { all: '/api/v1/secrets', one: '/api/v1/namespaces/tenant-a/secrets', groupVersion: 'v1' },
  ],
  [
    'HelmReleases',
    'HelmReleaseList',
    (kube) => kube.listHelmReleases,
    {
      all: '/apis/helm.toolkit.fluxcd.io/v2/helmreleases',
      one: '/apis/helm.toolkit.fluxcd.io/v2/namespaces/tenant-a/helmreleases',
      groupVersion: 'helm.toolkit.fluxcd.io/v2',
    },
  ],
  [
    'TenantProjections',
    'TenantProjectionList',
    (kube) => kube.listTenantProjections,
    {
      all: '/apis/internal.cozystack.io/v1alpha1/tenantprojections',
      one: '/apis/internal.cozystack.io/v1alpha1/namespaces/tenant-a/tenantprojections',
      groupVersion: 'internal.cozystack.io/v1alpha1',
    },
  ],
]

describe.each(LISTS)('a page of %s', (what, kind, method, paths) => {
  test('is of one namespace or of all', async () => {
    const { kube, sent } = scripted(listOf(kind, []), listOf(kind, []))
    await method(kube)('tenant-a', {})
    await method(kube)(undefined, {})
    expect(sent.map(({ path }) => path)).toEqual([paths.one, paths.all])
  })

  test('is asked for with selectors, limit and continue, and says how to go on', async () => {
    const options = {
      labelSelector: 'a=b',
      fieldSelector: 'metadata.name=x',
      limit: 500,
      continue: 'to+ken/=',
    }
    const { kube, sent } = scripted(listOf(kind, [item('x')], 'next'))
    expect(await method(kube)(undefined, options)).toMatchObject({
      ok: true,
      value: { items: [item('x')], resourceVersion: '9', continue: 'next' },
    })
    expect(sent[0]?.query).toEqual({ ...options, limit: '500' })
  })

  test('whose token is too old is expired, whatever token the answer offers', async () => {
    const body = { kind: 'Status', reason: 'Expired', code: 410, metadata: { continue: 'inconsistent' } }
    const { kube, sent } = scripted(json(body, 410))
    expect(await method(kube)(undefined, { continue: 'old' })).toEqual(failed({ reason: 'kube_expired' }))
    expect(sent).toHaveLength(1)
  })

  test.each<[string, () => Response, object]>([
    ['another kind', () => listOf('List', []), { reason: 'kube_error', call: `list ${what}`, code: 200 }],
    [
      'an item without a UID',
      () => listOf(kind, [{ metadata: { name: 'x', resourceVersion: '1' } }]),
      { reason: 'kube_error', call: `list ${what}`, code: 200 },
    ],
    ['no such group', pageNotFound, { reason: 'kube_not_served', groupVersion: paths.groupVersion }],
    ['no right', () => status(403, 'Forbidden'), { reason: 'kube_forbidden', call: `list ${what}` }],
    [
      'NotFound about a namespace',
      () => status(404, 'NotFound', { details: { name: 'tenant-a', kind: 'namespaces' } }),
      { reason: 'kube_not_served' },
    ],
  ])('with %s is a failure, and never an empty one', async (_, answer, failure) => {
    expect(await method(scripted(answer()).kube)('tenant-a', {})).toMatchObject(failed(failure))
  })
})

test('a HelmRelease in a list has a spec, be it an empty one', async () => {
  const { kube } = scripted(
    listOf('HelmReleaseList', [item('a'), item('b', { spec: { suspend: true } }), item('c', { spec: 'x' })]),
  )
  const listed = await kube.listHelmReleases(undefined, {})
  expect(listed.ok && listed.value.items.map(({ spec }) => spec)).toEqual([{}, { suspend: true }, {}])
})

describe('a namespace', () => {
  const namespace = {
    kind: 'Namespace',
    metadata: { name: 'tenant-a', uid: 'u', resourceVersion: '1', deletionTimestamp: '2026-10-02T09:14:07Z' },
  }

  test('is read by its name', async () => {
    const { kube, sent } = scripted(json(namespace))
    expect(await kube.getNamespace('tenant-a')).toEqual({ ok: true, value: namespace })
    expect(sent[0]).toMatchObject({ method: 'GET', path: '/api/v1/namespaces/tenant-a' })
  })

  test('is absent when the API server says so of this very name', async () => {
    const absent = status(404, 'NotFound', { details: { name: 'tenant-a', kind: 'namespaces' } })
    expect(await scripted(absent).kube.getNamespace('tenant-a')).toEqual({ ok: true, value: undefined })
  })

  test.each<[string, Response, object]>([
    [
      'about another',
      status(404, 'NotFound', { details: { name: 'tenant-b' } }),
      { reason: 'kube_not_served', groupVersion: 'v1' },
    ],
    ['in plain text', pageNotFound(), { reason: 'kube_not_served', groupVersion: 'v1' }],
    [
      'of another kind',
      json({ ...namespace, kind: 'Secret' }),
      { reason: 'kube_error', call: 'get Namespace', code: 200 },
    ],
  ])('is neither there nor absent by an answer %s', async (_, answer, failure) => {
    expect(await scripted(answer).kube.getNamespace('tenant-a')).toEqual(failed(failure))
  })

  test.each(['..', 'a/b', '', 'A'])('of a name that is none is never asked for: %j', async (name) => {
    const { kube, sent } = scripted()
    await expect(kube.getNamespace(name)).rejects.toThrow(TypeError)
    expect(sent).toEqual([])
  })
})

/** KEP-3325. */
describe('who this function is', () => {
  const NAME = 'system:serviceaccount:mintonce:mintonce'
  const review = (body: object) => json({ kind: 'SelfSubjectReview', ...body }, 201)

  test('is asked of the API server by a review of oneself', async () => {
    const { kube, sent } = scripted(review({ status: { userInfo: { username: NAME, groups: ['x'] } } }))
    expect(await kube.whoAmI()).toEqual({ ok: true, value: NAME })
    expect(sent[0]).toMatchObject({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    })
  })

  test.each<[string, object]>([
    ['an empty name', review({ status: { userInfo: { username: '' } } })],
    ['a name that is no text', review({ status: { userInfo: { username: 7 } } })],
    ['no status', review({})],
    ['another kind', json({ kind: 'TokenReview', status: { userInfo: { username: NAME } } }, 201)],
  ])('is not known by an answer with %s', async (_, answer) => {
    expect(await scripted(answer as Response).kube.whoAmI()).toEqual(
      failed({ reason: 'kube_error', call: 'create SelfSubjectReview', code: 201 }),
    )
  })

  test('is not known when the call is refused', async () => {
    expect(await scripted(status(403, 'Forbidden')).kube.whoAmI()).toEqual(
      failed({ reason: 'kube_forbidden', call: 'create SelfSubjectReview' }),
    )
  })
})
