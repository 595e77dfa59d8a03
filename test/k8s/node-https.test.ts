import { networkInterfaces } from 'node:os'
import { describe, expect, test, vi } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { createHttpsClient } from '../../src/k8s/node-https.ts'
import { answerJson, createAuthority, rawServer, serve, temporaryFolder } from './loopback.ts'
import { kubeOver } from './scripted-fetch.ts'

// Certificates are made by a program of their own, which a busy machine keeps waiting.
vi.setConfig({ testTimeout: 20_000 })

const ORIGIN = 'https://kubernetes.default.svc'
const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 's', namespace: 'a', uid: 'u', resourceVersion: '1' },
} as const
const get = (path: string) => new Request(`${ORIGIN}${path}`)
const put = () => new Request(`${ORIGIN}/x`, { method: 'PUT', body: 'the body' })

describe('connections', () => {
  test('are kept: calls one after the other share one', async () => {
    const { url, received } = await serve((_, response) => answerJson(response, secret))
    const kube = kubeOver(createHttpsClient(url).fetch)
    for (let calls = 0; calls < 5; calls += 1)
      expect(await kube.getSecret('a', 's')).toMatchObject({ ok: true })
    expect(new Set(received.map(({ clientPort }) => clientPort)).size).toBe(1)
  })

  test('that are idle end at close, busy ones after their answer', async () => {
    const slow = Promise.withResolvers<() => void>()
    const { url, server } = await serve(({ url: path }, response) => {
      if (path === '/fast') answerJson(response, secret)
      else slow.resolve(() => answerJson(response, secret))
    })
    const open = () =>
      new Promise<number>((resolve) => void server.getConnections((_, count) => resolve(count)))

    const idle = createHttpsClient(url)
    await (await idle.fetch(get('/fast'))).text()
    expect(await open()).toBe(1)
    idle.close()
    await expect.poll(open).toBe(0)

    const busy = createHttpsClient(url)
    const answer = busy.fetch(get('/slow'))
    const finish = await slow.promise
    busy.close()
    finish()
    expect(await (await answer).json()).toEqual(secret)
    await expect.poll(open).toBe(0)
  })
})

describe('a request', () => {
  test('goes to the server whatever its origin, with its query', async () => {
    const { url, port, received } = await serve((_, response) => answerJson(response, {}))
    await createHttpsClient(url).fetch(get('/api/v1/secrets?limit=1&labelSelector=a%3Db'))
    expect(received[0]?.url).toBe('/api/v1/secrets?limit=1&labelSelector=a%3Db')
    expect(received[0]?.headers.host).toBe(`127.0.0.1:${port}`)
  })

  test.each(['/k8s/clusters/c-1', '/k8s/clusters/c-1/'])(
    'goes below the path of a server at %s',
    async (path) => {
      const { url, received } = await serve((_, response) => answerJson(response, {}))
      await createHttpsClient(`${url}${path}`).fetch(get('/api/v1?x=y'))
      expect(received[0]?.url).toBe('/k8s/clusters/c-1/api/v1?x=y')
    },
  )

  test('with a DELETE body is framed by its length, so that preconditions arrive', async () => {
    const { url, received } = await serve((_, response) => answerJson(response, { kind: 'Status' }))
    const preconditions = { uid: 'ü-1', resourceVersion: '7' }
    const kube = kubeOver(createHttpsClient(url).fetch)
    expect(await kube.deleteSecret('a', 's', preconditions)).toEqual({ ok: true, value: undefined })
    expect(JSON.parse(received[0]?.body ?? '')).toMatchObject({ kind: 'DeleteOptions', preconditions })
    expect(received[0]?.headers['content-length']).toBe(String(Buffer.byteLength(received[0]?.body ?? '')))
    expect(received[0]?.headers['transfer-encoding']).toBeUndefined()
  })

  test('whose signal fires is destroyed', async () => {
    const closed = Promise.withResolvers<void>()
    const { url } = await serve((_, response) => void response.once('close', closed.resolve))
    const gone = new AbortController()
    const call = createHttpsClient(url).fetch(new Request(`${ORIGIN}/x`, { signal: gone.signal }))
    setTimeout(() => gone.abort(), 20)
    await expect(call).rejects.toThrow()
    await closed.promise
  })

  test('has a line for each item of a list, in place of what it says itself', async () => {
    const lines = Promise.withResolvers<readonly string[]>()
    const { url } = await serve((_, response, { rawHeaders }) => {
      lines.resolve(rawHeaders)
      answerJson(response, {})
    })
    const request = new Request(`${ORIGIN}/x`, { headers: { 'Impersonate-Group': 'own', Accept: 'a/b' } })
    await createHttpsClient(url).fetch(request, { 'impersonate-group': ['a, b', 'c'] })
    const pairs = (await lines.promise).flatMap((name, index, all) =>
      index % 2 === 0 && /^(impersonate-group|accept)$/i.test(name) ? [`${name}: ${all[index + 1]}`] : [],
    )
    expect(pairs.toSorted()).toEqual(['accept: a/b', 'impersonate-group: a, b', 'impersonate-group: c'])
  })
})

