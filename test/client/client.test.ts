import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/client.ts'

const ADDRESS = { namespace: 'tenant-acme', name: 'postgres-orders.web' }
const API = 'https://mintonce.test/apis/core.cozystack.io/v1alpha1/namespaces/tenant-acme/credentials'

const ISSUED = {
  apiVersion: 'core.cozystack.io/v1alpha1',
  kind: 'CredentialRequest',
  metadata: ADDRESS,
  status: { username: 'web', password: 'a'.repeat(32), issuedAt: '2026-10-02T09:14:07Z' },
}

/** A client whose calls are kept, and answered by `respond`. */
function clientOf(respond: () => Response | Promise<Response>, group?: string) {
  const requests: Request[] = []
  const client = createClient({
    baseUrl: 'https://mintonce.test',
    token: 'secret-token',
    fetch: async (request) => {
      requests.push(request)
      return respond()
    },
    ...(group === undefined ? {} : { group }),
  })
  return { client, requests }
}

const answer =
  (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  () =>
    Response.json(body, { status, headers })

const NOT_REACHED = 'the function was not reached'
const notUnderstood = (code: number) => ({
  kind: 'foreign',
  code,
  reason: 'NotUnderstood',
  message: `the answer (code ${code}) is none of the function`,
})
const NEVER = { outcome: 'unchanged', retry: { advice: 'never' } }
const LATER = { outcome: 'unchanged', retry: { advice: 'after', seconds: 5 } }
const READ_AGAIN = { outcome: 'unchanged', retry: { advice: 'read-again' } }
const MINT_AGAIN = { outcome: 'unknown', retry: { advice: 'mint-again' } }

describe('what is sent', () => {
  test('a mint names its preconditions, and carries a body in any case', async () => {
    const { client, requests } = clientOf(answer(ISSUED, 201))
    await client.mint(ADDRESS, { preconditions: { resourceVersion: '7', uid: 'u' } })
    await client.mint(ADDRESS)
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual(
      Array(2).fill(`POST ${API}/postgres-orders.web/mint`),
    )
    expect(requests[0]?.headers.get('Authorization')).toBe('Bearer secret-token')
    expect(requests[0]?.headers.get('Content-Type')).toBe('application/json')
    const bodies = await Promise.all(requests.map((request) => request.json()))
    const type = { apiVersion: ISSUED.apiVersion, kind: ISSUED.kind }
    expect(bodies).toEqual([
      { ...type, spec: { preconditions: { resourceVersion: '7', uid: 'u' } } },
      { ...type, spec: {} },
    ])
  })

  test('a dry run and a revoke go where they should', async () => {
    const { client, requests } = clientOf(answer(ISSUED, 201))
    await client.revoke(ADDRESS, { dryRun: true })
    expect(requests[0]?.url).toBe(`${API}/postgres-orders.web/revoke?dryRun=All`)
  })

  test('a sync goes to its release, with a body, and its answer is a Status', async () => {
    const synced = { apiVersion: 'v1', kind: 'Status', status: 'Success', message: 'created 1', details: {} }
    const { client, requests } = clientOf(answer(synced))
    const done = await client.sync({ namespace: 'tenant-acme', release: 'postgres-orders' })
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      `POST ${API.replace('/credentials', '/helmreleases')}/postgres-orders/sync`,
    ])
    expect(await requests[0]?.json()).toEqual({})
    expect(done).toMatchObject({ ok: true, value: { message: 'created 1' } })
  })

  test('a list carries its selection, and a get none', async () => {
    const { client, requests } = clientOf(answer({}))
    await client.list('tenant-acme', { labelSelector: 'a in (b,c)', limit: 2, continue: 'x=' })
    await client.get(ADDRESS)
    const url = new URL(requests[0]?.url ?? '')
    expect(Object.fromEntries(url.searchParams)).toEqual({
      labelSelector: 'a in (b,c)',
      limit: '2',
      continue: 'x=',
    })
    expect(requests[1]?.url).toBe(`${API}/postgres-orders.web`)
    expect(requests[1]?.headers.has('Content-Type')).toBe(false)
  })

  test('another group is another path and another apiVersion', async () => {
    const { client, requests } = clientOf(answer(ISSUED, 201), 'credentials.example.org')
    await client.mint(ADDRESS)
    expect(requests[0]?.url).toContain('/apis/credentials.example.org/v1alpha1/')
    expect(await requests[0]?.json()).toMatchObject({ apiVersion: 'credentials.example.org/v1alpha1' })
  })

  test('without a token nobody is named: that is up to the fetch', async () => {
    const requests: Request[] = []
    const fetch = async (request: Request) => {
      requests.push(request)
      return answer(ISSUED, 201)()
    }
    await createClient({ baseUrl: 'https://mintonce.test', fetch }).mint(ADDRESS)
    expect(requests[0]?.headers.has('Authorization')).toBe(false)
  })

  test('redirects are not followed', async () => {
    const { client, requests } = clientOf(answer(ISSUED, 201))
    await client.mint(ADDRESS)
    expect(requests[0]?.redirect).toBe('manual')
  })

  // The last three are what a program without types has for a name that it does not know.
  test.each(['..', 'a/b', 'A', '', 'a%2fb', 'a\n', undefined, null, 7])(
    '%j is no name, and is not sent: what is returned rejects',
    async (name) => {
      const { client, requests } = clientOf(answer(ISSUED, 201))
      const wrong = { ...ADDRESS, name: name as string }
      await expect(client.mint(wrong)).rejects.toThrow(TypeError)
      await expect(client.get({ ...ADDRESS, namespace: wrong.name })).rejects.toThrow(TypeError)
      await expect(client.sync({ ...ADDRESS, release: wrong.name })).rejects.toThrow(TypeError)
      expect(requests).toEqual([])
    },
  )

  // JSON leaves the first out, and the function takes the second for nothing.
  test.each([undefined, null, 7])(
    'a precondition that is %j would guard nothing, and is not sent',
    async (value) => {
      const { client, requests } = clientOf(answer(ISSUED, 201))
      for (const field of ['uid', 'resourceVersion']) {
        const preconditions = { [field]: value as unknown as string }
        await expect(client.mint(ADDRESS, { preconditions })).rejects.toThrow(`preconditions.${field}`)
        await expect(client.revoke(ADDRESS, { preconditions })).rejects.toThrow(TypeError)
      }
      expect(requests).toEqual([])
    },
  )

  test.each(['', 'a/b', '..'])('%j is no API group', (group) => {
    expect(() => clientOf(answer(ISSUED, 201), group)).toThrow(TypeError)
  })
})

