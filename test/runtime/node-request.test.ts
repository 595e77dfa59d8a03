import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { HttpAnswer, HttpRequest } from '../../src/core/http.ts'
import { serve } from '../../src/node-server.ts'
import { connectTo, hear, send } from '../helpers/raw-http.ts'

const HEAD = 'HTTP/1.1\r\nHost: mintonce.test\r\n'
const get = (path = '/', more = '') => `GET ${path} ${HEAD}${more}\r\n`
const text = (body: string, status = 200): HttpAnswer => ({
  status,
  headers: { 'Content-Type': 'text/plain' },
  body,
})

/** The server that ships, in front of an app that does this. Answers its port. */
async function serving(app: (request: HttpRequest) => HttpAnswer | Promise<HttpAnswer>): Promise<number> {
  const group = 'core.cozystack.io'
  const options = { group, port: 0, address: '127.0.0.1', drainMs: 0, log: () => undefined }
  const server = await serve({ app: async (request) => app(request), ...options })
  onTestFinished(() => server.stop())
  return server.port
}

/** However it ends. */
const closeOf = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve))

async function connected(port: number): Promise<Socket> {
  const socket = await connectTo(port)
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  return socket
}

describe('a request', () => {
  test('is what came: path and query as they are, each header line, and those of one name joined', async () => {
    const seen: HttpRequest[] = []
    const port = await serving((request) => {
      seen.push(request)
      return text('')
    })
    await send(port, get('/a/b?x=%41&x=2&y=1?#f', 'X-One: a\r\nx-one: b, c\r\nX-None:\r\n'))
    const [request] = seen
    expect(request).toMatchObject({ method: 'GET', path: '/a/b' })
    expect([...(request?.query ?? [])]).toEqual([
      ['x', 'A'],
      ['x', '2'],
      ['y', '1?'],
    ])
    const { headers, headerLines } = request ?? {}
    expect(['X-One', 'x-one', 'X-None', 'Absent', '__proto__'].map((name) => headers?.get(name))).toEqual([
      'a, b, c',
      'a, b, c',
      '',
      null,
      null,
    ])
    expect(['X-None', 'Absent', 'constructor'].map((name) => headers?.has(name))).toEqual([
      true,
      false,
      false,
    ])
    expect(headerLines).toMatchObject({ areJoined: false })
    expect(headerLines?.lines.filter(([name]) => name === 'x-one').map(([, value]) => value)).toEqual([
      'a',
      'b, c',
    ])
  })

  test('has a signal that fires when the caller has gone, and not when all is well', async () => {
    const signals: AbortSignal[] = []
    const arrived = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<void>()
    const port = await serving(async ({ path, signal }) => {
      signals.push(signal)
      if (path === '/well') return text('done')
      signal.addEventListener('abort', () => gone.resolve(), { once: true })
      arrived.resolve()
      await gone.promise
      return text('to nobody')
    })
    await send(port, get('/well'))
    const socket = await connected(port)
    socket.write(get('/gone'))
    await arrived.promise
    socket.destroy()
    await gone.promise
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true])
  })
})

