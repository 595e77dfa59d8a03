import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ok } from '../../src/core/result.ts'
import { type Serving, serve } from '../../src/node-server.ts'
import { accountSecret } from '../helpers/orders.ts'
import { connectTo, hear, send } from '../helpers/raw-http.ts'
import { CREDENTIALS, GROUP, MINT, scriptedApp, TOKEN } from '../helpers/scripted-app.ts'

/** What the Kubernetes API does; each test may change it for itself. */
const behaviour = {
  review: async (_signal: AbortSignal | undefined) => undefined as unknown,
  write: async () => undefined as unknown,
}
const idle = { ...behaviour }

const fleet = Array.from({ length: 3000 }, () => accountSecret())
const api = scriptedApp({
  reviewAccess: async (_subject, _access, options) => {
    await behaviour.review(options?.signal)
    return ok(true)
  },
  updateSecret: async (secret) => {
    await behaviour.write()
    return ok(secret)
  },
  listSecrets: async () => ok({ items: fleet, resourceVersion: '12' }),
})

let serving: Serving
beforeAll(async () => {
  serving = await serve({
    app: api.app,
    group: GROUP,
    port: 0,
    address: '127.0.0.1',
    drainMs: 0,
    log: () => undefined,
  })
})
afterAll(() => serving.stop())

const HOST = 'Host: mintonce.test\r\n'
const AUTH = `Authorization: Bearer ${TOKEN}\r\n`
const EMPTY = 'Content-Length: 0\r\n\r\n'
const post = (path: string, more = '', body = EMPTY) =>
  `POST ${path} HTTP/1.1\r\n${HOST}${AUTH}${more}${body}`

/** Sends the bytes; expects this code, a Status, and no write. */
async function expectRefused(bytes: string | Buffer, ...codes: readonly number[]): Promise<string> {
  const before = api.writes()
  const heard = await send(serving.port, bytes)
  expect(heard).toMatchObject({ is: 'answer' })
  if (heard.is !== 'answer') return ''
  expect(codes).toContain(heard.status)
  expect(JSON.parse(heard.body)).toMatchObject({ kind: 'Status', status: 'Failure', code: heard.status })
  expect(api.writes()).toBe(before)
  return heard.body
}

test('a mint over a bare socket is a 201', async () => {
  const before = api.writes()
  const heard = await send(serving.port, post(MINT))
  expect(heard).toMatchObject({ is: 'answer', status: 201, rest: '' })
  expect(api.writes()).toBe(before + 1)
})

describe('a request line', () => {
  test.each([
    ['of no words', '\r\n\r\n\r\n'],
    ['of one word', `${MINT}\r\n${HOST}\r\n`],
    ['of a version that is none', `POST ${MINT} HTTP/9.9\r\n${HOST}\r\n`],
    ['of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['with a tab', `POST\t${MINT} HTTP/1.1\r\n${HOST}${AUTH}${EMPTY}`],
    ['with a space in its path', post(`${MINT} x`)],
    ['with a NUL in its path', post(`${MINT}\0`)],
    ['with a method in lower case', `post ${MINT} HTTP/1.1\r\n${HOST}${AUTH}${EMPTY}`],
    ['with a method that nobody knows', `MINT ${MINT} HTTP/1.1\r\n${HOST}${AUTH}${EMPTY}`],
    ['that ends in a line feed only', `POST ${MINT} HTTP/1.1\n${HOST}${AUTH}${EMPTY}`],
    ['of a TLS handshake', Buffer.from('16030100a5010000a10303', 'hex')],
    ['of random bytes', Buffer.from('00ff8f3c21e90d0a0d0a', 'hex')],
  ])('%s is a 400', async (_, bytes) => {
    // Before the first line, empty lines are skipped (RFC 9112, section 2.2).
    const text = typeof bytes === 'string' && bytes.trim() === '' ? `${bytes}x\r\n\r\n` : bytes
    await expectRefused(text, 400)
  })

  test.each([
    ['an absolute form', `http://mintonce.test${MINT}`],
    ['an absolute form of another host', `http://other.test${MINT}`],
    ['an asterisk', '*'],
    ['an encoded slash', MINT.replace('/mint', '%2Fmint')],
    ['an encoded way out', `${MINT}/..%2f..%2f..%2f..%2fb/credentials/postgres-orders.web/mint`],
    ['dot segments', `${CREDENTIALS}/x/../postgres-orders.web/mint`],
    ['encoded dot segments', `${CREDENTIALS}/x/%2e%2e/postgres-orders.web/mint`],
    ['a dot segment', `${CREDENTIALS}/./postgres-orders.web/mint`],
    ['a double slash', MINT.replace('/mint', '//mint')],
    ['a double slash in front', `/${MINT}`],
    ['a slash at its end', `${MINT}/`],
    ['a semicolon', MINT.replace('.web', '.web;v=1')],
    ['a backslash', MINT.replace('/mint', '\\mint')],
    ['a fragment', `${MINT}#x`],
    ['a letter beyond ASCII', MINT.replace('web', 'w\xe9b')],
    ['a segment too many', `${MINT}/status`],
    ['a name in capitals', MINT.replace('web', 'WEB')],
  ])('with a target of %s is a 400 and no mint', async (_, target) => {
    await expectRefused(post(target), 400)
  })

  test.each(['%F0%27', '%a', '%A4%A2'])('HTTP-02: with the user segment %s is a 400', async (segment) => {
    await expectRefused(post(MINT.replace('web', segment)), 400)
  })

  test.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'])(
    'of a %s on a mint is a 405 that says what is allowed',
    async (method) => {
      const heard = await send(serving.port, `${method} ${MINT} HTTP/1.1\r\n${HOST}${AUTH}${EMPTY}`)
      expect(heard).toMatchObject({ is: 'answer', status: 405 })
      if (heard.is === 'answer') expect(heard.headers.get('allow')).toBe('POST')
    },
  )

  test('of a CONNECT is closed', async () => {
    expect(await send(serving.port, `CONNECT other.test:443 HTTP/1.1\r\n${HOST}\r\n`)).toEqual({
      is: 'closed',
    })
  })
})

