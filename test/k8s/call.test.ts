import { describe, expect, test, vi } from 'vitest'
import { createHttpsClient } from '../../src/k8s/node-https.ts'
import { answerJson, createAuthority, serve, temporaryFolder } from './loopback.ts'
import { json, kubeOver, scripted } from './scripted-fetch.ts'

// Certificates are made by a program of their own, which a busy machine keeps waiting.
vi.setConfig({ testTimeout: 20_000 })

const secret = { kind: 'Secret', metadata: { name: 's', namespace: 'a', uid: 'u', resourceVersion: '1' } }
const failed = (failure: object) => ({ ok: false, failure })
const timedOut = failed({ reason: 'kube_timeout', call: 'get Secret' })
const unreachable = (why: string, sent: boolean) =>
  failed({ reason: 'kube_unreachable', call: 'get Secret', why, sent })

/** A body of blanks, more than 4 MiB or 32 MiB of them, and then an object that is right. */
function paddedWith(mebibytes: number, object: object): { response: Response; cancelled: () => boolean } {
  let cancelled = false
  let sent = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent++ < mebibytes) controller.enqueue(new Uint8Array(1024 * 1024).fill(0x20))
      else {
        controller.enqueue(new TextEncoder().encode(JSON.stringify(object)))
        controller.close()
      }
    },
    cancel() {
      cancelled = true
    },
  })
  return { response: new Response(body), cancelled: () => cancelled }
}

describe('an answer', () => {
  test('of 3 MiB is read, one of 5 MiB is not', async () => {
    expect(await scripted(paddedWith(3, secret).response).kube.getSecret('a', 's')).toMatchObject({
      ok: true,
    })
    const long = paddedWith(5, secret)
    expect(await scripted(long.response).kube.getSecret('a', 's')).toEqual(
      failed({ reason: 'kube_error', call: 'get Secret', code: 200 }),
    )
    expect(long.cancelled()).toBe(true)
  })

  test('to a list may have 31 MiB, and not 33', async () => {
    const list = { kind: 'SecretList', metadata: {}, items: [] }
    expect(await scripted(paddedWith(31, list).response).kube.listSecrets('a', {})).toMatchObject({
      ok: true,
    })
    expect(await scripted(paddedWith(33, list).response).kube.listSecrets('a', {})).toMatchObject({
      ok: false,
    })
  })

  test('that is no UTF-8 is no answer', async () => {
    const bytes = Buffer.from(JSON.stringify({ ...secret, data: { x: 'é' } }), 'latin1')
    expect((await scripted(new Response(bytes)).kube.getSecret('a', 's')).ok).toBe(false)
  })
})

describe('the time limit', () => {
  test('ends a call that is not answered, and closes its connection', async () => {
    const closed = Promise.withResolvers<void>()
    const { url, received } = await serve((_, response) => void response.once('close', closed.resolve))
    expect(await kubeOver(createHttpsClient(url).fetch, 100).getSecret('a', 's')).toEqual(timedOut)
    await closed.promise
    expect(received).toHaveLength(1)
  })

  test('ends an answer that stops half-way', async () => {
    const { url } = await serve((_, response) => void response.writeHead(200).write('{"kind":'))
    expect(await kubeOver(createHttpsClient(url).fetch, 100).getSecret('a', 's')).toEqual(timedOut)
  })

  test('leaves nothing behind: the signal of the request has fired when the call is over', async () => {
    const asked: Request[] = []
    const kube = kubeOver(async (request) => {
      asked.push(request)
      return json(secret)
    })
    expect(await kube.getSecret('a', 's')).toMatchObject({ ok: true })
    // What a Request's signal follows is held by undici until it fires, or until two collections later.
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([true])
  })

  test('holds where fetch does not heed its signal', async () => {
    expect(await kubeOver(() => new Promise(() => undefined), 50).getSecret('a', 's')).toEqual(timedOut)
    const silent = new ReadableStream({ pull: () => new Promise(() => undefined) })
    expect(await kubeOver(async () => new Response(silent), 50).getSecret('a', 's')).toEqual(timedOut)
  })

  test('is not waited for when the caller goes first', async () => {
    const { url } = await serve(() => undefined)
    const caller = new AbortController()
    const call = kubeOver(createHttpsClient(url).fetch, 60_000).getSecret('a', 's', { signal: caller.signal })
    setTimeout(() => caller.abort(), 20)
    expect(await call).toEqual(timedOut)
  })

  test('of a caller who has gone already keeps a write from being sent', async () => {
    const { kube, sent } = scripted(json(secret))
    const metadata = { name: 's', namespace: 'a' }
    const options = { signal: AbortSignal.abort() }
    expect(await kube.createSecret({ apiVersion: 'v1', kind: 'Secret', metadata }, options)).toMatchObject({
      failure: { reason: 'kube_timeout' },
    })
    expect(sent).toEqual([])
  })
})

