import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { mayBeStored, outcomeOf } from '../../src/client/advice.ts'
import { createClient } from '../../src/client/client.ts'
import type { ClientFailure } from '../../src/client/failure.ts'
import type { Failure, KubeFailure } from '../../src/core/failure.ts'
import { crashed } from '../../src/handlers/answer.ts'
import { toStatus } from '../../src/handlers/status.ts'
import { GROUP, kubeTable, NAME, table } from '../handlers/status-rows.ts'

const ADDRESS = { namespace: 'tenant-acme', name: 'postgres-orders.web' }
const NEVER = { outcome: 'unchanged', retry: { advice: 'never' } }
const READ_AGAIN = { outcome: 'unchanged', retry: { advice: 'read-again' } }
const later = (seconds: number) => ({ outcome: 'unchanged', retry: { advice: 'after', seconds } })
const again = (verb: string) => ({ outcome: 'unknown', retry: { advice: `${verb}-again` } })

const refusal = (code: number, message = 'no'): ClientFailure => ({
  kind: 'status',
  code,
  reason: 'Any',
  message,
})
const foreign = (code: number): ClientFailure => ({
  kind: 'foreign',
  code,
  reason: 'NotUnderstood',
  message: 'x',
})
const silence = (more: object): ClientFailure => ({
  kind: 'silence',
  reason: 'NoAnswer',
  message: 'x',
  ...more,
})
const unsent = (code?: string) => silence({ neverSent: true, ...(code === undefined ? {} : { code }) })

// What the function answers, and in which words, is in src/handlers/status.ts; the rest is named beside it.
const LOST =
  'the answer to the write was lost: the password of credential a.b may have been replaced; mint again'
const ALTERED =
  'an admission plug-in changed the value of Secret "a.b.account" on its way into the cluster: nobody has the password of credential a.b now'
const WEBHOOK =
  'Internal error occurred: failed calling webhook "format": ApplicationDefinition "x": no answer; the stored password is as it was'

describe('a mint that failed', () => {
  test.each([
    ['a mistake in the request', refusal(400), NEVER],
    ['no credentials', refusal(401), NEVER],
    ['RBAC', refusal(403), NEVER],
    ['no such account', refusal(404), NEVER],
    ['a username that is invalid', refusal(422), NEVER],
    ['somebody was faster', refusal(409), READ_AGAIN],
    ['out of time before the write', refusal(408), later(5)],
    ['overloaded', refusal(429), later(5)],
    ['the Kubernetes API is away', refusal(503), later(5)],
    ['a timeout of the function', refusal(504, 'the Kubernetes API did not answer in time: get'), later(5)],
    ['the caller has gone', refusal(504, 'the time was over: nothing was written'), later(5)],
    // k8s.io/apiserver/pkg/server/filters/timeout.go: the function goes on.
    ['a timeout of kube-apiserver', refusal(504, 'request did not complete within 60s'), again('mint')],
    ['a wrong definition', refusal(500, 'ApplicationDefinition "x" is wrong: format: unknown'), NEVER],
    ['a webhook of a definition', refusal(500, WEBHOOK), NEVER],
    ['a lost answer', refusal(500, LOST), again('mint')],
    ['a value that was altered', refusal(500, ALTERED), again('mint')],
    // k8s.io/apimachinery/pkg/api/errors: `NewInternalError`.
    ['a bug', refusal(500, 'Internal error occurred: x'), again('mint')],
    // Of nobody that we know.
    ['an error without a known word', refusal(500), again('mint')],
    ['a Status of a proxy', refusal(502), again('mint')],
    ['a disk that is full, somewhere', refusal(507), again('mint')],
    ['a Status that is no failure', refusal(200), again('mint')],
    ['a page of a proxy', foreign(502), again('mint')],
    ['a page of a proxy that refuses', foreign(403), NEVER],
    ['a redirect that a browser hides', foreign(0), NEVER],
    ['a broken connection', silence({ code: 'ECONNRESET' }), again('mint')],
    ['what a browser says of any of that', silence({}), again('mint')],
    ['nobody there', unsent('ECONNREFUSED'), later(5)],
    ['a certificate that is not trusted', unsent('CERT_HAS_EXPIRED'), NEVER],
    ['no token', unsent('NO_CREDENTIALS'), NEVER],
    ['a port that may not be called', unsent('BAD_PORT'), NEVER],
  ])('%s', (_what, failure, outcome) => {
    expect(outcomeOf(failure, { verb: 'mint' })).toStrictEqual(outcome)
  })
})

describe('the words of the function', () => {
  const statusOf = (failure: Failure): ClientFailure => ({ kind: 'status', ...toStatus(failure, GROUP) })
  const refused = (cause: KubeFailure, leftoverDeleted: boolean): Failure => ({
    reason: 'write_refused',
    name: NAME,
    cause,
    leftoverDeleted,
  })
  const causes = Object.values(kubeTable).map(({ failure }) => failure)
  const failures: readonly Failure[] = [
    ...causes,
    ...causes.flatMap((cause) => [refused(cause, false), refused(cause, true)]),
    ...Object.values(table).map(({ failure }) => failure),
  ]

  test.each(failures.map((failure) => [JSON.stringify(failure), failure] as const))(
    '%s',
    (_what, failure) => {
      const changed = failure.reason === 'value_altered' && !failure.dryRun
      expect(mayBeStored(statusOf(failure))).toBe(changed || failure.reason === 'outcome_unknown')
    },
  )

  test('a crash', () => {
    const { code, reason, message } = JSON.parse(crashed().body)
    expect(mayBeStored({ kind: 'status', code, reason, message })).toBe(true)
  })
})