describe('a body', () => {
  test.each([
    ['as long as it may be', 8, '12345678'],
    ['longer', 7, undefined],
    ['empty', 0, ''],
  ])('that is %s', async (_, maxBytes, expected) => {
    const port = await serving(async ({ readBody, signal }) => {
      const bytes = await readBody(maxBytes, signal)
      return text(bytes === undefined ? 'too long' : `<${new TextDecoder().decode(bytes)}>`)
    })
    const sent = expected === '' ? '' : '12345678'
    const heard = await send(port, `POST / ${HEAD}Content-Length: ${sent.length}\r\n\r\n${sent}`)
    expect(heard).toMatchObject({ body: expected === undefined ? 'too long' : `<${expected}>` })
  })

  test('is waited for as long as the signal allows', async () => {
    const port = await serving(async ({ readBody }) => {
      const reason = await readBody(10, AbortSignal.timeout(20)).catch((error: Error) => error.name)
      return text(String(reason))
    })
    expect(await send(port, `POST / ${HEAD}Content-Length: 10\r\n\r\n12345`)).toMatchObject({
      body: 'TimeoutError',
    })
  })

  test('that breaks off is none', async () => {
    const outcome = Promise.withResolvers<unknown>()
    const port = await serving(async ({ readBody }) => {
      outcome.resolve(await readBody(10, new AbortController().signal).catch(() => 'broke off'))
      return text('to nobody')
    })
    const socket = await connected(port)
    socket.write(`POST / ${HEAD}Content-Length: 10\r\n\r\n12345`, () => socket.destroy())
    expect(await outcome.promise).toBe('broke off')
  })

  test('of which the caller has gone before anybody asked for it is none either', async () => {
    const outcome = Promise.withResolvers<unknown>()
    const port = await serving(async ({ readBody, signal }) => {
      await once(signal, 'abort')
      outcome.resolve(await readBody(10, new AbortController().signal).catch(() => 'broke off'))
      return text('to nobody')
    })
    const socket = await connected(port)
    socket.write(`POST / ${HEAD}Content-Length: 10\r\n\r\n12345`, () => socket.destroy())
    expect(await outcome.promise).toBe('broke off')
  })

  test.each([
    ['nobody reads', 0],
    ['is read to its limit', 1000],
  ])('that %s does not stand before the next request', async (_, maxBytes) => {
    const port = await serving(async ({ method, readBody, signal }) => {
      if (method === 'POST' && maxBytes > 0) await readBody(maxBytes, signal)
      return text(method)
    })
    const socket = await connected(port)
    const first = hear(socket)
    socket.write(`POST / ${HEAD}Content-Length: 3000000\r\n\r\n${'x'.repeat(2000)}`)
    expect(await first).toMatchObject({ body: 'POST' })
    const second = hear(socket)
    socket.write('x'.repeat(2_998_000))
    socket.write(get())
    expect(await second).toMatchObject({ body: 'GET' })
  })

  test('that is refused for good may be sent to its end: the answer is there, and nothing is reset', async () => {
    const refusal = text('no', 413)
    const headers = { ...refusal.headers, Connection: 'close' }
    const port = await serving(() => ({ ...refusal, headers }))
    const socket = await connectTo(port)
    onTestFinished(() => void socket.destroy())
    const errors: Error[] = []
    socket.on('error', (error) => errors.push(error))
    const closed = closeOf(socket)
    const first = hear(socket)
    socket.write(`POST / ${HEAD}Content-Length: 3000000\r\n\r\n`)
    expect(await first).toMatchObject({ status: 413, body: 'no' })
    socket.resume()
    for (let sent = 0; sent < 30; sent += 1) {
      await new Promise((resolve) => socket.write('x'.repeat(100_000), resolve))
    }
    await closed
    expect(errors).toEqual([])
  })

  test.each([
    ['ends', undefined],
    ['goes on with what is no body', 'zz\r\n'],
  ])('that was answered and then %s has that answer only', async (_, rest) => {
    const port = await serving(() => text('no', 401))
    const socket = await connected(port)
    const closed = closeOf(socket)
    let received = ''
    socket.on('data', (data) => {
      const isFirst = received === ''
      received += data
      if (!isFirst) return
      if (rest === undefined) socket.end()
      else socket.write(rest)
    })
    socket.write(`POST / ${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n`)
    await closed
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401'])
  })

  test('of which the rest comes while the server stops does not hold it', async () => {
    const group = 'core.cozystack.io'
    const options = { group, port: 0, address: '127.0.0.1', drainMs: 0, log: () => undefined }
    const server = await serve({ app: async () => text('no', 401), ...options })
    const socket = await connected(server.port)
    const first = hear(socket)
    socket.write(`POST / ${HEAD}Content-Length: 10\r\n\r\nx`)
    expect(await first).toMatchObject({ status: 401 })
    const stopped = server.stop()
    await new Promise((resolve) => setTimeout(resolve, 50))
    socket.write('x'.repeat(9))
    await stopped
  })

  test('that never ends is not read for ever: its connection does', async () => {
    const port = await serving(() => text('no'))
    const socket = await connected(port)
    const closed = closeOf(socket)
    const first = hear(socket)
    socket.write(`POST / ${HEAD}Content-Length: 3000000\r\n\r\nx`)
    expect(await first).toMatchObject({ body: 'no' })
    socket.resume()
    await closed
  })
})

