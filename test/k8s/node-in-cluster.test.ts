import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { inClusterSend } from '../../src/k8s/node-in-cluster.ts'
import { fetchOver } from '../helpers/fetch-over.ts'
import { answerJson, createAuthority, rawServer, serve, temporaryFolder } from './loopback.ts'
import { kubeBy } from './scripted-fetch.ts'

// Certificates are made by a program of their own, which a busy machine keeps waiting.
vi.setConfig({ testTimeout: 20_000 })

const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 's', namespace: 'a', uid: 'u', resourceVersion: '1' },
} as const
const unauthenticated = { ok: false, failure: { reason: 'kube_unauthenticated' } }
const subject = { username: 'u', uid: undefined, groups: [], extra: {} }

/** An API server that takes one token at a time, and the function's way to it. */
async function rotating() {
  const folder = await temporaryFolder()
  const tokenFile = join(folder, 'token')
  let accepted = 'one'
  let now = 0
  await writeFile(tokenFile, 'one\n')
  const { url, received } = await serve((request, response) => {
    if (request.headers.authorization !== `Bearer ${accepted}`)
      return answerJson(response, { kind: 'Status' }, 401)
    if (request.url.includes('subjectaccessreviews')) {
      return answerJson(response, { kind: 'SubjectAccessReview', status: { allowed: true } }, 201)
    }
    answerJson(response, secret)
  })
  return {
    kube: kubeBy(inClusterSend({ url, caFile: join(folder, 'none'), tokenFile, now: () => now })),
    tokenFile,
    tokens: () => received.map(({ headers }) => headers.authorization),
    accept: (token: string) => {
      accepted = token
    },
    pass: (milliseconds: number) => {
      now += milliseconds
    },
  }
}

describe('CLI-01: a token that was rotated on disk', () => {
  test('is used within a minute, without a 401', async () => {
    const { kube, tokenFile, tokens, accept, pass } = await rotating()
    expect(await kube.getSecret('a', 's')).toMatchObject({ ok: true })
    await writeFile(tokenFile, 'two')
    accept('two')
    pass(60_000)
    expect(await kube.updateSecret(secret)).toMatchObject({ ok: true })
    expect(tokens()).toEqual(['Bearer one', 'Bearer two'])
  })

  test('is used within a minute also when the clock was set back', async () => {
    const { kube, tokenFile, tokens, accept, pass } = await rotating()
    pass(3_600_000)
    await kube.getSecret('a', 's')
    await writeFile(tokenFile, 'two')
    accept('two')
    pass(-3_600_000)
    expect(await kube.getSecret('a', 's')).toMatchObject({ ok: true })
    expect(tokens()).toEqual(['Bearer one', 'Bearer two'])
  })

  test('is used at once after a 401, and a read is asked again, once', async () => {
    const { kube, tokenFile, tokens, accept } = await rotating()
    await kube.getSecret('a', 's')
    await writeFile(tokenFile, 'two')
    accept('two')
    expect(await kube.getSecret('a', 's')).toMatchObject({ ok: true })
    expect(tokens()).toEqual(['Bearer one', 'Bearer one', 'Bearer two'])
  })

  test('is used at once after a 401 to a review, which stores nothing', async () => {
    const { kube, tokenFile, accept } = await rotating()
    await kube.getSecret('a', 's')
    await writeFile(tokenFile, 'two')
    accept('two')
    const access = { verb: 'get', group: 'g', resource: 'r' }
    expect(await kube.reviewAccess(subject, access)).toEqual({ ok: true, value: true })
  })

  test.each(['createSecret', 'updateSecret', 'deleteSecret', 'createEvent'] as const)(
    'is for the next request after a 401 to %s: a write is never sent again',
    async (method) => {
      const { kube, tokenFile, tokens, accept } = await rotating()
      const regarding = { apiVersion: 'v1', kind: 'K', namespace: 'a', name: 'n', uid: 'u' }
      const writes = {
        createSecret: () => kube.createSecret(secret),
        updateSecret: () => kube.updateSecret(secret),
        deleteSecret: () => kube.deleteSecret('a', 's', secret.metadata),
        createEvent: () =>
          kube.createEvent({ type: 'Normal', reason: 'R', action: 'A', note: 'n', regarding }, 0),
      }
      await kube.getSecret('a', 's')
      await writeFile(tokenFile, 'two')
      accept('two')
      expect(await writes[method]()).toEqual(unauthenticated)
      expect(tokens()).toEqual(['Bearer one', 'Bearer one'])
      expect(await writes[method]()).toMatchObject({ ok: true })
      expect(tokens()).toHaveLength(3)
    },
  )

  test('is not tried twice when it is refused too', async () => {
    const { kube, tokenFile, tokens, accept } = await rotating()
    await kube.getSecret('a', 's')
    accept('nothing')
    await writeFile(tokenFile, 'two')
    expect(await kube.getSecret('a', 's')).toEqual(unauthenticated)
    expect(tokens()).toEqual(['Bearer one', 'Bearer one', 'Bearer two'])
  })
})

test('a token that is refused and was not rotated is not sent again', async () => {
  const { kube, tokens, accept } = await rotating()
  accept('nothing')
  expect(await kube.getSecret('a', 's')).toEqual(unauthenticated)
  expect(tokens()).toEqual(['Bearer one'])
})

