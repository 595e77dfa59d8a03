import { expect, test } from 'vitest'
import type { Failure } from '../../src/core/failure.ts'
import { fail, ok, type Result } from '../../src/core/result.ts'
import type { Services } from '../../src/handlers/services.ts'
import { structured } from '../helpers/cloud-events.ts'
import { NOW } from '../helpers/orders.ts'
import { EVENTS_KEY, type ScriptedApp, scriptedApp } from '../helpers/scripted-app.ts'

const key = { Authorization: `Bearer ${EVENTS_KEY}` }
const tick = ({ call }: ScriptedApp, headers: Readonly<Record<string, string>> = key, body = '') =>
  call('/tick', { method: 'POST', headers, body })
const codeOf = async (answer: Promise<Response>) => (await answer).status

/** An app with a clock that stands still, and sweeps that are counted. */
function ticking(swept: () => Promise<Result<unknown>> = async () => ok(undefined), deadlineMs = 20_000) {
  const clock = { now: NOW }
  const sweeps: Parameters<Services['sweep']>[1][] = []
  const app = scriptedApp(
    {},
    {
      deadlineMs,
      now: () => clock.now,
      sweep: (_services, options) => {
        sweeps.push(options)
        return swept()
      },
    },
  )
  return { app, clock, sweeps }
}

/** A sweep that ends when it is told to. */
function held() {
  let begin: () => void = () => undefined
  let end: (result: Result<unknown>) => void = () => undefined
  const hasBegun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const promise = new Promise<Result<unknown>>((resolve) => {
    end = resolve
  })
  const swept = () => {
    begin()
    return promise
  }
  return { swept, hasBegun, end: () => end(ok(undefined)) }
}

test('a tick sweeps, as the function itself, and is answered when that has ended', async () => {
  const { app, sweeps } = ticking()
  const answer = await tick(app)
  expect([answer.status, await answer.text()]).toEqual([204, ''])
  expect(sweeps).toMatchObject([{ by: 'system:serviceaccount:mintonce:mintonce' }])
  expect(app.counted).toEqual([{ verb: 'tick', code: 204, kind: '' }])
})

test('a tick while a sweep runs begins no other', async () => {
  const { swept, hasBegun, end } = held()
  const { app, sweeps } = ticking(swept)
  const first = tick(app)
  await hasBegun
  expect(await Promise.all([codeOf(tick(app)), codeOf(tick(app))])).toEqual([202, 202])
  end()
  expect((await first).status).toBe(204)
  expect(sweeps).toHaveLength(1)
})

test('a tick within ten seconds after a sweep begins none', async () => {
  const { app, clock, sweeps } = ticking()
  await tick(app)
  clock.now += 9999
  expect(await codeOf(tick(app))).toBe(204)
  expect(sweeps).toHaveLength(1)
  clock.now += 1
  expect(await codeOf(tick(app))).toBe(204)
  expect(sweeps).toHaveLength(2)
  // A clock that is set back stops no sweep.
  clock.now -= 60_000
  await tick(app)
  expect(sweeps).toHaveLength(3)
})

test('a sweep that lasts is answered 202 in time, and goes on', async () => {
  const { swept, end } = held()
  const { app, sweeps } = ticking(swept, 30)
  expect(await codeOf(tick(app))).toBe(202)
  end()
  await app.afterwards()
  expect(sweeps).toHaveLength(1)
})

test('a sweep that was never heard of again stops none for ever', async () => {
  const { swept } = held()
  const { app, clock, sweeps } = ticking(swept, 30)
  expect(await codeOf(tick(app))).toBe(202)
  clock.now += 600_000
  expect(await codeOf(tick(app))).toBe(202)
  expect(sweeps).toHaveLength(2)
})

test.each<[failure: Failure, code: number]>([
  [{ reason: 'kube_timeout', call: 'list Secrets' }, 503],
  [{ reason: 'kube_overloaded', retryAfterSeconds: 1 }, 503],
  [{ reason: 'kube_expired' }, 503],
  [{ reason: 'kube_forbidden', call: 'list Secrets' }, 500],
])('a sweep that ends in %j is %d, also to who asks again at once', async (failure, code) => {
  const { app, sweeps } = ticking(async () => fail(failure))
  expect(await codeOf(tick(app))).toBe(code)
  expect(await codeOf(tick(app))).toBe(code)
  expect(sweeps).toHaveLength(1)
})

test('a sweep that throws is a 500, and stops none', async () => {
  const { app, sweeps } = ticking(() => Promise.reject(new TypeError('broken')))
  expect(await codeOf(tick(app))).toBe(500)
  expect(await codeOf(tick(app))).toBe(500)
  expect(sweeps).toHaveLength(2)
  await expect(app.afterwards()).rejects.toThrow('broken')
})

test('a PingSource may tick at either route', async () => {
  const ping = structured('dev.knative.sources.ping', { data: { any: 'thing' } })
  for (const path of ['/tick', '/events']) {
    for (const [headers, body] of [
      [
        {
          ...key,
          'ce-specversion': '1.0',
          'ce-id': '1',
          'ce-source': '/p',
          'ce-type': 'dev.knative.sources.ping',
        },
        '{}',
      ],
      [
        { 'content-type': 'application/cloudevents+json' },
        JSON.stringify({ ...ping, mintoncekey: EVENTS_KEY }),
      ],
    ] as const) {
      const { app, sweeps } = ticking()
      expect((await app.call(path, { method: 'POST', headers, body })).status).toBe(204)
      expect(sweeps).toHaveLength(1)
    }
  }
})

test.each<[what: string, headers: Readonly<Record<string, string>>, body: string, code: number]>([
  ['nobody', {}, '', 401],
  ['somebody else', { Authorization: 'Bearer token-of-jane' }, '', 401],
  ['a structured event without a key', { 'content-type': 'application/cloudevents+json' }, '{}', 401],
  ['a body that is too large', key, 'x'.repeat(65_537), 413],
])('%s does not tick', async (_, headers, body, code) => {
  const { app, sweeps } = ticking()
  expect(await codeOf(tick(app, headers, body))).toBe(code)
  expect(sweeps).toEqual([])
})