describe('an answer', () => {
  test('keeps repeated headers apart', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(
        200,
        [
          ['Set-Cookie', 'a=1'],
          ['Set-Cookie', 'b=2'],
          ['Warning', '299 - "one"'],
          ['Warning', '299 - "two"'],
        ].flat(),
      )
      response.end('{}')
    })
    const { headers } = await createHttpsClient(url).fetch(get('/'))
    expect(headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(headers.get('warning')).toBe('299 - "one", 299 - "two"')
  })

  test.each([301, 302, 307, 308])(
    'of %i is handed over: no redirect is followed, nothing is sent on',
    async (code) => {
      const elsewhere = await serve((_, response) => answerJson(response, secret))
      const { url, received } = await serve((_, response) =>
        response.writeHead(code, { location: elsewhere.url }).end(),
      )
      const kube = kubeOver(createHttpsClient(url).fetch)
      expect(await kube.reviewToken('secret-token', ['a'])).toEqual({
        ok: false,
        failure: { reason: 'kube_error', call: 'create TokenReview', code },
      })
      expect(received).toHaveLength(1)
      expect(elsewhere.received).toEqual([])
    },
  )

  test.each([204, 304])('of %i has no body, and frees its connection', async (code) => {
    const { url, received } = await serve((_, response) => response.writeHead(code).end())
    const { fetch } = createHttpsClient(url)
    expect((await fetch(get('/a'))).body).toBeNull()
    const isReused = async () => {
      await fetch(get('/b'))
      return new Set(received.map(({ clientPort }) => clientPort)).size < received.length
    }
    await expect.poll(isReused).toBe(true)
  })

  test('with a status that there is not is an error', async () => {
    const { url } = await rawServer(
      (socket) => void socket.write('HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n'),
    )
    await expect(createHttpsClient(url).fetch(get('/'))).rejects.toThrow(RangeError)
  })
})

describe('a write is seen once', () => {
  test('when the connection is reset before the answer', async () => {
    const { url, requests } = await rawServer((socket) => socket.resetAndDestroy())
    await expect(createHttpsClient(url).fetch(put())).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(requests()).toHaveLength(1)
  })

  test('when the connection is closed before the answer', async () => {
    const { url, requests } = await rawServer((socket) => void socket.end())
    await expect(createHttpsClient(url).fetch(put())).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(requests()).toHaveLength(1)
  })

  test('when a kept connection is reset under it', async () => {
    let answered = 0
    const { url, requests } = await rawServer((socket) => {
      answered += 1
      if (answered > 1) socket.resetAndDestroy()
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')
    })
    const { fetch } = createHttpsClient(url)
    await (await fetch(get('/'))).text()
    await expect(fetch(put())).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(requests().filter((text) => text.startsWith('PUT'))).toHaveLength(1)
  })

  test('when the answer breaks off', async () => {
    const { url, requests } = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"kind":', () => socket.resetAndDestroy())
    })
    const kube = kubeOver(createHttpsClient(url).fetch)
    expect(await kube.updateSecret(secret)).toMatchObject({
      failure: { reason: 'kube_unreachable', sent: true },
    })
    expect(requests().filter((text) => text.startsWith('PUT'))).toHaveLength(1)
  })

  test.each([408, 421, 425, 503])('when it is answered %i, which invites to send it again', async (code) => {
    const { url, received } = await serve((_, response) =>
      response.writeHead(code, { 'retry-after': '0' }).end(),
    )
    expect((await createHttpsClient(url).fetch(put())).status).toBe(code)
    expect(received).toHaveLength(1)
  })
})

