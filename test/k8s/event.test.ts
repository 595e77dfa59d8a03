import { describe, expect, test } from 'vitest'
import { noMetrics } from '../../src/core/metrics.ts'
import { createKube } from '../../src/k8s/adapter.ts'
import { isDnsSubdomain } from '../../src/k8s/names.ts'
import { sendOver } from '../../src/k8s/send.ts'
import { json, kubeOver, scripted, scriptedFetch, status } from './scripted-fetch.ts'

const AT = Date.UTC(2026, 9, 2, 9, 14, 21, 347)
const event = {
  type: 'Normal',
  reason: 'CredentialIssued',
  action: 'Mint',
  note: 'password of user web issued by jane@example.org',
  regarding: {
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    namespace: 'tenant-a',
    name: 'postgres-orders',
    uid: 'release-uid',
  },
} as const

test('CLI-04: the time of an Event has exactly six decimals', async () => {
  const { kube, sent } = scripted(json({}, 201))
  expect(await kube.createEvent(event, AT)).toEqual({ ok: true, value: undefined })
  expect(sent[0]?.body).toMatchObject({ eventTime: '2026-10-02T09:14:21.347000Z' })
})

test('an Event is created beside what it regards, with a name that the API server completes', async () => {
  const { kube, sent } = scripted(json({}, 201))
  await kube.createEvent(event, AT)
  expect(sent[0]).toMatchObject({
    method: 'POST',
    path: '/apis/events.k8s.io/v1/namespaces/tenant-a/events',
    body: {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { namespace: 'tenant-a', generateName: 'postgres-orders-' },
      reportingController: 'credentials.cozystack.io/mintonce',
      reportingInstance: 'mintonce-00001-abc',
      ...event,
    },
  })
})

/** `k8s.io/kubernetes/pkg/apis/core/validation/events.go`: NoteLengthLimit, in bytes of UTF-8. */
test('a note is cut to 1,024 bytes, at a character', async () => {
  const { kube, sent } = scripted(json({}, 201))
  await kube.createEvent({ ...event, note: `x${'é'.repeat(600)}` }, AT)
  expect(sent[0]?.body).toMatchObject({ note: `x${'é'.repeat(511)}` })
})

test('a long name is cut so that it stays a name with the five characters that are added', async () => {
  const { kube, sent } = scripted(json({}, 201))
  const name = `${'a'.repeat(54)}-${'b'.repeat(20)}`
  await kube.createEvent({ ...event, regarding: { ...event.regarding, name } }, AT)
  expect(sent[0]?.body).toMatchObject({ metadata: { generateName: `${'a'.repeat(54)}-` } })
})

test('the name of a replica is cut to the 128 bytes that an Event may hold', async () => {
  const { fetch, sent } = scriptedFetch(json({}, 201))
  const reportingInstance = 'n'.repeat(300)
  const kube = createKube({
    send: sendOver(fetch),
    timeoutMs: 5000,
    reportingInstance,
    now: () => 0,
    metrics: noMetrics,
  })
  await kube.createEvent(event, AT)
  expect(sent[0]?.body).toMatchObject({ reportingInstance: 'n'.repeat(128) })
})

test('an Event that cannot be written is a failure and no exception', async () => {
  const kube = kubeOver(() => Promise.reject(new Error('broken')))
  expect(await kube.createEvent(event, AT)).toMatchObject({ ok: false, failure: { call: 'create Event' } })
})

describe('an Event that stands as long as it is so', () => {
  const nameOf = async (change: object = {}) => {
    const { kube, sent } = scripted(json({}, 201))
    await kube.createEvent({ ...event, isStanding: true, ...change }, AT)
    return sent[0]?.body as { readonly metadata: Readonly<Record<string, string>> }
  }

  test('has a name that the API server knows again, at another time too', async () => {
    const { metadata } = await nameOf()
    expect(metadata).toEqual({
      namespace: 'tenant-a',
      name: expect.stringMatching(/^postgres-orders-[0-9a-f]{16}$/),
    })
    const { kube, sent } = scripted(json({}, 201))
    await kube.createEvent({ ...event, isStanding: true }, AT + 86_400_000)
    expect(sent[0]?.body).toMatchObject({ metadata })
  })

  test.each<[string, object]>([
    ['another note', { note: 'other' }],
    ['another reason', { reason: 'Other' }],
    ['another object of that name', { regarding: { ...event.regarding, uid: 'another' } }],
    ['another kind', { regarding: { ...event.regarding, kind: 'Postgres' } }],
    ['a note that differs after the 1,024 bytes that are sent', { note: `${'x'.repeat(2000)}y` }],
  ])('has another name for %s', async (_, change) => {
    const names = [await nameOf({ note: 'x'.repeat(2000) }), await nameOf(), await nameOf(change)]
    expect(new Set(names.map(({ metadata }) => metadata.name)).size).toBe(3)
  })

  test.each(['a'.repeat(253), `${'a'.repeat(54)}.b`, `${'a'.repeat(54)}-b`, '0'])(
    'has the name of an object, whatever it regards: %s',
    async (name) => {
      const { metadata } = await nameOf({ regarding: { ...event.regarding, name } })
      expect(isDnsSubdomain(metadata.name ?? '')).toBe(true)
    },
  )

  test('holds no field that says so', async () => {
    expect(await nameOf()).not.toHaveProperty('isStanding')
  })
})

test('an Event that is there already is no failure', async () => {
  const exists = status(409, 'AlreadyExists', { details: { name: 'x', kind: 'events' } })
  expect(await scripted(exists).kube.createEvent(event, AT)).toEqual({ ok: true, value: undefined })
  const conflict = status(409, 'Conflict')
  expect(await scripted(conflict).kube.createEvent(event, AT)).toEqual({
    ok: false,
    failure: { reason: 'kube_conflict' },
  })
})
