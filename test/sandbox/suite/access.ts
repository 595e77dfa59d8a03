import { describe, expect, test } from 'vitest'
import { type Ask, eventually, newPlace, type Place, RBAC, secretOf, statusOf } from '../asking.ts'
import type { Served } from '../kube-api.ts'

const GROUP = 'rbac.authorization.k8s.io'

const roleOf = (kind: 'Role' | 'ClusterRole', name: string, rules: readonly object[], labels = {}) => ({
  apiVersion: `${GROUP}/v1`,
  kind,
  metadata: { name, labels },
  rules,
})

const bindingOf = (kind: 'Role' | 'ClusterRole', role: string, subjects: readonly object[]) => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'RoleBinding',
  metadata: { name: `binding-${role}` },
  roleRef: { apiGroup: GROUP, kind, name: role },
  subjects,
})

const ANN = [{ kind: 'User', name: 'ann', apiGroup: GROUP }]

/** Lets a test see that a binding has reached the authoriser. */
const PROBE = { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }

/** A Role with these rules in the namespace, bound to Ann. */
async function granted(place: Place, rules: readonly object[]): Promise<Ask> {
  const { create, namespace } = place
  const within = `${RBAC}/namespaces/${namespace}`
  await create(`${within}/roles`, roleOf('Role', 'some', [PROBE, ...rules]))
  await create(`${within}/rolebindings`, bindingOf('Role', 'some', ANN))
  const ann = place.as('ann')
  await eventually(async () => {
    expect((await ann('GET', `/api/v1/namespaces/${namespace}/configmaps/none`)).status).toBe(404)
  })
  return ann
}