describe('an error', () => {
  const neverSent = { neverSent: true }
  /** Accepts connections, and never says a word. */
  const mute = () => rawServer(() => undefined)

  test('from before there was a connection is marked as that', async () => {
    const { fetch } = createHttpsClient('http://127.0.0.1:1')
    await expect(fetch(put())).rejects.toMatchObject({ code: 'ECONNREFUSED', ...neverSent })
  })

  test('from before TLS was there is too: no byte of the request has left', async () => {
    const { url, requests } = await mute()
    const { fetch } = createHttpsClient(url.replace('http:', 'https:'))
    const signal = AbortSignal.timeout(50)
    await expect(
      fetch(new Request(`${ORIGIN}/x`, { method: 'PUT', body: 'the body', signal })),
    ).rejects.toMatchObject({ code: 'ABORT_ERR', ...neverSent })
    expect(requests().join('')).not.toContain('the body')
  })

  test('about a header or a certificate that is none is too, and repeats nothing of it', async () => {
    const { url, requests } = await mute()
    const header = createHttpsClient(url).fetch(put(), { authorization: ['Bearer c3RvcmVk\nc3RvcmVk'] })
    await expect(header).rejects.toMatchObject({
      code: 'ERR_INVALID_CHAR',
      message: expect.not.stringContaining('c3RvcmVk'),
      ...neverSent,
    })
    const secure = url.replace('http:', 'https:')
    const pair = { cert: 'c3RvcmVk', key: 'c3RvcmVk' }
    await expect(createHttpsClient(secure, pair).fetch(put())).rejects.toMatchObject({
      message: expect.not.stringContaining('c3RvcmVk'),
      ...neverSent,
    })
    expect(requests()).toEqual([])
  })

  test('from after that is not, also on a connection that was kept', async () => {
    let answered = 0
    const { url, requests } = await rawServer((socket) => {
      answered += 1
      if (answered === 2) socket.resetAndDestroy()
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')
    })
    const { fetch } = createHttpsClient(url)
    await (await fetch(get('/'))).text()
    const error = await fetch(put()).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'ECONNRESET' })
    expect(error).not.toMatchObject(neverSent)
    expect(requests()).toHaveLength(2)
    const first = createHttpsClient((await rawServer((socket) => socket.resetAndDestroy())).url)
    const other = await first.fetch(put()).catch((reason: unknown) => reason)
    expect(other).toMatchObject({ code: 'ECONNRESET' })
    expect(other).not.toMatchObject(neverSent)
  })

  test('inside of TLS is not', async () => {
    const authority = await createAuthority(await temporaryFolder(), 'authority')
    const { url, received } = await serve(
      (_, response) => response.destroy(),
      await authority.issue('server'),
    )
    const { fetch } = createHttpsClient(url, { ca: authority.ca })
    const error = await fetch(put()).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'ECONNRESET' })
    expect(error).not.toMatchObject(neverSent)
    expect(received).toHaveLength(1)
  })
})

describe('TLS', () => {
  test('trusts the given CA and shows the given certificate', async () => {
    const authority = await createAuthority(await temporaryFolder(), 'authority')
    const { cert, key } = await authority.issue('client')
    const tls = { ...(await authority.issue('server')), requestCert: true, ca: authority.ca }
    const { url } = await serve((_, response, { socket }) => {
      answerJson(response, {
        subject: 'getPeerCertificate' in socket && Object(socket).getPeerCertificate().subject.CN,
      })
    }, tls)
    const answer = await createHttpsClient(url, { ca: authority.ca, cert, key }).fetch(get('/'))
    expect(await answer.json()).toEqual({ subject: 'client' })
  })
})

describe('CLI-06: an IPv6 address', () => {
  const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
    all?.some(({ address }) => address === '::1'),
  )

  test('of the service host variable gets its brackets', async () => {
    const { kubeUrl } = await readConfig({
      KUBERNETES_SERVICE_HOST: 'fd00:1::1',
      KUBERNETES_SERVICE_PORT: '443',
    })
    expect(kubeUrl).toBe('https://[fd00:1::1]:443')
  })

  test.skipIf(!hasIpv6)('in brackets is where requests go', async () => {
    const { url, port, received } = await serve((_, response) => answerJson(response, {}), undefined, '::1')
    expect((await createHttpsClient(url).fetch(get('/api'))).status).toBe(200)
    expect(received[0]?.headers.host).toBe(`[::1]:${port}`)
  })

  test.skipIf(!hasIpv6)('is no server name for TLS, and another may be named', async () => {
    const authority = await createAuthority(await temporaryFolder(), 'authority')
    const { url } = await serve(
      (_, response) => answerJson(response, {}),
      await authority.issue('server'),
      '::1',
    )
    const { fetch } = createHttpsClient(url, { ca: authority.ca, servername: 'localhost' })
    expect((await fetch(get('/'))).status).toBe(200)
  })
})
