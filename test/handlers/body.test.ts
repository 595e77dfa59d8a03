import { expect, test } from 'vitest'
import type { HttpRequest } from '../../src/core/http.ts'
import { fromFetch } from '../../src/core/http-fetch.ts'
import { MAX_BODY_BYTES, readBody } from '../../src/handlers/body.ts'

const utf8 = (text: string) => new TextEncoder().encode(text)
const never = new AbortController().signal
const URL_OF_A_MINT = 'http://mintonce.test/mint'

const post = (
  body: Uint8Array<ArrayBuffer> | ReadableStream | undefined,
  headers: Readonly<Record<string, string>> = {},
): HttpRequest =>
  fromFetch(
    new Request(URL_OF_A_MINT, {
      method: 'POST',
      headers,
      ...(body === undefined ? {} : { body, duplex: 'half' }),
    }),
    () => undefined,
  )

/** A body without a length, in pieces. Counts how many were taken. */
function pieces(count: number, bytes: number) {
  let taken = 0
  let cancelled = false
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (taken === count) return controller.close()
        taken += 1
        controller.enqueue(new Uint8Array(bytes).fill(0x20))
      },
      cancel() {
        cancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { stream, taken: () => taken, wasCancelled: () => cancelled }
}

const tooLarge = { ok: false, failure: { reason: 'body_too_large', maxBytes: 65_536 } }

test('the limit is 64 KiB: that many bytes are a body', async () => {
  const body = await readBody(post(utf8(' '.repeat(65_536))), never)
  expect(body).toMatchObject({ ok: true })
  if (body.ok) expect(body.value).toHaveLength(65_536)
})

test('one byte more is too large, and nothing is read when the length says so', async () => {
  const { stream, taken } = pieces(1, 1)
  expect(await readBody(post(stream, { 'content-length': String(MAX_BODY_BYTES + 1) }), never)).toEqual(
    tooLarge,
  )
  expect(taken()).toBe(0)
  expect(await readBody(post(utf8(' '.repeat(65_537))), never)).toEqual(tooLarge)
})

test('HTTP-01: a body of 5 MB without a length is read to the limit and no further', async () => {
  const { stream, taken, wasCancelled } = pieces(5000, 1000)
  expect(await readBody(post(stream), never)).toEqual(tooLarge)
  expect(taken()).toBeLessThanOrEqual(67)
  expect(wasCancelled()).toBe(true)
})

test.each(['10', 'abc', '-1', '1e3', ''])(
  'HTTP-01: a declared length of %j hides nothing',
  async (declared) => {
    const { stream } = pieces(5000, 1000)
    expect(await readBody(post(stream, { 'content-length': declared }), never)).toEqual(tooLarge)
  },
)

test.each([
  undefined,
  'application/json',
  'Application/JSON',
  'application/json; charset=utf-8',
  'application/json ;charset=utf-8',
])('Content-Type %j is JSON', async (type) => {
  const request = post(utf8('{}'), type === undefined ? {} : { 'content-type': type })
  expect(await readBody(request, never)).toEqual({ ok: true, value: utf8('{}') })
})

test.each([
  'application/x-www-form-urlencoded',
  'text/plain',
  'application/yaml',
  'application/json-patch+json',
  'application/jsonp',
  'text/json, application/json',
  'json',
])('Content-Type %j is not', async (contentType) => {
  expect(await readBody(post(utf8('{}'), { 'content-type': contentType }), never)).toEqual({
    ok: false,
    failure: { reason: 'media_type_unsupported', contentType },
  })
})

test.each(['application/x-www-form-urlencoded', 'text/plain', ''])(
  'no bytes are an empty body, whatever their type (%j)',
  async (type) => {
    expect(await readBody(post(utf8(''), { 'content-type': type }), never)).toEqual({
      ok: true,
      value: new Uint8Array(),
    })
    expect(await readBody(post(undefined, { 'content-type': type }), never)).toMatchObject({ ok: true })
  },
)

test('a body that is framed as nothing is none, and nobody waits for it', async () => {
  const { stream, taken } = pieces(1, 1)
  const request = post(stream, { 'content-length': '0', 'content-type': 'text/plain' })
  expect(await readBody(request, never)).toEqual({ ok: true, value: new Uint8Array() })
  expect(taken()).toBe(0)
  expect(await readBody(request, AbortSignal.abort())).toEqual({
    ok: false,
    failure: { reason: 'caller_gone' },
  })
})

test('one that says it is nothing, and comes in chunks, is what comes (RFC 9112, section 6.3)', async () => {
  const headers = { 'content-length': '0', 'transfer-encoding': 'chunked' }
  expect(await readBody(post(utf8('{}'), headers), never)).toEqual({ ok: true, value: utf8('{}') })
})

test('a compressed body is refused: its length is not what arrives', async () => {
  expect(await readBody(post(utf8('{}'), { 'content-encoding': 'gzip' }), never)).toMatchObject({
    failure: { reason: 'media_type_unsupported' },
  })
  expect(
    await readBody(
      post(utf8('{}'), { 'content-encoding': 'identity', 'content-type': 'application/json' }),
      never,
    ),
  ).toMatchObject({ ok: true })
})

test('a body that breaks off is no empty body', async () => {
  const broken = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.error(new Error('reset'))
    },
  })
  expect(await readBody(post(broken), never)).toMatchObject({
    ok: false,
    failure: { reason: 'request_malformed', message: 'the body broke off' },
  })
})

test('a body that never ends is waited for as long as the signal allows', async () => {
  const limit = new AbortController()
  const half = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(utf8('{"spec":'))
    },
  })
  const read = readBody(post(half), limit.signal)
  setTimeout(() => limit.abort(), 20)
  expect(await read).toEqual({ ok: false, failure: { reason: 'caller_gone' } })
  expect(await readBody(post(utf8('{}')), limit.signal)).toEqual({
    ok: false,
    failure: { reason: 'caller_gone' },
  })
})
