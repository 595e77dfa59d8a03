import { describe, expect, test } from 'vitest'
import { newPlace } from '../asking.ts'
import type { Served } from '../kube-api.ts'

export function paths(served: Served): void {
  describe('a path', () => {
    test.each([
      '/banana',
      '/apis/none.example/v1/namespaces/default/bananas/a',
      '/apis/helm.toolkit.fluxcd.io/v9/namespaces/default/helmreleases/a',
      '/apis/helm.toolkit.fluxcd.io/v2/namespaces/default/bananas',
    ])('%s, of a group that is not served or of a custom one, is 404 in plain text', async (path) => {
      const { ask } = await newPlace(served)
      const { status, type, text } = await ask('GET', path)
      expect({ status, type, text }).toEqual({
        status: 404,
        type: 'text/plain; charset=utf-8',
        text: '404 page not found\n',
      })
    })

    test.each([
      '/api/v1/namespaces/default/bananas',
      '/api/v1/namespaces/default/secrets/a/banana',
      '/api/v1/namespaces/default/secrets/a/status',
      '/api/v9/namespaces/default/secrets/a',
      '/apis/rbac.authorization.k8s.io/v1/namespaces/default/clusterroles',
    ])('%s, below a built-in group, is 404 in a Status without a name', async (path) => {
      const { ask } = await newPlace(served)
      expect((await ask('GET', path)).body).toMatchObject({
        code: 404,
        reason: 'NotFound',
        message: 'the server could not find the requested resource',
        details: {},
      })
    })

    test('of a subresource that a custom resource does not have names the object', async () => {
      const { ask, releases } = await newPlace(served)
      expect((await ask('GET', `${releases}/r/banana`)).body).toMatchObject({
        code: 404,
        message: 'helmreleases.helm.toolkit.fluxcd.io "r" not found',
        details: { name: 'r' },
      })
    })

    test.each([
      ['POST', '/api/v1/secrets'],
      ['POST', '/api/v1/namespaces/default/secrets/a'],
      ['PUT', '/api/v1/namespaces/default/secrets'],
      ['OPTIONS', '/api/v1/namespaces/default/secrets'],
      ['HEAD', '/api/v1/namespaces/default/secrets'],
      ['POST', '/version'],
    ])('does not take %s %s', async (method, path) => {
      const { ask } = await newPlace(served)
      expect((await ask(method, path, ['POST', 'PUT'].includes(method) ? {} : undefined)).status).toBe(405)
    })

    test('names what was asked for when it is absent', async () => {
      const { ask, secrets } = await newPlace(served)
      expect((await ask('GET', `${secrets}/a`)).body).toEqual({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: 'secrets "a" not found',
        reason: 'NotFound',
        details: { name: 'a', kind: 'secrets' },
        code: 404,
      })
    })

    test('may end in a slash, and is decoded part by part', async () => {
      const { ask, secrets } = await newPlace(served)
      expect((await ask('GET', `${secrets}/a/`)).body.details.name).toBe('a')
      expect((await ask('GET', `${secrets}/A%20B`)).body.message).toBe('secrets "A B" not found')
    })
  })
}
