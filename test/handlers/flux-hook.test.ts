import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { fail, ok } from '../../src/core/result.ts'
import { FLUX_KEY, scriptedApp } from '../helpers/scripted-app.ts'

const involvedObject = {
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  namespace: 'tenant-acme',
  name: 'postgres-orders',
  uid: 'u',
}
/** As notification-controller sends it (`github.com/fluxcd/pkg/apis/event/v1beta1`). */
const eventOf = (about: object = involvedObject) =>
  JSON.stringify({
    involvedObject: about,
    severity: 'info',
    timestamp: '2026-10-02T09:14:07Z',
    message: 'Helm upgrade succeeded for release tenant-acme/postgres-orders.v2',
    reason: 'UpgradeSucceeded',
    metadata: { 'helm.toolkit.fluxcd.io/revision': '1.2.3' },
    reportingController: 'helm-controller',
    reportingInstance: 'helm-controller-0',
  })
const signed = (body: string, key = FLUX_KEY) => ({
  'content-type': 'application/json',
  'Gotk-Component': 'helm-controller',
  'X-Signature': `sha256=${createHmac('sha256', key).update(body).digest('hex')}`,
})
const NEW: Parameters<typeof scriptedApp>[0] = {
  listSecrets: async () => ok({ items: [], resourceVersion: '12' }),
  getSecret: async () => ok(undefined),
}

const post = ({ call }: ReturnType<typeof scriptedApp>, body: string, headers: Record<string, string>) =>
  call('/hooks/flux', { method: 'POST', body, headers })

test('a signed event syncs the release that it is about', async () => {
  const app = scriptedApp(NEW)
  const answer = await post(app, eventOf(), signed(eventOf()))
  expect([answer.status, await answer.text(), app.writes()]).toEqual([204, '', 1])
  expect(app.counted).toEqual([{ verb: 'events', code: 204, kind: '' }])
})

test('either of two keys may sign, while one takes the place of the other', async () => {
  const next = 'key-of-the-controller-next'
  for (const key of [FLUX_KEY, next]) {
    const app = scriptedApp(NEW, { fluxKeys: [FLUX_KEY, next] })
    expect((await post(app, eventOf(), signed(eventOf(), key))).status).toBe(204)
  }
})

test.each<[what: string, body: string, headers: Record<string, string>]>([
  ['no signature', eventOf(), {}],
  ['the signature of another key', eventOf(), signed(eventOf(), 'another-key-altogether')],
  ['the signature of another body', `${eventOf()} `, signed(eventOf())],
  ['the key as a bearer token', eventOf(), { Authorization: `Bearer ${FLUX_KEY}` }],
  ['a body that is no JSON and not signed', '{', {}],
])('%s is 401, and nothing is asked', async (_, body, headers) => {
  const app = scriptedApp(NEW)
  expect((await post(app, body, headers)).status).toBe(401)
  expect(app.called()).toEqual([])
})

test('where no key is configured it is 404', async () => {
  const app = scriptedApp(NEW, { fluxKeys: [] })
  expect((await post(app, eventOf(), signed(eventOf()))).status).toBe(404)
  expect((await app.call('/hooks/flux')).status).toBe(404)
})

test.each<[what: string, about: object, code: number]>([
  ['another kind', { ...involvedObject, kind: 'Kustomization' }, 204],
  ['the kind of another group', { ...involvedObject, apiVersion: 'example.org/v1' }, 204],
  ['nothing', {}, 204],
  ['a release that is not there', { ...involvedObject, name: 'nothing' }, 204],
  ['a release without an apiVersion', { ...involvedObject, apiVersion: undefined, name: 'nothing' }, 204],
  ['a name that is none', { ...involvedObject, name: '../../secrets' }, 400],
  ['a namespace that is none', { ...involvedObject, namespace: 'a.b' }, 400],
])('an event about %s', async (_, about, code) => {
  const app = scriptedApp(NEW)
  const body = eventOf(about)
  expect([(await post(app, body, signed(body))).status, app.writes()]).toEqual([code, 0])
})

test.each(['', '[]', '{', 'null'])('%j, signed, is 400', async (body) => {
  expect((await post(scriptedApp(NEW), body, signed(body))).status).toBe(400)
})

test('a body of more than 64 KiB is 413', async () => {
  const body = eventOf({ ...involvedObject, padding: 'x'.repeat(65_536) })
  expect((await post(scriptedApp(NEW), body, signed(body))).status).toBe(413)
})

test('when the API server is away the controller is to try again', async () => {
  const app = scriptedApp({
    ...NEW,
    listSecrets: async () => fail({ reason: 'kube_overloaded', retryAfterSeconds: 1 }),
  })
  expect((await post(app, eventOf(), signed(eventOf()))).status).toBe(503)
})
