import { describe, expect, test } from 'vitest'
import { eventually, newPlace, type Place, RBAC } from '../asking.ts'
import type { Served } from '../kube-api.ts'

const TOKEN_REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'
const ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'

const accessReview = (spec: object) => ({
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  spec,
})

const attributes = (namespace: string, more: object = {}) => ({
  verb: 'create',
  group: 'core.cozystack.io',
  version: 'v1alpha1',
  resource: 'credentials',
  subresource: 'mint',
  namespace,
  name: 'orders.web',
  ...more,
})

/** A namespace where Ann, a group and a ServiceAccount may mint, and revoke whatever can be revoked. */
async function minting(served: Served): Promise<Place> {
  const place = await newPlace(served)
  const { create, namespace, ask } = place
  const within = `${RBAC}/namespaces/${namespace}`
  await create(`${within}/roles`, {
    kind: 'Role',
    metadata: { name: 'mint' },
    rules: [
      { apiGroups: ['core.cozystack.io'], resources: ['credentials/mint', '*/revoke'], verbs: ['create'] },
      {
        apiGroups: ['core.cozystack.io'],
        resources: ['credentials'],
        verbs: ['get'],
        resourceNames: ['orders.web'],
      },
    ],
  })
  await create(`${within}/rolebindings`, {
    kind: 'RoleBinding',
    metadata: { name: 'minters' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'mint' },
    subjects: [
      { kind: 'User', name: 'ann' },
      { kind: 'Group', name: 'ops' },
      { kind: 'ServiceAccount', name: 'pipeline', namespace },
    ],
  })
  await eventually(async () => {
    const spec = { user: 'ann', resourceAttributes: attributes(namespace) }
    expect((await ask('POST', ACCESS_REVIEWS, accessReview(spec))).body.status.allowed).toBe(true)
  })
  return place
}

/** A name for somebody who may impersonate some people, in a namespace of their own and in the cluster. */
async function impersonating(served: Served) {
  const place = await newPlace(served)
  const { create, namespace, ask } = place
  const boss = `boss-of-${namespace}`
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', name: boss }
  const subjects = [{ kind: 'User', name: boss }]
  const allowed = (group: string, resource: string, ...resourceNames: readonly string[]) => ({
    apiGroups: [group],
    resources: [resource],
    verbs: ['impersonate'],
    ...(resourceNames.length === 0 ? {} : { resourceNames }),
  })
  await create(`${RBAC}/clusterroles`, {
    kind: 'ClusterRole',
    metadata: { name: boss },
    rules: [
      allowed('', 'users', 'jane', 'jörg'),
      allowed('', 'groups', 'developers', 'a,b'),
      allowed('authentication.k8s.io', 'uids', 'uid-jane'),
      allowed('authentication.k8s.io', 'userextras/scopes', 'view'),
      allowed('authentication.k8s.io', 'userextras/example.org/team'),
    ],
  })
  await create(`${RBAC}/clusterrolebindings`, {
    kind: 'ClusterRoleBinding',
    metadata: { name: boss },
    roleRef: { ...roleRef, kind: 'ClusterRole' },
    subjects,
  })
  const within = `${RBAC}/namespaces/${namespace}`
  const role = { kind: 'Role', metadata: { name: boss }, rules: [allowed('', 'serviceaccounts', 'pipeline')] }
  await create(`${within}/roles`, role)
  await create(`${within}/rolebindings`, {
    kind: 'RoleBinding',
    metadata: { name: boss },
    roleRef: { ...roleRef, kind: 'Role' },
    subjects,
  })
  const may = async (attributes: object) => {
    const resourceAttributes = { verb: 'impersonate', version: 'v1', ...attributes }
    const review = accessReview({ user: boss, groups: ['system:authenticated'], resourceAttributes })
    return (await ask('POST', ACCESS_REVIEWS, review)).body.status.allowed
  }
  await eventually(async () => {
    expect(await may({ resource: 'users', name: 'jane' })).toBe(true)
    expect(await may({ resource: 'serviceaccounts', namespace, name: 'pipeline' })).toBe(true)
  })
  return { may, namespace }
}

