import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { HttpAnswer, HttpRequest } from '../../src/core/http.ts'
import { type Serving, serve } from '../../src/node-server.ts'

type Respond = (request: HttpRequest) => Promise<HttpAnswer>

const answer = (body: string): HttpAnswer => ({ status: 200, headers: {}, body })

/** The server that ships, in front of an app that does this. */
async function serving(respond: Respond): Promise<Serving> {
  const server = await serve({
    app: respond,
    port: 0,
    address: '127.0.0.1',
    group: 'core.cozystack.io',
    drainMs: 0,
    log: () => undefined,
  })
  onTestFinished(() => server.stop())
  return server
}

test('work begins when the answer has gone, and not before', async () => {
  const order: string[] = []
  const begun = Promise.withResolvers<void>()
  const { port } = await serving(async ({ afterResponse }) => {
    afterResponse(async () => {
      order.push('work')
      begun.resolve()
    })
    // Longer than anything takes that does not wait for the answer.
    await new Promise((resolve) => setTimeout(resolve, 30))
    order.push('answer')
    return answer('done')
  })
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('done')
  await begun.promise
  expect(order).toEqual(['answer', 'work'])
})

test('it begins for a caller who has hung up too, before and after that', async () => {
  const both = Promise.withResolvers<void>()
  const begun: string[] = []
  const begin = (name: string) => async () => {
    begun.push(name)
    if (begun.length === 2) both.resolve()
  }
  const arrived = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  const { port } = await serving(async ({ afterResponse }) => {
    afterResponse(begin('before'))
    arrived.resolve()
    await gone.promise
    afterResponse(begin('after'))
    return answer('to nobody')
  })
  const socket = connect(port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: mintonce.test\r\n\r\n')
  await arrived.promise
  socket.destroy()
  await expect.poll(() => begun).toEqual(['before'])
  gone.resolve()
  await both.promise
})

test('a server that stops waits for it, and for what fails no longer', async () => {
  const finish = Promise.withResolvers<void>()
  let isDone = false
  const server = await serving(async ({ afterResponse }) => {
    afterResponse(() => Promise.reject(new Error('lost')))
    afterResponse(async () => {
      await finish.promise
      isDone = true
    })
    return answer('done')
  })
  await fetch(`http://127.0.0.1:${server.port}/`)
  const stopped = server.stop().then(() => isDone)
  setTimeout(finish.resolve, 30)
  expect(await stopped).toBe(true)
})

test('it does not wait for a caller who does not read what they asked for before', async () => {
  const begun = Promise.withResolvers<void>()
  const { port } = await serving(async ({ afterResponse, path }) => {
    if (path !== '/last') return answer('x'.repeat(4_000_000))
    afterResponse(async () => begun.resolve())
    return answer('done')
  })
  const socket = connect(port, '127.0.0.1').pause()
  onTestFinished(() => void socket.destroy())
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: mintonce.test\r\n\r\n`
  socket.write(`${get('/big').repeat(8)}${get('/last')}`)
  await begun.promise
})

test('a lot of it is no leak', async () => {
  const warnings: string[] = []
  const warned = ({ message }: Error) => warnings.push(message)
  process.on('warning', warned)
  onTestFinished(() => void process.off('warning', warned))
  let done = 0
  const server = await serving(async ({ afterResponse }) => {
    for (let each = 0; each < 20; each += 1) {
      afterResponse(async () => {
        done += 1
      })
    }
    return answer('done')
  })
  await (await fetch(`http://127.0.0.1:${server.port}/`)).text()
  await server.stop()
  expect(done).toBe(20)
  expect(warnings).toEqual([])
})

test('a server that stops lets an answer be read to its end', async () => {
  const size = 30_000_000
  const server = await serving(async () => answer('x'.repeat(size)))
  const socket = connect(server.port, '127.0.0.1')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  let read = 0
  const begun = Promise.withResolvers<void>()
  socket.on('data', (chunk) => {
    read += chunk.length
    begun.resolve()
    // Not as fast as it comes.
    socket.pause()
    setTimeout(() => socket.resume(), 1)
  })
  socket.write('GET / HTTP/1.1\r\nHost: mintonce.test\r\n\r\n')
  await begun.promise
  await server.stop()
  await closed
  expect(read).toBeGreaterThan(size)
})