describe('a call without an answer', () => {
  test('was certainly not sent when nobody listens', async () => {
    const { url, server } = await serve((_, response) => answerJson(response, secret))
    await new Promise((resolve) => server.close(resolve))
    expect(await kubeOver(createHttpsClient(url).fetch).getSecret('a', 's')).toEqual(
      unreachable('ECONNREFUSED', false),
    )
  })

  test('was certainly not sent when the server is not the one that we trust', async () => {
    const folder = await temporaryFolder()
    const theirs = await createAuthority(folder, 'theirs')
    const ours = await createAuthority(folder, 'ours')
    const { url, received } = await serve(
      (_, response) => answerJson(response, secret),
      await theirs.issue('server'),
    )
    const untrusted = kubeOver(createHttpsClient(url, { ca: ours.ca }).fetch)
    expect(await untrusted.getSecret('a', 's')).toMatchObject({
      failure: { reason: 'kube_unreachable', sent: false },
    })
    const misnamed = kubeOver(createHttpsClient(url, { ca: theirs.ca, servername: 'other.example' }).fetch)
    expect(await misnamed.getSecret('a', 's')).toEqual(unreachable('ERR_TLS_CERT_ALTNAME_INVALID', false))
    expect(received).toEqual([])
  })

  test('may have been sent when the server does not take our certificate: it says so after the request', async () => {
    const authority = await createAuthority(await temporaryFolder(), 'authority')
    const tls = { ...(await authority.issue('server')), requestCert: true, ca: authority.ca }
    const { url } = await serve((_, response) => answerJson(response, secret), tls)
    const kube = kubeOver(createHttpsClient(url, { ca: authority.ca }).fetch)
    expect(await kube.getSecret('a', 's')).toMatchObject({
      failure: { reason: 'kube_unreachable', sent: true },
    })
  })

  test.each([
    ['ENOTFOUND', false],
    ['EAI_AGAIN', false],
    ['EHOSTUNREACH', false],
    ['ENETUNREACH', false],
    ['CERT_HAS_EXPIRED', false],
    ['SELF_SIGNED_CERT_IN_CHAIN', false],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', false],
    ['ECONNRESET', true],
    ['EPIPE', true],
    ['ETIMEDOUT', true],
    ['UND_ERR_SOCKET', true],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', true],
  ])('for %s, under a cause or not, was sent: %s', async (code, sent) => {
    const error = Object.assign(new Error('text'), { code })
    const wrapped = new TypeError('fetch failed', { cause: error })
    expect(await kubeOver(() => Promise.reject(error)).getSecret('a', 's')).toEqual(unreachable(code, sent))
    expect(await kubeOver(() => Promise.reject(wrapped)).getSecret('a', 's')).toEqual(unreachable(code, sent))
  })

  test.each([
    new Error('quotes c3RvcmVk'),
    Object.assign(new Error('x'), { code: 'quotes c3RvcmVk' }),
    'c3RvcmVk',
    undefined,
  ])('for %s tells none of its text', async (error) => {
    expect(await kubeOver(() => Promise.reject(error)).getSecret('a', 's')).toEqual(
      unreachable('no answer', true),
    )
  })
})
