import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../src/client/client.ts'

/** What Node's own fetch makes of it, in front of a server that answers everything alike. */

const ADDRESS = { namespace: 'tenant-acme', name: 'postgres-orders.web' }

async function serve(code: number) {
  const seen: { readonly headers: object; readonly body: string }[] = []
  const server = createServer(async (request, response) => {
    seen.push({ headers: request.headers, body: await text(request) })
    response.writeHead(code, { Location: '/elsewhere', 'WWW-Authenticate': 'Bearer' }).end('{}')
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const baseUrl = `http://127.0.0.1:${Object(server.address()).port}`
  return { client: createClient({ baseUrl, token: 'a-token' }), seen }
}

describe('a mint is sent once', () => {
  // 421 and 401 are what the Fetch standard repeats, or fails for a body that it cannot repeat ("HTTP-network-or-cache fetch").
  test.each([
    [201, 'mint-again'],
    [308, 'never'],
    [401, 'never'],
    [421, 'never'],
    [503, 'mint-again'],
  ])('when the answer is %d', async (code, advice) => {
    const { client, seen } = await serve(code)
    expect(await client.mint(ADDRESS)).toMatchObject({
      failure: { kind: 'foreign', code, retry: { advice } },
    })
    expect(seen).toHaveLength(1)
  })

  test('whole, and as long as it says, whatever is in it', async () => {
    const { client, seen } = await serve(201)
    await client.mint(ADDRESS, { preconditions: { uid: 'ü' } })
    const [{ headers, body } = { headers: {}, body: '' }] = seen
    expect(JSON.parse(body).spec).toEqual({ preconditions: { uid: 'ü' } })
    expect(headers).toMatchObject({ 'content-length': String(Buffer.byteLength(body)) })
    expect(headers).not.toHaveProperty('transfer-encoding')
  })

  test('and a browser, which takes no stream, gets a text', async () => {
    const inits: unknown[] = []
    const own = { Request: globalThis.Request, navigator: globalThis.navigator }
    onTestFinished(() => {
      for (const [name, value] of Object.entries(own)) define(name, value)
    })
    class Recorded extends Request {
      constructor(url: URL, init: RequestInit) {
        super(url, init)
        inits.push(init.body)
      }
    }
    define('Request', Recorded)
    define('navigator', {
      userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    })
    const fetch = async () => new Response('', { status: 404 })
    await createClient({ baseUrl: 'https://mintonce.test', fetch }).mint(ADDRESS)
    expect(inits).toEqual([expect.stringContaining('"kind":"CredentialRequest"')])
  })
})

const define = (name: string, value: unknown): void => {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
}

// https://fetch.spec.whatwg.org/#bad-port
test.each([1, 6000])('port %d may not be called: nothing was sent, and never will be', async (port) => {
  const answer = await createClient({ baseUrl: `http://127.0.0.1:${port}` }).mint(ADDRESS)
  const failure = { kind: 'silence', code: 'BAD_PORT', neverSent: true, outcome: 'unchanged' }
  expect(answer).toMatchObject({ ok: false, failure: { ...failure, retry: { advice: 'never' } } })
})
