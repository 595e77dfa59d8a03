import { describe, expect, test } from 'vitest'
import { danglingRefs } from '../../helpers/openapi.ts'
import { GROUP } from '../backend.ts'
import type { Contract } from '../contract.ts'
import { answerOf } from '../tenant.ts'

const VERSION = `/apis/${GROUP}/v1alpha1`
const V2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const PROTOBUF = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
const DOCUMENTS = ['/apis', `/apis/${GROUP}`, VERSION, '/openapi/v2', '/openapi/v3', `/openapi/v3${VERSION}`]

export function discovery({ backend, tenant }: Contract): void {
  /** Without credentials. */
  const ask = async (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
    answerOf(await backend().call(path, { method, headers }))

  describe('discovery', () => {
    test('AGG-01: answers the aggregated document to who asks for it first', async () => {
      const { status, headers, body } = await ask('/apis', { Accept: `${V2},application/json` })
      expect([status, headers.get('content-type')]).toEqual([200, V2])
      expect(body).toMatchObject({ kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2' })
      const [{ metadata, versions }] = body.items
      expect([metadata.name, versions[0].version]).toEqual([GROUP, 'v1alpha1'])
      expect(versions[0].resources[0]).toMatchObject({ resource: 'credentials', verbs: ['get', 'list'] })
    })

    test('AGG-01: answers the groups as plain JSON to everybody else', async () => {
      const { status, headers, body } = await ask('/apis', { Accept: 'application/json' })
      expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
      expect(body).toMatchObject({ kind: 'APIGroupList', groups: [{ name: GROUP }] })
    })

    test('AGG-06: lists no verb that is not served, and refuses the others at once', async () => {
      const { body } = await ask(VERSION)
      const verbs = body.resources.map(({ name, verbs: of }: { name: string; verbs: string[] }) => [name, of])
      expect(Object.fromEntries(verbs)).toEqual({
        credentials: ['get', 'list'],
        'credentials/mint': ['create'],
        'credentials/revoke': ['create'],
        'helmreleases/sync': ['create'],
        'tenantprojections/sync': ['create'],
      })
      const { path } = await tenant()
      const refused = [
        ['DELETE', path(''), 'GET, HEAD'],
        ['POST', path(''), 'GET, HEAD'],
        ['PUT', path('postgres-orders.web'), 'GET, HEAD'],
        ['GET', path('postgres-orders.web', 'mint'), 'POST'],
        ['DELETE', path('postgres-orders.web', 'mint'), 'POST'],
        ['PATCH', path('postgres-orders.web', 'revoke'), 'POST'],
      ] as const
      for (const [method, at, allow] of refused) {
        const answer = await ask(at, {}, method)
        expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, allow])
        expect(answer.body).toMatchObject({ kind: 'Status', reason: 'MethodNotAllowed' })
      }
    })

    test('AGG-03: OpenAPI documents hold together, and the index leads to one', async () => {
      const index = await ask('/openapi/v3')
      const { serverRelativeURL } = index.body.paths[VERSION.slice(1)]
      for (const path of ['/openapi/v2', serverRelativeURL]) {
        const { status, body } = await ask(path)
        expect(status).toBe(200)
        expect(Object.keys(body.paths)).toHaveLength(6)
        expect(danglingRefs(body)).toEqual([])
      }
    })

    test('AGG-03: protobuf is a clean 406, unless JSON will do', async () => {
      for (const path of DOCUMENTS) {
        const answer = await ask(path, { Accept: PROTOBUF })
        expect(answer.status).toBe(406)
        expect(answer.body).toMatchObject({ kind: 'Status', reason: 'NotAcceptable' })
        expect((await ask(path, { Accept: `${PROTOBUF}, application/json` })).status).toBe(200)
      }
    })

    test.each(DOCUMENTS)('%s is the same for all, read only, and 304 to who has it', async (path) => {
      const { viewer = '' } = (await tenant()).tokens
      const first = await ask(path)
      expect((await ask(path, { Authorization: `Bearer ${viewer}` })).text).toBe(first.text)
      const known = await ask(path, { 'If-None-Match': first.headers.get('etag') ?? '' })
      expect([known.status, known.text]).toEqual([304, ''])
      const head = await backend().call(path, { method: 'HEAD' })
      expect([head.status, await head.text()]).toEqual([200, ''])
      const post = await ask(path, {}, 'POST')
      expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    })

    test('of another group or version is 404', async () => {
      for (const path of [
        '/api',
        '/apis/apps',
        '/apis/apps/v1',
        `/apis/${GROUP}/v1`,
        '/openapi/v3/apis/apps/v1',
      ]) {
        const answer = await ask(path)
        expect([path, answer.status, answer.body.reason]).toEqual([path, 404, 'NotFound'])
      }
    })
  })
}