describe('an answer', () => {
  test.each([
    [200, 'grüße', 7],
    [202, '', 0],
    [204, '', undefined],
    [304, '', undefined],
  ])('%i says how long it is where it has a body', async (status, body, length) => {
    const port = await serving(() => text(body, status))
    const socket = await connected(port)
    socket.write(get())
    const [data] = await once(socket, 'data')
    const [, said] = /\r\nContent-Length: (\d+)\r\n/.exec(String(data)) ?? []
    expect(said).toBe(length?.toString())
    expect(String(data)).not.toMatch(/transfer-encoding/i)
    expect(String(data).slice(String(data).indexOf('\r\n\r\n') + 4)).toBe(body)
  })

  test('to a HEAD is as long as that to a GET, and has no body', async () => {
    const port = await serving(() => text('grüße'))
    const socket = await connected(port)
    socket.write(`HEAD / ${HEAD}\r\n`)
    const [head] = await once(socket, 'data')
    expect(String(head)).toMatch(/\r\nContent-Length: 7\r\n/)
    expect(String(head)).toMatch(/\r\n\r\n$/)
    const next = hear(socket)
    socket.write(get())
    expect(await next).toMatchObject({ status: 200, rest: '' })
  })

  test('to whoever has gone goes nowhere, and harms nobody', async () => {
    const port = await serving(async ({ path, signal }) => {
      if (path === '/gone') await once(signal, 'abort')
      return text('done')
    })
    const socket = await connected(port)
    socket.write(get('/gone'), () => socket.destroy())
    expect(await send(port, get())).toMatchObject({ body: 'done' })
  })
})

describe('requests that are sent before the answers are read', () => {
  test('are answered in turn, as many as ten', async () => {
    const port = await serving(async ({ path }) => {
      await new Promise((resolve) => setTimeout(resolve, path === '/0' ? 20 : 0))
      return text(path)
    })
    const socket = await connected(port)
    const paths = Array.from({ length: 10 }, (_, index) => `/${index}`)
    let heard = hear(socket)
    socket.write(paths.map((path) => get(path)).join(''))
    const bodies: string[] = []
    for (const _ of paths) {
      const answer = await heard
      if (answer.is !== 'answer') break
      bodies.push(answer.body)
      heard = hear(socket, answer.rest)
    }
    expect(bodies).toEqual(paths)
  })

  test('end their connection when they are more: an answer for each would wait in memory', async () => {
    let handled = 0
    const gone: boolean[] = []
    const port = await serving(async ({ signal }) => {
      handled += 1
      await once(signal, 'abort')
      gone.push(signal.aborted)
      return text('to nobody')
    })
    const socket = await connected(port)
    const closed = closeOf(socket)
    socket.write(get().repeat(5000))
    await closed
    expect(handled).toBe(10)
    await expect.poll(() => gone).toEqual(Array(10).fill(true))
  })

  test('are counted while they wait, and not after that', async () => {
    const port = await serving(({ path }) => text(path))
    const socket = await connected(port)
    for (let times = 0; times < 25; times += 1) {
      const heard = hear(socket)
      socket.write(get(`/${times}`))
      expect(await heard).toMatchObject({ body: `/${times}` })
    }
  })
})