test.each([refusal(500, LOST), foreign(502), silence({})])(
  'what is unknown of a mint is so of a revoke, and never of a read: %j',
  (failure) => {
    expect(outcomeOf(failure, { verb: 'revoke' })).toStrictEqual(again('revoke'))
    expect(outcomeOf(failure, { verb: 'read' })).toMatchObject({ outcome: 'unchanged' })
  },
)

test('a list whose token is too old is started again', () => {
  expect(outcomeOf(refusal(410), { verb: 'read' })).toStrictEqual(READ_AGAIN)
})

// RFC 9110, section 10.2.3.
test.each([
  ['7', 7],
  ['0', 0],
  ['86400', 300],
  ['Fri, 31 Dec 1999 23:59:59 GMT', 5],
  ['-1', 5],
  ['', 5],
])('Retry-After: %s', async (header, seconds) => {
  const status = { apiVersion: 'v1', kind: 'Status', code: 429, reason: 'TooManyRequests', message: 'wait' }
  const fetch = async () => Response.json(status, { status: 429, headers: { 'Retry-After': header } })
  const answer = await createClient({ baseUrl: 'https://mintonce.test', fetch }).mint(ADDRESS)
  expect(answer).toMatchObject({ ok: false, failure: later(seconds) })
})

describe('who calls, and whom', () => {
  const asked: Request[] = []
  const fetch = async (request: Request) => {
    asked.push(request)
    return new Response('', { status: 404 })
  }
  const list = async (options: Parameters<typeof createClient>[0]) => {
    const answer = await createClient({ fetch, ...options }).list('tenant-acme')
    return { answer, request: asked.at(-1) }
  }

  test('a source of tokens is asked before each call', async () => {
    const tokens = ['one', 'two']
    const client = createClient({
      baseUrl: 'https://mintonce.test',
      fetch,
      token: async () => tokens.shift() ?? '',
    })
    await client.list('tenant-acme')
    await client.list('tenant-acme')
    expect(asked.slice(-2).map(({ headers }) => headers.get('Authorization'))).toEqual([
      'Bearer one',
      'Bearer two',
    ])
  })

  test('what such a source throws is not repeated, and nothing is sent', async () => {
    const before = asked.length
    const { answer } = await list({
      baseUrl: 'https://mintonce.test',
      token: () => Promise.reject(new Error('no session for secret-token')),
    })
    expect(answer).toMatchObject({ failure: { kind: 'silence', code: 'NO_CREDENTIALS', ...NEVER } })
    expect(JSON.stringify(answer)).not.toContain('secret-token')
    expect(asked).toHaveLength(before)
  })

  test.each([
    ['https://mintonce.test', 'https://mintonce.test/apis/'],
    ['https://mintonce.test/', 'https://mintonce.test/apis/'],
    ['https://rancher.test/k8s/clusters/c-1', 'https://rancher.test/k8s/clusters/c-1/apis/'],
    ['https://mintonce.test/a/?b#c', 'https://mintonce.test/a/apis/'],
  ])('the API is below the path of %s', async (baseUrl, start) => {
    const { request } = await list({ baseUrl })
    expect(request?.url).toBe(`${start}core.cozystack.io/v1alpha1/namespaces/tenant-acme/credentials`)
  })

  test.each(['https://jane:secret@mintonce test', 'https://jane:secret@mintonce.test', 'https://secret@[::'])(
    'an address that is none, or has a user in it, is not repeated: %s',
    (baseUrl) => {
      let thrown: unknown
      try {
        createClient({ fetch, baseUrl })
      } catch (error) {
        thrown = error
      }
      expect(thrown).toBeInstanceOf(TypeError)
      expect(inspect(thrown)).not.toContain('secret')
    },
  )

  test.each([undefined, '/mintonce', 'file:///etc'])('%s is no place without a page', (baseUrl) => {
    expect(() => createClient(baseUrl === undefined ? { fetch } : { fetch, baseUrl })).toThrow(TypeError)
  })

  test('who has given up before is not sent for', async () => {
    const before = asked.length
    const client = createClient({ baseUrl: 'https://mintonce.test', fetch })
    const answer = await client.mint(ADDRESS, { signal: AbortSignal.abort(new Error('secret')) })
    expect(answer).toMatchObject({ ok: false, failure: { neverSent: true, outcome: 'unchanged' } })
    expect(JSON.stringify(answer)).not.toContain('secret')
    expect(asked).toHaveLength(before)
  })
})

test('whoever gives up does not wait for a source of tokens, and nothing is sent', async () => {
  const asked: Request[] = []
  const client = createClient({
    baseUrl: 'https://mintonce.test',
    token: () => new Promise<string>(() => undefined),
    fetch: async (request) => {
      asked.push(request)
      return new Response('', { status: 404 })
    },
  })
  const giving = new AbortController()
  const answer = client.mint(ADDRESS, { signal: giving.signal })
  giving.abort()
  expect(await answer).toMatchObject({ ok: false, failure: { neverSent: true, ...later(5) } })
  expect(asked).toEqual([])
})

test('a dry run has no outcome that is unknown', async () => {
  const fetch = () => Promise.reject(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }))
  const client = createClient({ baseUrl: 'https://mintonce.test', fetch })
  expect(await client.mint(ADDRESS, { dryRun: true })).toMatchObject({ ok: false, failure: later(5) })
  expect(await client.mint(ADDRESS)).toMatchObject({ ok: false, failure: again('mint') })
})