describe('what comes back', () => {
  test('the password, and the warnings of the answer one by one', async () => {
    const warning = '299 - "HelmRelease \\"x\\" is suspended, it waits", 299 - "second"'
    const { client } = clientOf(answer(ISSUED, 201, { Warning: warning }))
    expect(await client.mint(ADDRESS)).toEqual({
      ok: true,
      value: ISSUED,
      warnings: ['HelmRelease "x" is suspended, it waits', 'second'],
    })
  })

  test('a Status is a refusal, in its own words and with its warnings', async () => {
    const status = { kind: 'Status', apiVersion: 'v1', reason: 'Conflict', message: 'changed', code: 409 }
    const { client } = clientOf(answer(status, 409, { Warning: '299 - "deprecated"' }))
    const failure = { kind: 'status', code: 409, reason: 'Conflict', message: 'changed', ...READ_AGAIN }
    expect(await client.mint(ADDRESS)).toStrictEqual({ ok: false, failure, warnings: ['deprecated'] })
  })

  test.each([
    ['the page of a proxy', () => new Response('<html>', { status: 502 }), 502],
    ['a page with code 200', () => new Response('<html>'), 200],
    ['another kind', answer({ ...ISSUED, kind: 'Secret' }, 201), 201],
    ['another group', answer({ ...ISSUED, apiVersion: 'v1' }, 201), 201],
    [
      'a mint without a password',
      answer({ ...ISSUED, status: { ...ISSUED.status, password: '' } }, 201),
      201,
    ],
    ['a Status that is no failure', answer({ kind: 'Status', code: 200, reason: '', message: 'done' }), 200],
    ['a Status of another code', answer({ kind: 'Status', code: 200, reason: '', message: '' }, 500), 500],
  ])('%s is no answer of the function', async (_what, respond, code) => {
    const { client } = clientOf(respond)
    const failure = { ...notUnderstood(code), ...MINT_AGAIN }
    expect(await client.mint(ADDRESS)).toStrictEqual({ ok: false, failure, warnings: [] })
  })

  test('a redirect is not followed, and whoever sent it has stored nothing', async () => {
    const { client, requests } = clientOf(() => new Response(null, { status: 302 }))
    const message = 'a redirect (code 302), which is not followed: baseUrl is not where the API is'
    const failure = { ...notUnderstood(302), message, ...NEVER }
    expect(await client.mint(ADDRESS)).toStrictEqual({ ok: false, failure, warnings: [] })
    expect(requests).toHaveLength(1)
  })

  // k8s.io/kube-aggregator/pkg/apiserver/handler_proxy.go; k8s.io/apimachinery/pkg/util/proxy/transport.go.
  test.each([
    ['service unavailable\n', true],
    ['error trying to reach service: dial tcp 10.96.0.9:443: connect: connection refused\n', true],
    ['error trying to reach service: tls: failed to verify certificate: x509: unknown authority\n', true],
    ['error trying to reach service: EOF\n', false],
    ['error trying to reach service: read tcp 10.0.0.1:5->10.96.0.9:443: connection reset by peer\n', false],
    ['error trying to reach service: net/http: timeout awaiting response headers\n', false],
    ['<html>service unavailable', false],
  ])('%j of the aggregation layer: it never arrived is %s', async (text, undelivered) => {
    const { client } = clientOf(() => new Response(text, { status: 503 }))
    const failure = undelivered
      ? { kind: 'foreign', code: 503, reason: 'NotReached', message: NOT_REACHED, undelivered, ...LATER }
      : { ...notUnderstood(503), ...MINT_AGAIN }
    expect(await client.mint(ADDRESS)).toStrictEqual({ ok: false, failure, warnings: [] })
  })

  test('the code of an error tells whether anything was sent', async () => {
    const { client } = clientOf(() =>
      Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })),
    )
    const error = { message: 'connect ECONNREFUSED', code: 'ECONNREFUSED', neverSent: true }
    const failure = { kind: 'silence', reason: 'NoAnswer', ...error, ...LATER }
    expect(await client.mint(ADDRESS)).toStrictEqual({ ok: false, failure, warnings: [] })
  })

  test('a broken connection is said to be one, and nothing is sent again', async () => {
    const error = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
    const { client, requests } = clientOf(() => Promise.reject(error))
    expect(await client.mint(ADDRESS)).toStrictEqual({
      ok: false,
      failure: {
        kind: 'silence',
        reason: 'NoAnswer',
        message: 'socket hang up',
        code: 'ECONNRESET',
        ...MINT_AGAIN,
      },
      warnings: [],
    })
    expect(requests).toHaveLength(1)
  })

  test.each(['a\nb', 'a b', 'a\u00fc', ''])('the token %j is not sent, and not repeated', async (token) => {
    const fetch = () => Promise.reject(new Error('asked'))
    const { ok, ...rest } = await createClient({ baseUrl: 'https://mintonce.test', token, fetch }).mint(
      ADDRESS,
    )
    const message = 'the token is none that a header can hold'
    expect({ ok, ...rest }).toStrictEqual({
      ok: false,
      failure: {
        kind: 'silence',
        reason: 'NoAnswer',
        message,
        code: 'NO_CREDENTIALS',
        neverSent: true,
        ...NEVER,
      },
      warnings: [],
    })
  })

  const coded = (code: string, cause?: Error) =>
    Object.assign(new Error('sent with Authorization: Bearer secret-token', { cause }), { code })
  // What `Headers` of undici and `validateHeaderValue` of node:http say of a value that they do not take; then what a fetch
  // of somebody's own may throw.
  test.each<[() => unknown, string]>([
    [() => new Headers({ a: 'secret\nvalue' }), 'TypeError'],
    [
      () => {
        throw Object.assign(new TypeError("Received 'secret'"), { code: 'ERR_INVALID_ARG_VALUE' })
      },
      'ERR_INVALID_ARG_VALUE',
    ],
    [() => Promise.reject(coded('EBAD')), 'EBAD'],
    [() => Promise.reject(coded('no code', coded('EBAD'))), 'EBAD'],
    [() => Promise.reject(Object.assign(new Error(), { name: 'Bearer secret-token' })), 'Error'],
    [() => Promise.reject('secret-token'), 'unknown'],
    [
      () => {
        const cause = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
        throw new Error('Bearer secret-token', { cause })
      },
      'read ECONNRESET',
    ],
  ])('words of an error that may quote what was sent are not repeated: %#', async (respond, message) => {
    const { client } = clientOf(async () => Response.json(await respond()))
    const answer = await client.mint(ADDRESS)
    expect(answer).toMatchObject({ ok: false, failure: { kind: 'silence', message } })
    expect(JSON.stringify(answer)).not.toContain('secret')
  })

  test('nor is the reason of whoever gives up', async () => {
    const giving = new AbortController()
    const { client } = clientOf(() => {
      giving.abort(coded('EBAD'))
      return Promise.reject(giving.signal.reason)
    })
    const answer = await client.mint(ADDRESS, { signal: giving.signal })
    expect(answer).toMatchObject({ ok: false, failure: { message: 'EBAD', ...MINT_AGAIN } })
    expect(JSON.stringify(answer)).not.toContain('secret')
  })
})