export function access(served: Served): void {
  describe('RBAC', () => {
    test('refuses in the words of kube-apiserver, before it says what there is', async () => {
      const place = await newPlace(served)
      const { secrets, releases, namespace } = place
      const ann = place.as('ann')
      const within = `in API group "" in the namespace "${namespace}"`
      expect(statusOf(await ann('GET', `${secrets}/a`))).toEqual({
        code: 403,
        reason: 'Forbidden',
        message: `secrets "a" is forbidden: User "ann" cannot get resource "secrets" ${within}`,
        details: { name: 'a', kind: 'secrets' },
      })
      const messages = {
        [`GET ${secrets}`]: `secrets is forbidden: User "ann" cannot list resource "secrets" ${within}`,
        [`GET ${secrets}?watch=1`]: `secrets is forbidden: User "ann" cannot watch resource "secrets" ${within}`,
        [`POST ${secrets}`]: `secrets is forbidden: User "ann" cannot create resource "secrets" ${within}`,
        [`PUT ${secrets}/a`]: `secrets "a" is forbidden: User "ann" cannot update resource "secrets" ${within}`,
        [`PATCH ${secrets}/a`]: `secrets "a" is forbidden: User "ann" cannot patch resource "secrets" ${within}`,
        [`DELETE ${secrets}/a`]: `secrets "a" is forbidden: User "ann" cannot delete resource "secrets" ${within}`,
        [`DELETE ${secrets}`]: `secrets is forbidden: User "ann" cannot deletecollection resource "secrets" ${within}`,
        'GET /api/v1/secrets':
          'secrets is forbidden: User "ann" cannot list resource "secrets" in API group "" at the cluster scope',
        [`GET /api/v1/namespaces/${namespace}`]: `namespaces "${namespace}" is forbidden: User "ann" cannot get resource "namespaces" ${within}`,
        [`GET ${releases}/r/status`]: `helmreleases.helm.toolkit.fluxcd.io "r" is forbidden: User "ann" cannot get resource "helmreleases/status" in API group "helm.toolkit.fluxcd.io" in the namespace "${namespace}"`,
        [`GET /apis/none.example/v1/namespaces/${namespace}/bananas/b`]: `bananas.none.example "b" is forbidden: User "ann" cannot get resource "bananas" in API group "none.example" in the namespace "${namespace}"`,
        'GET /banana': 'forbidden: User "ann" cannot get path "/banana"',
      }
      for (const [request, message] of Object.entries(messages)) {
        const [method = '', path = ''] = request.split(' ')
        const answer = await ann(method, path, ['POST', 'PUT', 'PATCH'].includes(method) ? '{' : undefined)
        expect(answer.body).toMatchObject({ code: 403, reason: 'Forbidden', message })
      }
    })

    test('allows verbs, resources and names that a rule lists', async () => {
      const place = await newPlace(served)
      const { secrets, create, releases } = place
      await create(secrets, secretOf('mine'))
      await create(secrets, secretOf('other'))
      const ann = await granted(place, [
        { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list'], resourceNames: ['mine'] },
        { apiGroups: ['helm.toolkit.fluxcd.io'], resources: ['helmreleases/status'], verbs: ['*'] },
      ])
      expect((await ann('GET', `${secrets}/mine`)).status).toBe(200)
      expect((await ann('GET', `${secrets}/other`)).status).toBe(403)
      expect((await ann('DELETE', `${secrets}/mine`)).status).toBe(403)
      expect((await ann('GET', secrets)).status).toBe(403)
      expect((await ann('GET', `${secrets}?fieldSelector=metadata.name%3Dmine`)).status).toBe(200)
      expect((await ann('GET', `${secrets}?fieldSelector=metadata.name%3Dother`)).status).toBe(403)
      expect((await ann('GET', `${releases}/r/status`)).status).toBe(404)
      expect((await ann('GET', `${releases}/r`)).status).toBe(403)
      expect((await ann('GET', '/api/v1/namespaces/default/secrets/mine')).status).toBe(403)
    })

    test('allows everything that stars stand for', async () => {
      const place = await newPlace(served)
      const ann = await granted(place, [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }])
      expect((await ann('POST', place.secrets, secretOf('a'))).status).toBe(201)
      expect((await ann('GET', `${place.releases}/r/status`)).status).toBe(404)
      expect((await ann('GET', '/api/v1/secrets')).status).toBe(403)
    })

    test('a ClusterRole collects the rules of others by their labels', async () => {
      const place = await newPlace(served)
      const { ask, create, namespace } = place
      const rule = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] }
      const later = { apiGroups: ['core.cozystack.io'], resources: ['credentials/mint'], verbs: ['create'] }
      const aggregate = {
        ...roleOf('ClusterRole', `${namespace}:all`, []),
        aggregationRule: {
          clusterRoleSelectors: [
            { matchLabels: { [`example.org/to-${namespace}`]: 'true' } },
            { matchExpressions: [{ key: 'example.org/also', operator: 'In', values: [namespace] }] },
          ],
        },
      }
      await create(
        `${RBAC}/clusterroles`,
        roleOf('ClusterRole', `${namespace}:one`, [rule], { [`example.org/to-${namespace}`]: 'true' }),
      )
      await create(`${RBAC}/clusterroles`, aggregate)
      await create(
        `${RBAC}/clusterroles`,
        roleOf('ClusterRole', `${namespace}:two`, [later], { 'example.org/also': namespace }),
      )
      await eventually(async () => {
        const { body } = await ask('GET', `${RBAC}/clusterroles/${namespace}:all`)
        expect(body.rules).toEqual([rule, later])
      })
    })

    test.each([
      [
        'a rule without verbs',
        'clusterroles',
        roleOf('ClusterRole', 'x', [{ apiGroups: [''], resources: ['secrets'] }]),
        'rules[0].verbs: Required value: verbs must contain at least one value',
      ],
      [
        'a name with a slash',
        'clusterroles',
        roleOf('ClusterRole', 'a/b', []),
        'metadata.name: Invalid value: "a/b": may not contain \'/\'',
      ],
    ])('refuses %s', async (_what, resource, object, problem) => {
      const { ask } = await newPlace(served)
      const { body } = await ask('POST', `${RBAC}/${resource}`, object)
      expect(body).toMatchObject({ code: 422, reason: 'Invalid' })
      expect(body.message).toContain(problem)
    })

    test('a binding keeps its role, and names a missing one to whoever it binds', async () => {
      const place = await newPlace(served)
      const { ask, create, namespace, secrets } = place
      const path = `${RBAC}/namespaces/${namespace}/rolebindings`
      const binding = await create(path, bindingOf('ClusterRole', 'nowhere', ANN))
      const moved = { ...binding, roleRef: { ...binding.roleRef, name: 'elsewhere' } }
      const refused = await ask('PUT', `${path}/${binding.metadata.name}`, moved)
      expect(refused.body.message).toContain('cannot change roleRef')
      await eventually(async () => {
        const { body } = await place.as('ann')('GET', `${secrets}/a`)
        expect(body.message).toMatch(/: RBAC: clusterrole\.rbac\.authorization\.k8s\.io "nowhere" not found$/)
      })
    })

    test('lets everybody ask for the version, for health and for their own name', async () => {
      const place = await newPlace(served)
      const ann = place.as('ann')
      expect((await ann('GET', '/version')).body).toMatchObject({ major: '1', minor: '36' })
      for (const path of ['/readyz', '/livez', '/healthz']) expect((await ann('GET', path)).text).toBe('ok')
      const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
      const { body } = await ann('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', review)
      expect(body.status.userInfo).toMatchObject({ username: 'ann', groups: ['system:authenticated'] })
    })
  })
}
