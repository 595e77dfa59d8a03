import { describe, expect, test } from 'vitest'
import { GROUP } from '../backend.ts'
import type { Contract } from '../contract.ts'
import { type Answer, answerOf, type CallOptions, type Tenant } from '../tenant.ts'

const CREDENTIAL = 'postgres-orders.web'
const TYPED = { apiVersion: `${GROUP}/v1alpha1`, kind: 'CredentialRequest' }

/** A refusal that a person can act on. */
function expectRefusal(answer: Answer, status: number): void {
  expect(answer.status).toBe(status)
  expect(answer.headers.get('cache-control')).toMatch(/\bno-store$/)
  expect(answer.body).toMatchObject({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status })
  expect(answer.body.reason).toMatch(/^[A-Z][A-Za-z]+$/)
  expect(answer.body.message.length).toBeGreaterThan(10)
  expect(answer.text).not.toContain('"password":')
}

export function requests({ backend, tenant }: Contract): void {
  const orders = async (): Promise<Tenant> => {
    const acme = await tenant()
    await acme.release('Postgres', 'orders', { users: { web: {} } })
    return acme
  }
  const untouched = async (acme: Tenant) => expect(await acme.secret(CREDENTIAL)).toBeUndefined()

  describe('a body', () => {
    test.each([
      ['nothing', undefined],
      ['an empty object', {}],
      ['kind and apiVersion', TYPED],
      [
        'what a typed client sends',
        { ...TYPED, metadata: { creationTimestamp: null }, spec: { preconditions: {} }, status: {} },
      ],
      ['its own name', { ...TYPED, metadata: { name: CREDENTIAL } }],
      ['null for what is left out', { ...TYPED, metadata: null, spec: null }],
    ])('may be %s', async (_name, body) => {
      const acme = await orders()
      const answer = await acme.mint(CREDENTIAL, body === undefined ? {} : { body })
      expect(answer.status).toBe(201)
    })

    test.each<[string, unknown, number]>([
      ['no JSON', 'mint please', 400],
      ['half of it', '{"spec":', 400],
      ['a list', [], 400],
      ['a text', '"x"', 400],
      ['null', 'null', 400],
      ['nested without end', '['.repeat(60_000), 400],
      ['of another kind', { ...TYPED, kind: 'Credential' }, 400],
      ['of another version', { ...TYPED, apiVersion: 'v1' }, 400],
      ['with a kind that is no text', { kind: 7 }, 400],
      ['of another name', { ...TYPED, metadata: { name: 'postgres-orders.other' } }, 400],
      ['of another namespace', { ...TYPED, metadata: { namespace: 'default' } }, 400],
      ['with metadata that is no object', { metadata: 'x' }, 400],
      ['with a spec that is no object', { spec: [] }, 400],
      ['with preconditions that are no object', { spec: { preconditions: 'x' } }, 400],
      ['with a version that is a number', { spec: { preconditions: { resourceVersion: 7 } } }, 400],
      ['with a byte order mark', '\uFEFF{}', 400],
      ['too large', { spec: {}, padding: 'x'.repeat(70_000) }, 413],
    ])('%s is refused', async (_name, body, status) => {
      const acme = await orders()
      expectRefusal(await acme.mint(CREDENTIAL, { body }), status)
      await untouched(acme)
    })

    test.each([
      [64 * 1024, 201],
      [64 * 1024 + 1, 413],
    ])('of %i bytes is %i', async (length, status) => {
      const acme = await orders()
      expect((await acme.mint(CREDENTIAL, { body: '{}'.padEnd(length) })).status).toBe(status)
    })

    test('nested deep where nothing is read does no harm', async () => {
      const acme = await orders()
      const depth = 30_000
      const body = `{"status":${'['.repeat(depth)}${']'.repeat(depth)}}`
      expect((await acme.mint(CREDENTIAL, { body })).status).toBe(201)
    })

    test('with thousands of repeated fields, far down, is refused in a few words', async () => {
      const acme = await orders()
      const repeated = Array(5500).fill('"b":1').join(',')
      const body = `${'{"a":'.repeat(5000)}{${repeated}}${'}'.repeat(5000)}`
      const startedAt = performance.now()
      const answer = await acme.mint(CREDENTIAL, { body })
      expectRefusal(answer, 400)
      expect(answer.text.length).toBeLessThan(256 * 1024)
      expect(performance.now() - startedAt).toBeLessThan(5000)
    })

    test('with thousands of unknown fields is warned about in headers that every client can take', async () => {
      const acme = await orders()
      const body = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`field${index}`, 1]))
      const answer = await acme.mint(CREDENTIAL, { body, query: 'fieldValidation=Warn' })
      expect(answer.status).toBe(201)
      // All of a response's headers: Node's own client takes 16 KiB.
      expect(answer.headers.get('warning')?.length).toBeLessThan(8 * 1024)
    })

    test('that is no UTF-8 is refused', async () => {
      const acme = await orders()
      const headers = { Authorization: `Bearer ${acme.tokens.admin}`, 'Content-Type': 'application/json' }
      const body = new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])
      const answer = await backend().call(acme.path(CREDENTIAL, 'mint'), { method: 'POST', headers, body })
      expectRefusal(await answerOf(answer), 400)
    })

    test.each([
      ['{"spec":{"foo":1}}', 'unknown field "spec.foo"'],
      ['{"spec":{"preconditions":{"uuid":"x"}},"x":1}', 'unknown field "spec.preconditions.uuid"'],
      ['{"spec":{},"spec":{}}', 'duplicate field "spec"'],
      ['{"__proto__":{"x":1}}', 'unknown field "__proto__"'],
      ['{"spec":{"preconditions":{"uid":"a","uid":"b"}}}', 'duplicate field "spec.preconditions.uid"'],
    ])('%s is refused in strict words, warned about, or ignored', async (body, problem) => {
      const acme = await orders()
      const strict = await acme.mint(CREDENTIAL, { body })
      expectRefusal(strict, 400)
      expect(strict.body.message).toContain('strict decoding error: ')
      expect(strict.body.message).toContain(problem)
      expectRefusal(await acme.mint(CREDENTIAL, { body, query: 'fieldValidation=Strict' }), 400)
      await untouched(acme)
      const harmless = !body.includes('"uid"')
      const warned = await acme.mint(CREDENTIAL, { body, query: 'fieldValidation=Warn' })
      expect(warned.status).toBe(harmless ? 201 : 409)
      if (harmless) expect(warned.headers.get('warning')).toContain(problem.replaceAll('"', '\\"'))
      const ignored = await acme.mint(CREDENTIAL, { body, query: 'fieldValidation=Ignore' })
      expect(ignored.status).toBe(harmless ? 201 : 409)
      expect(ignored.headers.get('warning')).toBeNull()
    })

    test.each([
      ['application/x-www-form-urlencoded', 415],
      ['text/plain', 415],
      ['application/yaml', 415],
      ['application/json-patch+json', 415],
      ['application/json; charset=utf-8', 201],
      ['APPLICATION/JSON', 201],
    ])('of type %s is %i', async (contentType, status) => {
      const acme = await orders()
      const answer = await acme.mint(CREDENTIAL, { body: {}, headers: { 'Content-Type': contentType } })
      expect(answer.status).toBe(status)
      if (status === 415) expect(answer.body.message).toContain('Content-Type: application/json')
    })

    test('without a type is JSON, and nothing of any type is an empty body', async () => {
      const acme = await orders()
      const post = async (body: Uint8Array<ArrayBuffer> | null, headers: Record<string, string>) =>
        backend().call(acme.path(CREDENTIAL, 'mint'), {
          method: 'POST',
          headers: { Authorization: `Bearer ${acme.tokens.admin}`, ...headers },
          body,
        })
      const stale = new TextEncoder().encode('{"spec":{"preconditions":{"resourceVersion":"7"}}}')
      expect((await post(stale, {})).status).toBe(409)
      expect((await post(null, { 'Content-Type': 'application/x-www-form-urlencoded' })).status).toBe(201)
    })

    test('that is encoded is refused', async () => {
      const acme = await orders()
      expectRefusal(await acme.mint(CREDENTIAL, { body: {}, headers: { 'Content-Encoding': 'gzip' } }), 415)
    })
  })

  describe('a query', () => {
    test.each([
      'dryRun',
      'dryRun=',
      'dryRun=Maybe',
      'dryRun=all',
      'dryRun=All&dryRun=All',
      'dryRun=&dryRun=All',
      'dryrun=All',
      'dryRun%20=All',
      'fieldValidation=strict',
      'fieldValidation=Strict&fieldValidation=Ignore',
      'force=true',
    ])('?%s is refused and mints nothing', async (query) => {
      const acme = await orders()
      for (const verb of ['mint', 'revoke'] as const)
        expectRefusal(await acme[verb](CREDENTIAL, { query }), 400)
      await untouched(acme)
    })

    test.each(['watch=1', 'watch=true', 'watch='])(
      'a list with ?%s is a watch, which there is none of',
      async (query) => {
        const acme = await tenant()
        const answer = await acme.list(query)
        expect(answer.status).toBe(405)
        expect(answer.body).toMatchObject({
          kind: 'Status',
          message: 'watch is not supported on credentials: get or list them again',
        })
      },
    )

    test('?pretty, ?fieldManager and ?timeout of clients are taken', async () => {
      const acme = await orders()
      const answer = await acme.mint(CREDENTIAL, {
        query: 'pretty=true&fieldManager=kubectl-create&timeout=30s',
      })
      expect(answer.status).toBe(201)
    })
  })

  describe('a header', () => {
    test.each(['Idempotency-Key', 'X-Idempotency-Key', 'If-Match', 'If-None-Match'])(
      '%s promises what a mint does not do, and is refused',
      async (name) => {
        const acme = await orders()
        const options: CallOptions = { headers: { [name]: 'x' } }
        expectRefusal(await acme.mint(CREDENTIAL, options), 400)
        expectRefusal(await acme.revoke(CREDENTIAL, { ...options, as: 'stranger' }), 400)
        await untouched(acme)
      },
    )

    test.each([
      ['X-Remote-User', 'admin', 403],
      ['X-Remote-Group', 'system:masters', 403],
      ['X_Remote_User', 'admin', 403],
      ['Impersonate-User', 'admin', 403],
      ['Impersonate-Group', 'system:masters', 400],
    ])('%s gives nobody more than they have', async (name, value, status) => {
      const acme = await orders()
      expect((await acme.mint(CREDENTIAL, { as: 'viewer', headers: { [name]: value } })).status).toBe(status)
      const anonymous = await backend().call(acme.path(''), { headers: { [name]: value } })
      expect(anonymous.status).toBe(401)
      await untouched(acme)
    })
  })

  describe('a path', () => {
    test.each([
      ['HTTP-02: an escape', '/postgres-orders.w%65b/mint', 400],
      ['HTTP-02: half an escape', '/postgres-orders.%F0%27/mint', 400],
      ['HTTP-02: no escape', '/postgres-orders.%a/mint', 400],
      ['an encoded slash', `/${CREDENTIAL}/mint/..%2f..%2f${CREDENTIAL}/mint`, 400],
      ['a semicolon', `/${CREDENTIAL};x=y/mint`, 400],
      ['an empty segment', `//${CREDENTIAL}/mint`, 400],
      ['a slash at the end', `/${CREDENTIAL}/mint/`, 400],
      ['a segment too many', `/${CREDENTIAL}/mint/again`, 400],
      ['NAM-07: upper case', '/postgres-orders.Web/mint', 400],
      ['NAM-07: no account', '/postgres-orders./mint', 400],
      ['NAM-07: no release', '/.web/mint', 400],
      ['NAM-07: no dot', '/postgres-orders/mint', 400],
      ['NAM-07: a dash in front', '/postgres-orders.-web/mint', 400],
      ['NAM-07: a dash behind', '/postgres-orders.web-/mint', 400],
      ['NAM-07: two dots', '/postgres-orders..web/mint', 400],
      ['NAM-07: a space', '/postgres-orders.%20web/mint', 400],
      ['an underscore', '/postgres-orders.a_b/mint', 400],
      ['a name too long', `/${'a'.repeat(120)}.${'b'.repeat(130)}/mint`, 400],
      ['more than one account', '/postgres-orders.web.web/mint', 404],
    ])('with %s is refused', async (_name, rest, status) => {
      const acme = await orders()
      const headers = { Authorization: `Bearer ${acme.tokens.admin}` }
      const answer = await backend().call(`${acme.path('')}${rest}`, { method: 'POST', headers })
      expectRefusal(await answerOf(answer), status)
      await untouched(acme)
    })

    test.each(['Tenant', 'a.b', 'a_b', 'x'.repeat(64), '-a', 'a-'])(
      'with the namespace %s is refused',
      async (namespace) => {
        const acme = await orders()
        const headers = { Authorization: `Bearer ${acme.tokens.admin}` }
        const path = `/apis/${GROUP}/v1alpha1/namespaces/${namespace}/credentials`
        expectRefusal(await answerOf(await backend().call(path, { headers })), 400)
        expectRefusal(
          await answerOf(await backend().call(`${path}/${CREDENTIAL}/mint`, { method: 'POST', headers })),
          400,
        )
      },
    )
  })
}