test.each(['c3RvcmVk\nc3RvcmVk', 'c3RvcmVk c3RvcmVk', ' \n'])(
  'of a token file with %j in it nothing is sent, and nothing said',
  async (text) => {
    const { kube, tokenFile, tokens } = await rotating()
    await writeFile(tokenFile, text)
    const answer = await kube.updateSecret(secret)
    expect(answer).toEqual({
      ok: false,
      failure: { reason: 'kube_unreachable', call: 'update Secret', why: 'NO_CREDENTIALS', sent: false },
    })
    expect(tokens()).toEqual([])
    const send = inClusterSend({ url: 'http://127.0.0.1:1', caFile: '', tokenFile, now: () => 0 })
    await expect(fetchOver(send)(new Request('https://kubernetes.default.svc/'))).rejects.toThrow(
      'the token file holds no token',
    )
  },
)

test('without a token file nothing was sent', async () => {
  const { kube, tokenFile, tokens } = await rotating()
  await rm(tokenFile)
  expect(await kube.updateSecret(secret)).toMatchObject({
    failure: { reason: 'kube_unreachable', why: 'ENOENT', sent: false },
  })
  expect(tokens()).toEqual([])
})

test('nor with a folder in its place', async () => {
  const { kube, tokenFile, tokens } = await rotating()
  await rm(tokenFile)
  await mkdir(tokenFile)
  expect(await kube.updateSecret(secret)).toMatchObject({
    failure: { reason: 'kube_unreachable', why: 'EISDIR', sent: false },
  })
  expect(tokens()).toEqual([])
})

test('a CA that was rotated, by a swapped link as the kubelet does it, is trusted on new connections', async () => {
  const folder = await temporaryFolder()
  const before = await createAuthority(folder, 'before')
  const after = await createAuthority(folder, 'after')
  const caFile = join(folder, 'ca.crt')
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, 'one')
  await symlink(before.caFile, caFile)
  const { url, received, server } = await serve(
    (_, response) => answerJson(response, secret),
    await before.issue('server'),
  )
  let now = 0
  const kube = kubeBy(inClusterSend({ url, caFile, tokenFile, now: () => now }))
  expect(await kube.getSecret('a', 's')).toMatchObject({ ok: true })

  const { cert, key } = await after.issue('server')
  Object(server).setSecureContext({ cert, key })
  await symlink(after.caFile, `${caFile}.new`)
  await rename(`${caFile}.new`, caFile)
  now += 60_000
  expect(await kube.getSecret('a', 's')).toMatchObject({ ok: true })
  expect(new Set(received.map(({ clientPort }) => clientPort)).size).toBe(2)
  // What was set up under the old one is not kept.
  const open = () =>
    new Promise<number>((resolve) => void server.getConnections((_, count) => resolve(count)))
  await expect.poll(open).toBe(1)
})

test('a 401 makes the CA be read again too: the next connection trusts the new one', async () => {
  const folder = await temporaryFolder()
  const [before, after] = [await createAuthority(folder, 'before'), await createAuthority(folder, 'after')]
  const caFile = join(folder, 'ca.crt')
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, 'one')
  await writeFile(caFile, before.ca)
  let accepted = 'Bearer one'
  const { url, received, server } = await serve(
    (request, response) =>
      answerJson(response, secret, request.headers.authorization === accepted ? 200 : 401),
    await before.issue('server'),
  )
  const kube = kubeBy(inClusterSend({ url, caFile, tokenFile, now: () => 0 }))
  expect(await kube.getSecret('a', 's')).toMatchObject({ ok: true })

  const { cert, key } = await after.issue('server')
  Object(server).setSecureContext({ cert, key })
  await writeFile(caFile, after.ca)
  await writeFile(tokenFile, 'two')
  accepted = 'Bearer two'
  expect(await kube.getSecret('a', 's')).toMatchObject({ ok: true })
  expect(new Set(received.map(({ clientPort }) => clientPort)).size).toBe(2)
})

test('the connection of a 401 whose answer nobody reads is let go', async () => {
  const tokenFile = join(await temporaryFolder(), 'token')
  await writeFile(tokenFile, 'one')
  const letGo = Promise.withResolvers<void>()
  const { url } = await serve(({ headers }, response) => {
    if (headers.authorization === 'Bearer two') return answerJson(response, secret)
    response.once('close', letGo.resolve)
    // Never ends by itself.
    void writeFile(tokenFile, 'two').then(() => response.writeHead(401).write('{'))
  })
  // Longer than the test may take: at its time limit a call lets go of everything.
  const kube = kubeBy(inClusterSend({ url, caFile: 'none', tokenFile, now: () => 0 }), 60_000)
  expect(await kube.getSecret('a', 's')).toMatchObject({ ok: true })
  await letGo.promise
})

test.each([
  ['breaks off', 'Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n'],
  ['is no HTTP', 'Transfer-Encoding: chunked\r\n\r\nZZ\r\n'],
])(
  'a 401 whose body %s while the token is read again is an answer that broke off, at once',
  async (_, rest) => {
    const tokenFile = join(await temporaryFolder(), 'token')
    await writeFile(tokenFile, 'one')
    const { url } = await rawServer((socket) => void socket.end(`HTTP/1.1 401 Unauthorized\r\n${rest}`))
    // Longer than the test may take.
    const kube = kubeBy(inClusterSend({ url, caFile: 'none', tokenFile, now: () => 0 }), 60_000)
    expect(await kube.getSecret('a', 's')).toMatchObject({
      failure: { reason: 'kube_unreachable', sent: true },
    })
  },
)