export function reviews(served: Served): void {
  describe('a SubjectAccessReview', () => {
    test('says who is allowed, and by which binding', async () => {
      const { ask, namespace } = await minting(served)
      const reviewed = async (spec: object) => {
        const { status, body } = await ask(
          'POST',
          ACCESS_REVIEWS,
          accessReview({ resourceAttributes: attributes(namespace), ...spec }),
        )
        expect(status).toBe(201)
        return body.status
      }
      const by = `RBAC: allowed by RoleBinding "minters/${namespace}" of Role "mint" to`
      expect(await reviewed({ user: 'ann' })).toEqual({ allowed: true, reason: `${by} User "ann"` })
      expect(await reviewed({ user: 'bob', groups: ['ops'] })).toEqual({
        allowed: true,
        reason: `${by} Group "ops"`,
      })
      expect(await reviewed({ user: `system:serviceaccount:${namespace}:pipeline` })).toEqual({
        allowed: true,
        reason: `${by} ServiceAccount "pipeline/${namespace}"`,
      })
      expect(await reviewed({ user: 'bob' })).toEqual({ allowed: false })
      expect(await reviewed({ user: '', groups: ['system:masters'] })).toEqual({ allowed: true })
    })

    test.each([
      [{ subresource: 'revoke', resource: 'anything' }, true],
      [{ subresource: 'other' }, false],
      [{ subresource: '' }, false],
      [{ verb: 'get', subresource: '', name: 'orders.web' }, true],
      [{ verb: 'get', subresource: '', name: 'orders.report' }, false],
      [{ verb: 'get', subresource: '', name: '' }, false],
      [{ group: 'example.org' }, false],
      [{ namespace: 'default' }, false],
      [{ namespace: '' }, false],
    ])('of %j says %j', async (more, allowed) => {
      const { ask, namespace } = await minting(served)
      const spec = { user: 'ann', resourceAttributes: attributes(namespace, more) }
      expect((await ask('POST', ACCESS_REVIEWS, accessReview(spec))).body.status.allowed).toBe(allowed)
    })

    test('of whom somebody may impersonate', async () => {
      const { may, namespace } = await impersonating(served)
      const authentication = { group: 'authentication.k8s.io' }
      const scopes = { ...authentication, resource: 'userextras', subresource: 'scopes' }
      const cases: readonly (readonly [object, boolean])[] = [
        [{ resource: 'users', name: 'jane' }, true],
        [{ resource: 'users', name: 'jörg' }, true],
        [{ resource: 'users', name: 'john' }, false],
        [{ resource: 'users', name: '' }, false],
        [{ resource: 'users', name: '*' }, false],
        [{ ...authentication, resource: 'users', name: 'jane' }, false],
        [{ resource: 'users', name: 'jane', verb: 'get' }, false],
        [{ resource: 'groups', name: 'developers' }, true],
        [{ resource: 'groups', name: 'a,b' }, true],
        [{ resource: 'groups', name: 'a' }, false],
        [{ resource: 'groups', name: 'system:masters' }, false],
        [{ resource: 'serviceaccounts', namespace, name: 'pipeline' }, true],
        [{ resource: 'serviceaccounts', namespace, name: 'other' }, false],
        [{ resource: 'serviceaccounts', namespace: 'default', name: 'pipeline' }, false],
        [{ resource: 'serviceaccounts', name: 'pipeline' }, false],
        [{ ...authentication, resource: 'uids', name: 'uid-jane' }, true],
        [{ ...authentication, resource: 'uids', name: 'uid-john' }, false],
        [{ resource: 'uids', name: 'uid-jane' }, false],
        [{ ...scopes, name: 'view' }, true],
        [{ ...scopes, name: 'edit' }, false],
        [{ ...scopes, name: 'view', subresource: '' }, false],
        [{ ...scopes, name: 'view', subresource: 'scopes2' }, false],
        [{ ...scopes, name: 'anything', subresource: 'example.org/team' }, true],
        [{ ...scopes, name: 'anything', subresource: 'example.org' }, false],
      ]
      for (const [attributes, allowed] of cases) {
        expect([attributes, await may(attributes)]).toEqual([attributes, allowed])
      }
    })

    test('knows paths that are no resources', async () => {
      const { ask } = await newPlace(served)
      const reviewed = async (path: string, groups: readonly string[]) => {
        const spec = { user: 'ann', groups, nonResourceAttributes: { path, verb: 'get' } }
        return (await ask('POST', ACCESS_REVIEWS, accessReview(spec))).body.status.allowed
      }
      expect(await reviewed('/version', ['system:authenticated'])).toBe(true)
      expect(await reviewed('/version', [])).toBe(false)
      expect(await reviewed('/banana', ['system:authenticated'])).toBe(false)
    })

    test.each([
      [{ user: '', groups: [], resourceAttributes: attributes('a') }, 'spec.user'],
      [{ user: 'ann' }, 'spec.resourceAttributes'],
      [
        {
          user: 'ann',
          resourceAttributes: attributes('a'),
          nonResourceAttributes: { path: '/', verb: 'get' },
        },
        'spec.nonResourceAttributes',
      ],
    ])('refuses %j', async (spec, field) => {
      const { ask } = await newPlace(served)
      const { body } = await ask('POST', ACCESS_REVIEWS, accessReview(spec))
      expect(body).toMatchObject({ code: 422, reason: 'Invalid', details: { group: 'authorization.k8s.io' } })
      expect(body.details.causes[0].field).toBe(field)
    })
  })

  describe('a TokenReview', () => {
    const tokenReview = (spec: object) => ({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec,
    })

    test('of an unknown token says that it is none', async () => {
      const { ask } = await newPlace(served)
      const { status, body } = await ask(
        'POST',
        TOKEN_REVIEWS,
        tokenReview({ token: 'abc', audiences: ['mintonce'] }),
      )
      expect(status).toBe(201)
      expect(body.status).toEqual({ user: {}, error: 'invalid bearer token' })
    })

    test('needs a token', async () => {
      const { ask } = await newPlace(served)
      for (const spec of [{ token: '' }, {}]) {
        expect((await ask('POST', TOKEN_REVIEWS, tokenReview(spec))).body).toMatchObject({
          code: 400,
          message: 'token is required for TokenReview in authentication',
        })
      }
    })

    test('of a token behind a space says anonymous, for whatever audience', async () => {
      const { ask } = await newPlace(served)
      const { body } = await ask(
        'POST',
        TOKEN_REVIEWS,
        tokenReview({ token: ' abc', audiences: ['mintonce'] }),
      )
      expect(body.status).toEqual({
        authenticated: true,
        user: { username: 'system:anonymous', groups: ['system:unauthenticated'] },
        audiences: ['mintonce'],
      })
    })
  })

  describe('a review', () => {
    test.each([TOKEN_REVIEWS, ACCESS_REVIEWS])('%s is only created', async (path) => {
      const { ask } = await newPlace(served)
      expect((await ask('GET', path)).body).toMatchObject({ code: 405, reason: 'MethodNotAllowed' })
    })
  })
}
