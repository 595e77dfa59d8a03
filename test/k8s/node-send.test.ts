import { describe, expect, test } from 'vitest'
import type { Fetch } from '../../src/core/deps.ts'
import { createHttpsClient } from '../../src/k8s/node-https.ts'
import { openAnswer } from '../../src/k8s/node-send.ts'
import type { StoredSecret } from '../../src/k8s/objects.ts'
import { type Send, sendOver } from '../../src/k8s/send.ts'
import { answerJson, rawServer, serve } from './loopback.ts'
import { kubeBy } from './scripted-fetch.ts'

const secret: StoredSecret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 's', namespace: 'a', uid: 'u', resourceVersion: '1' },
}
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'
const unreachable = (call: string, why: string, sent: boolean) => ({
  ok: false,
  failure: { reason: 'kube_unreachable', call, why, sent },
})

/** Both must be one and the same to everything above them. */
const WAYS: readonly [string, (url: string) => Send][] = [
  ['as plain values', (url) => through(url)],
  ['by the Fetch API', (url) => sendOver(fetchOf(url))],
]

function through(url: string): Send {
  const client = createHttpsClient(url)
  return async (request) => (await openAnswer(client, request, {})).read()
}

const fetchOf = (url: string): Fetch => {
  const client = createHttpsClient(url)
  return (request) => client.fetch(request)
}

describe.each(WAYS)('what is sent %s', (_, way) => {
  const kubeAt = (url: string, timeoutMs?: number) => kubeBy(way(url), timeoutMs)

  test('goes out with its query, its type and its length, below the path of the server', async () => {
    const { url, received } = await serve((_, response) => answerJson(response, secret))
    await kubeAt(`${url}/k8s/clusters/c-1/`).updateSecret(
      { ...secret, stringData: { note: 'ü' } } as StoredSecret,
      { dryRun: true },
    )
    const [request] = received
    expect(request?.url).toMatch(/^\/k8s\/clusters\/c-1\/api\/v1\/namespaces\/a\/secrets\/s\?.*dryRun=All/)
    expect(request?.headers).toMatchObject({
      accept: 'application/json',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(request?.body ?? '')),
    })
    expect(JSON.parse(request?.body ?? '')).toMatchObject({ stringData: { note: 'ü' } })
  })

  test('without a body has none, nor a type', async () => {
    const { url, received } = await serve((_, response) => answerJson(response, secret))
    await kubeAt(url).getSecret('a', 's')
    expect(received[0]).toMatchObject({ body: '', headers: { 'content-length': '0' } })
    expect(received[0]?.headers).not.toHaveProperty('content-type')
    expect(received[0]?.headers).not.toHaveProperty('transfer-encoding')
  })

  test('keeps its connection', async () => {
    const { url, received } = await serve((_, response) => answerJson(response, secret))
    const kube = kubeAt(url)
    for (let calls = 0; calls < 5; calls += 1)
      expect(await kube.getSecret('a', 's')).toEqual({ ok: true, value: secret })
    expect(new Set(received.map(({ clientPort }) => clientPort)).size).toBe(1)
  })

  test.each([204, 301, 307, 308, 503])('and is answered %i without a body is not repeated', async (code) => {
    const elsewhere = await serve((_, response) => answerJson(response, secret))
    const { url, received } = await serve((_, response) =>
      response.writeHead(code, { location: elsewhere.url, 'retry-after': '0' }).end(),
    )
    expect(await kubeAt(url).reviewToken('secret-token', ['a'])).toEqual({
      ok: false,
      failure: { reason: 'kube_error', call: 'create TokenReview', code },
    })
    expect(received).toHaveLength(1)
    expect(elsewhere.received).toEqual([])
  })

  test('is told how long to wait', async () => {
    const { url } = await serve((_, response) =>
      response.writeHead(429, { 'retry-after': '7' }).end('{"kind":"Status","reason":"TooManyRequests"}'),
    )
    expect(await kubeAt(url).getSecret('a', 's')).toEqual({
      ok: false,
      failure: { reason: 'kube_overloaded', retryAfterSeconds: 7 },
    })
  })

  test('reads no more of an answer than it may, and lets it go', async () => {
    const chunk = Buffer.alloc(256 * 1024, 0x20)
    let written = 0
    const ended = Promise.withResolvers<void>()
    const { url } = await serve((_, response) => {
      response.once('close', ended.resolve)
      const more = () => {
        while (response.write(chunk)) written += chunk.length
        written += chunk.length
        response.once('drain', more)
      }
      more()
    })
    expect(await kubeAt(url).getSecret('a', 's')).toEqual({
      ok: false,
      failure: { reason: 'kube_error', call: 'get Secret', code: 200 },
    })
    await ended.promise
    expect(written).toBeLessThan(16 * 1024 * 1024)
  })

  test('ends with its time, on the wire as well', async () => {
    const closed = Promise.withResolvers<void>()
    const { url } = await serve((_, response) => void response.once('close', closed.resolve))
    expect(await kubeAt(url, 50).updateSecret(secret)).toEqual({
      ok: false,
      failure: { reason: 'kube_timeout', call: 'update Secret' },
    })
    await closed.promise
  })

  test('ends with its time when half of an answer has come', async () => {
    const closed = Promise.withResolvers<void>()
    const { url } = await rawServer((socket) => {
      socket.once('close', closed.resolve)
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"kind":')
    })
    expect(await kubeAt(url, 50).updateSecret(secret)).toEqual({
      ok: false,
      failure: { reason: 'kube_timeout', call: 'update Secret' },
    })
    await closed.promise
  })

  test('never left when nobody was there', async () => {
    expect(await kubeAt('http://127.0.0.1:1').updateSecret(secret)).toEqual(
      unreachable('update Secret', 'ECONNREFUSED', false),
    )
  })

  test.each<[string, Parameters<typeof rawServer>[0], string]>([
    ['is reset', (socket) => void socket.resetAndDestroy(), 'ECONNRESET'],
    ['is closed', (socket) => void socket.end(), 'ECONNRESET'],
    [
      'breaks off under the answer',
      (socket) =>
        void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"kind":', () =>
          socket.resetAndDestroy(),
        ),
      'ECONNRESET',
    ],
  ])('may have arrived when the connection %s, and is seen once', async (_, react, why) => {
    const { url, requests } = await rawServer(react)
    expect(await kubeAt(url).updateSecret(secret)).toEqual(unreachable('update Secret', why, true))
    expect(requests().filter((text) => text.startsWith('PUT'))).toHaveLength(1)
  })

  test('may have arrived when a kept connection is reset under it, and is seen once', async () => {
    let answered = 0
    const { url, requests } = await rawServer((socket) => {
      answered += 1
      if (answered > 1) socket.resetAndDestroy()
      else socket.write(OK)
    })
    const kube = kubeAt(url)
    await kube.ping()
    expect(await kube.updateSecret(secret)).toEqual(unreachable('update Secret', 'ECONNRESET', true))
    expect(requests().filter((text) => text.startsWith('PUT'))).toHaveLength(1)
  })

  test('that is answered by another protocol has no answer, at once', async () => {
    const { url } = await rawServer(
      (socket) =>
        void socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
    )
    expect(await kubeAt(url, 60_000).updateSecret(secret)).toMatchObject({
      failure: { reason: 'kube_unreachable', sent: true },
    })
  })

  test('is not done by a status that there is not', async () => {
    const { url } = await rawServer(
      (socket) => void socket.write('HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n'),
    )
    expect(await kubeAt(url).updateSecret(secret)).toMatchObject({ ok: false })
  })
})