describe('a Host header', () => {
  const without = `POST ${MINT} HTTP/1.1\r\n${AUTH}`
  /** Each such label grows by six characters in its ASCII form: a parser that compares lengths is deceived. */
  const grown = (path: string) => {
    const labels = Math.ceil(path.length / 6)
    return Array.from({ length: labels }, () => '\xfc').join('.') + path.padEnd(labels * 6, 'a')
  }
  test.each([
    ['that is missing', ''],
    ['of no value', 'Host:\r\n'],
    ['given twice', `${HOST}${HOST}`],
    ['with a space', 'Host: a b\r\n'],
    ['with a path', 'Host: a/b\r\n'],
    ['with a query', 'Host: a?b\r\n'],
    ['with a user', 'Host: a@b\r\n'],
    ['with a port that is none', 'Host: a:b\r\n'],
    ['with an open bracket', 'Host: [::1\r\n'],
  ])('%s is a 400', async (_, host) => {
    await expectRefused(`${without}${host}${EMPTY}`, 400)
  })

  test('is never part of the path: a mint cannot be hidden behind a harmless target', async () => {
    const host = `Host: ${grown(`${MINT}?fieldManager=`)}\r\n`
    await expectRefused(`POST /livez HTTP/1.1\r\n${host}${AUTH}${EMPTY}`, 400)
    await expectRefused(`GET /livez HTTP/1.1\r\n${host}${AUTH}\r\n`, 400)
  })

  test.each(['mintonce', 'mintonce.example.org:8080', '127.0.0.1:80', '[::1]:8080', 'MintOnce.Example'])(
    'of %s is fine',
    async (host) => {
      expect(await send(serving.port, `GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).toMatchObject({
        is: 'answer',
        status: 200,
      })
    },
  )
})

describe('headers', () => {
  test.each([
    ['with white space before the colon', 'X-A : 1\r\n'],
    ['that are folded', 'X-A: 1\r\n 2\r\n'],
    ['with a NUL', 'X-A: 1\0\r\n'],
    ['with a bare carriage return', 'X-A: 1\r2\r\n'],
    ['without a colon', 'X-A\r\n'],
    ['without a name', ': 1\r\n'],
    ['given twice: Authorization', 'Authorization: Bearer other\r\n'],
    ['given twice: Content-Type', 'Content-Type: application/json\r\nContent-Type: text/plain\r\n'],
  ])('%s are a 400', async (_, more) => {
    await expectRefused(post(MINT, more), 400)
  })

  test('TOK-17: two Authorization headers are a 400, whichever comes first', async () => {
    const other = 'Authorization: Bearer other\r\n'
    for (const both of [`${AUTH}${other}`, `${other}${AUTH}`, `${AUTH}${AUTH}`]) {
      await expectRefused(`POST ${MINT} HTTP/1.1\r\n${HOST}${both}${EMPTY}`, 400)
    }
  })

  test('FPX-06: four hundred groups, 25 KB of headers, are no reason to refuse', async () => {
    const groups = Array.from(
      { length: 400 },
      (_, index) => `X-Remote-Group: cn=group-${index},ou=databases,dc=example,dc=org,o=x\r\n`,
    ).join('')
    expect(groups.length).toBeGreaterThan(25_000)
    expect(await send(serving.port, post(MINT, groups))).toMatchObject({ is: 'answer', status: 201 })
  })

  test('FPX-06: above 128 KiB the answer is a clean 431', async () => {
    const body = await expectRefused(post(MINT, `X-A: ${'a'.repeat(130 * 1024)}\r\n`), 431)
    expect(body).toContain('131072 bytes')
  })

  test('FPX-01: identity headers of a front proxy mean nothing on a direct call', async () => {
    const forged = 'X-Remote-User: admin\r\nX-Remote-Group: system:masters\r\nX-Remote-Extra-Scopes: all\r\n'
    await expectRefused(`POST ${MINT} HTTP/1.1\r\n${HOST}${forged}${EMPTY}`, 401)
    await send(serving.port, post(MINT, forged))
    expect(api.argumentsOf('reviewAccess').at(-1)?.[0]).toEqual({
      username: 'jane@example.org',
      uid: 'u-1',
      groups: [],
      extra: {},
    })
  })
})

describe('a body', () => {
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
  const JSON_TYPE = 'Content-Type: application/json\r\n'

  test('in chunks, without a Content-Type, is read as kubectl sends it', async () => {
    const body = `Transfer-Encoding: chunked\r\n\r\n${chunk('{"kind":')}${chunk('"CredentialRequest"}')}0\r\n\r\n`
    expect(await send(serving.port, post(MINT, '', body))).toMatchObject({ is: 'answer', status: 201 })
  })

  test('HTTP-01: of 5 MB in chunks is a 413, and the connection ends', async () => {
    const socket = await connectTo(serving.port)
    socket.on('error', () => undefined)
    const closed = new Promise((resolve) => socket.once('close', resolve))
    const heard = hear(socket)
    socket.write(
      post(
        MINT,
        JSON_TYPE,
        `Transfer-Encoding: chunked\r\n\r\n${chunk(' '.repeat(64 * 1024)).repeat(80)}0\r\n\r\n`,
      ),
    )
    expect(await heard).toMatchObject({ is: 'answer', status: 413 })
    await closed
  })

  test('HTTP-01: that says it is 5 MB is a 413 before it is sent', async () => {
    await expectRefused(post(MINT, JSON_TYPE, 'Content-Length: 5000000\r\n\r\n{'), 413)
  })

  test.each(['abc', '-1', '1.5', '0x10', '+2', '2, 2', '99999999999999999999'])(
    'HTTP-01: with Content-Length %s is a 400',
    async (length) => {
      await expectRefused(post(MINT, JSON_TYPE, `Content-Length: ${length}\r\n\r\n{}`), 400)
    },
  )

  test('HTTP-01: of 5 MB that says it is 10 bytes is at most one request of 10 bytes', async () => {
    const before = api.writes()
    const heard = await send(
      serving.port,
      post(MINT, JSON_TYPE, `Content-Length: 10\r\n\r\n[        ]${'x'.repeat(5_000_000)}`),
    )
    if (heard.is === 'answer') expect(heard.status).toBe(400)
    else expect(heard).toEqual({ is: 'closed' })
    expect(api.writes()).toBe(before)
  })

  test.each([
    ['a length and chunks', `Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['chunks and a length', `Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`],
    ['two lengths', 'Content-Length: 0\r\nContent-Length: 2\r\n\r\n{}'],
    ['an unknown coding', 'Transfer-Encoding: gzip\r\n\r\n{}'],
    ['identity as coding', 'Transfer-Encoding: identity\r\n\r\n{}'],
    ['chunked that is not last', 'Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n'],
    ['a coding in disguise', 'Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n'],
    ['a chunk size that is none', 'Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n'],
    [
      'a chunk size beyond all numbers',
      `Transfer-Encoding: chunked\r\n\r\n${'f'.repeat(20)}\r\n{}\r\n0\r\n\r\n`,
    ],
    ['a chunk that is longer than it says', 'Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n'],
  ])('framed by %s is a 400: two servers would read two requests', async (_, framing) => {
    await expectRefused(post(MINT, JSON_TYPE, framing), 400)
  })

  test('that smuggles a second mint is no second mint', async () => {
    const before = api.writes()
    const smuggled = post(MINT)
    await send(
      serving.port,
      post(
        `${CREDENTIALS}/postgres-orders.nobody/mint`,
        JSON_TYPE,
        `Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
      ),
    )
    await send(
      serving.port,
      post(
        MINT,
        JSON_TYPE,
        `Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
      ),
    )
    expect(api.writes()).toBe(before)
  })

  test('that comes byte by byte is read like any other', async () => {
    const socket = await connectTo(serving.port)
    const heard = hear(socket)
    const body = '{"spec":{}}'
    for (const byte of post(MINT, JSON_TYPE, `Content-Length: ${body.length}\r\n\r\n${body}`)) {
      socket.write(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await heard).toMatchObject({ is: 'answer', status: 201 })
    socket.destroy()
  })

  test('that is stuck holds up nobody else', async () => {
    const stuck = await Promise.all(Array.from({ length: 50 }, () => connectTo(serving.port)))
    for (const socket of stuck) socket.write(post(MINT, JSON_TYPE, 'Content-Length: 100\r\n\r\n{'))
    expect(await send(serving.port, post(MINT))).toMatchObject({ is: 'answer', status: 201 })
    for (const socket of stuck) socket.destroy()
  })
})

test('bytes behind a request that are no request never pass for its answer', async () => {
  let stored = 0
  behaviour.write = async () => {
    stored += 1
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  const socket = await connectTo(serving.port)
  socket.on('error', () => undefined)
  const heard = hear(socket)
  socket.write(post(MINT))
  while (stored === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  socket.write('\x01\x02 this is no request\r\n\r\n')
  const answer = await heard
  Object.assign(behaviour, idle)
  socket.destroy()
  if (answer.is === 'answer') expect(answer.status).toBe(201)
  else expect(answer).toEqual({ is: 'closed' })
})

describe('HTTP-04: a client that hangs up', () => {
  const TIMES = 100
  const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
  const abandon = (socket: Socket) => socket.on('error', () => undefined).destroy()

  /** No matter what the test did, the server works and holds nothing. */
  async function expectHealthy(before: number): Promise<void> {
    expect(await send(serving.port, `GET /livez HTTP/1.1\r\n${HOST}\r\n`)).toMatchObject({
      is: 'answer',
      status: 200,
    })
    await expect.poll(sockets, { timeout: 5000 }).toBeLessThanOrEqual(before)
  }

  test('in the middle of its body gets no new password, a hundred times', async () => {
    const [before, writes] = [sockets(), api.writes()]
    for (let i = 0; i < TIMES; i += 1) {
      const socket = await connectTo(serving.port)
      socket.write(post(MINT, 'Content-Type: application/json\r\n', 'Content-Length: 100\r\n\r\n{"spec":'))
      await new Promise((resolve) => setTimeout(resolve, i % 5))
      abandon(socket)
    }
    await expectHealthy(before)
    expect(api.writes()).toBe(writes)
  })

  test('before the answer gets no new password, a hundred times', async () => {
    const [before, writes, logged] = [sockets(), api.writes(), api.logged.length]
    // The review lasts until the server has noticed that nobody is there.
    behaviour.review = async (signal) => {
      if (signal !== undefined && !signal.aborted) await once(signal, 'abort')
    }
    await Promise.all(
      Array.from({ length: TIMES }, async () => {
        const reviewed = api.argumentsOf('reviewAccess').length
        const socket = await connectTo(serving.port)
        socket.write(post(MINT))
        while (api.argumentsOf('reviewAccess').length === reviewed)
          await new Promise((resolve) => setTimeout(resolve, 1))
        abandon(socket)
      }),
    )
    await expect.poll(() => api.logged.length - logged, { timeout: 8000 }).toBeGreaterThanOrEqual(TIMES)
    Object.assign(behaviour, idle)
    await expectHealthy(before)
    expect(api.writes()).toBe(writes)
  })

  test('in the middle of a long answer harms nobody, a hundred times', async () => {
    const before = sockets()
    for (let i = 0; i < TIMES; i += 1) {
      const socket = await connectTo(serving.port)
      socket.on('error', () => undefined)
      socket.write(`GET ${CREDENTIALS} HTTP/1.1\r\n${HOST}${AUTH}\r\n`)
      await once(socket, 'data')
      abandon(socket)
    }
    await expectHealthy(before)
  })
})

test('HTTP-06: a connection that was idle for six seconds takes the next request', async () => {
  const socket = await connectTo(serving.port)
  for (const pauseMs of [6000, 0]) {
    const heard = hear(socket)
    socket.write(`GET /livez HTTP/1.1\r\n${HOST}\r\n`)
    const answer = await heard
    expect(answer).toMatchObject({ is: 'answer', status: 200, body: 'ok', rest: '' })
    // Announced to proxies, which then keep theirs for less.
    if (answer.is === 'answer') expect(answer.headers.get('keep-alive')).toBe('timeout=120')
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  socket.destroy()
})
