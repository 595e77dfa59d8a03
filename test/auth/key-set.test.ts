import { beforeAll, describe, expect, test } from 'vitest'
import { createKeySet } from '../../src/auth/key-set.ts'
import { getOver } from '../../src/core/http-fetch.ts'
import {
  authenticatorOn,
  DISCOVERY,
  type FakeWeb,
  fakeWeb,
  ISSUER,
  KEY_SET,
  NOW,
  type SigningKey,
  sign,
  signingKey,
} from './fake-issuer.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND

let k1: SigningKey
let k2: SigningKey
let unnamed: SigningKey
beforeAll(async () => {
  ;[k1, k2, unnamed] = await Promise.all([signingKey('k1'), signingKey('k2'), signingKey(undefined)])
})

const accepted = { ok: true, value: { username: 'jane' } }
const refused = { ok: false, failure: { reason: 'unauthenticated' } }
const unavailable = (why: unknown = expect.any(String)) => ({
  ok: false,
  failure: { reason: 'issuer_unavailable', issuer: ISSUER, why },
})
const readings = (web: FakeWeb) => web.asked.filter((url) => url === KEY_SET).length

function keySetOn(web: FakeWeb, timeoutMs = 5000) {
  const clock = { milliseconds: NOW * SECOND }
  const issuer = { url: ISSUER, discoveryUrl: undefined, keySetUrl: undefined }
  const now = () => clock.milliseconds
  return { keySet: createKeySet({ issuer, get: getOver(web.fetch), now, log: () => {}, timeoutMs }), clock }
}

describe('the cache', () => {
  test('reads discovery and keys when the first token comes, and not before', async () => {
    const web = fakeWeb(k1.jwk)
    const { authenticate } = authenticatorOn(web)
    expect(web.asked).toEqual([])
    expect(await authenticate(await sign(k1))).toMatchObject(accepted)
    expect(await authenticate(await sign(k1))).toMatchObject(accepted)
    expect(web.asked).toEqual([DISCOVERY, KEY_SET])
  })

  test('reads once for tokens that come together', async () => {
    const web = fakeWeb(k1.jwk)
    const { authenticate } = authenticatorOn(web)
    const token = await sign(k1)
    const answers = await Promise.all(Array.from({ length: 32 }, () => authenticate(token)))
    for (const answer of answers) expect(answer).toMatchObject(accepted)
    expect(web.asked).toEqual([DISCOVERY, KEY_SET])
  })

  test('TOK-01: a token of a new key makes the set be read once, and is accepted', async () => {
    const web = fakeWeb(k1.jwk)
    const { authenticate, clock } = authenticatorOn(web)
    await authenticate(await sign(k1))
    web.pages.set(KEY_SET, { keys: [k1.jwk, k2.jwk] })
    clock.milliseconds += 31 * SECOND
    const token = await sign(k2)
    const answers = await Promise.all(Array.from({ length: 32 }, () => authenticate(token)))
    for (const answer of answers) expect(answer).toMatchObject(accepted)
    expect(await authenticate(await sign(k1))).toMatchObject(accepted)
    expect(readings(web)).toBe(2)
  })

  test('TOK-01: a key that is taken out of the set is refused after ten minutes', async () => {
    const web = fakeWeb(k1.jwk)
    const { authenticate, clock } = authenticatorOn(web)
    const token = await sign(k1, { exp: clock.milliseconds / 1000 + 3600 })
    expect(await authenticate(token)).toMatchObject(accepted)
    web.pages.set(KEY_SET, { keys: [k2.jwk] })
    clock.milliseconds += 10 * MINUTE - 1
    expect(await authenticate(token)).toMatchObject(accepted)
    clock.milliseconds += 1
    expect(await authenticate(token)).toMatchObject(refused)
    expect(readings(web)).toBe(2)
  })

  test('tokens that name unknown keys make the set be read every 30 seconds at most', async () => {
    const web = fakeWeb(k1.jwk)
    const { authenticate, clock } = authenticatorOn(web)
    const token = await sign(k2)
    expect(await authenticate(token)).toMatchObject(refused)
    clock.milliseconds += 30 * SECOND - 1
    expect(await authenticate(token)).toMatchObject(refused)
    expect(readings(web)).toBe(1)
    clock.milliseconds += 1
    for (let token = 0; token < 5; token += 1) {
      expect(await authenticate(await sign(k2))).toMatchObject(refused)
    }
    expect(readings(web)).toBe(2)
  })

  test('a forged signature under a known name does not make the set be read', async () => {
    const web = fakeWeb(k1.jwk)
    const { authenticate, clock } = authenticatorOn(web)
    await authenticate(await sign(k1))
    clock.milliseconds += MINUTE
    expect(await authenticate(await sign({ ...k2, header: k1.header }))).toMatchObject(refused)
    expect(readings(web)).toBe(1)
  })

  test('a token without kid is tried with every key that fits', async () => {
    const other = await signingKey(undefined)
    const { authenticate } = authenticatorOn(fakeWeb(k1.jwk, unnamed.jwk, other.jwk))
    expect(await authenticate(await sign(unnamed))).toMatchObject(accepted)
    expect(await authenticate(await sign(other))).toMatchObject(accepted)
    expect(await authenticate(await sign(unnamed, { aud: 'other' }))).toMatchObject({
      failure: { hint: 'ask for a token with audience "mintonce"' },
    })
    expect(await authenticate(await sign(await signingKey(undefined)))).toMatchObject(refused)
  })

  test('TOK-01: a token without kid is accepted after its key came new', async () => {
    const web = fakeWeb(unnamed.jwk)
    const { authenticate, clock } = authenticatorOn(web)
    await authenticate(await sign(unnamed))
    const next = await signingKey(undefined)
    web.pages.set(KEY_SET, { keys: [next.jwk] })
    clock.milliseconds += MINUTE
    expect(await authenticate(await sign(next))).toMatchObject(accepted)
  })

  test('who comes with old keys gets the ones that somebody else has just read', async () => {
    const web = fakeWeb(k1.jwk)
    const { keySet, clock } = keySetOn(web)
    const old = await keySet.current()
    clock.milliseconds += 31 * SECOND
    if (!old.ok) throw new Error('no keys')
    const newer = await keySet.newerThan(old.value)
    expect(newer).not.toEqual(old)
    expect(await keySet.newerThan(old.value)).toEqual(newer)
    expect(readings(web)).toBe(2)
  })

  test('a clock that is set back does not keep a key alive', async () => {
    const web = fakeWeb(k1.jwk)
    const { authenticate, clock } = authenticatorOn(web)
    const token = await sign(k1)
    await authenticate(token)
    web.pages.set(KEY_SET, { keys: [] })
    clock.milliseconds -= 1
    expect(await authenticate(token)).toMatchObject(refused)
  })
})

describe('an issuer that cannot be reached', () => {
  test('RUN-05: is not a refusal, and recovers by itself', async () => {
    const web = fakeWeb(k1.jwk)
    const { authenticate, clock, lines } = authenticatorOn(web)
    const token = await sign(k1)
    web.pages.set(DISCOVERY, () => {
      throw new TypeError('fetch failed', {
        cause: Object.assign(new Error('getaddrinfo ENOTFOUND idp.example'), { code: 'ENOTFOUND' }),
      })
    })
    expect(await authenticate(token)).toMatchObject(unavailable('discovery: ENOTFOUND'))
    expect(lines).toContainEqual([
      'warn',
      'issuer_unavailable',
      { issuer: ISSUER, why: 'discovery: ENOTFOUND' },
    ])
    web.pages.set(DISCOVERY, { issuer: ISSUER, jwks_uri: KEY_SET })
    clock.milliseconds += 5 * SECOND - 1
    expect(await authenticate(token)).toMatchObject(unavailable())
    expect(web.asked).toEqual([DISCOVERY])
    clock.milliseconds += 1
    expect(await authenticate(token)).toMatchObject(accepted)
  })

  test('an answer that was no good is not given again, however long a reading may take', async () => {
    const web = fakeWeb()
    web.pages.delete(KEY_SET)
    const { keySet, clock } = keySetOn(web, MINUTE)
    expect(await keySet.current()).toMatchObject(unavailable())
    web.pages.set(KEY_SET, { keys: [] })
    clock.milliseconds += 5 * SECOND
    expect(await keySet.current()).toMatchObject({ ok: true })
  })

  test('known keys stay good until they are ten minutes old, and no longer', async () => {
    const web = fakeWeb(k1.jwk)
    const { authenticate, clock } = authenticatorOn(web)
    const token = await sign(k1, { exp: clock.milliseconds / 1000 + 3600 })
    await authenticate(token)
    web.pages.delete(KEY_SET)
    clock.milliseconds += MINUTE
    expect(await authenticate(await sign(k2))).toMatchObject(unavailable('key set: answered 404'))
    expect(await authenticate(token)).toMatchObject(accepted)
    clock.milliseconds += 9 * MINUTE
    expect(await authenticate(token)).toMatchObject(unavailable())
  })

  test('an issuer that does not answer is given up, for every caller', async () => {
    const web = fakeWeb(k1.jwk)
    web.pages.set(KEY_SET, () => new Promise<Response>(() => {}))
    const { authenticate } = authenticatorOn(web, {}, { timeoutMs: 50 })
    const token = await sign(k1)
    const answers = await Promise.all([authenticate(token), authenticate(token)])
    for (const answer of answers) expect(answer).toMatchObject(unavailable('did not answer in time'))
    expect(readings(web)).toBe(1)
  })

  test('a reading that died with its request is begun again by a later one', async () => {
    const web = fakeWeb(k1.jwk)
    web.pages.set(KEY_SET, () => new Promise<Response>(() => {}))
    const { authenticate, clock } = authenticatorOn(web, {}, { timeoutMs: 50 })
    const token = await sign(k1)
    expect(await authenticate(token)).toMatchObject(unavailable())
    web.pages.set(KEY_SET, { keys: [k1.jwk] })
    clock.milliseconds += 50
    expect(await authenticate(token)).toMatchObject(accepted)
  })

  test('the time limit reaches the request that is under way', async () => {
    const web = fakeWeb(k1.jwk)
    web.pages.set(
      DISCOVERY,
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    )
    const { authenticate, lines } = authenticatorOn(web, {}, { timeoutMs: 50 })
    await authenticate(await sign(k1))
    await expect
      .poll(() => lines.at(-1))
      .toEqual(['warn', 'issuer_unavailable', { issuer: ISSUER, why: 'discovery: TimeoutError' }])
  })

  test('a caller who has gone waits no longer, and the others still get their answer', async () => {
    const web = fakeWeb(k1.jwk)
    const { promise, resolve } = Promise.withResolvers<Response>()
    web.pages.set(KEY_SET, () => promise)
    const { authenticate } = authenticatorOn(web)
    const token = await sign(k1)
    const gone = authenticate(token, AbortSignal.abort())
    const waiting = authenticate(token)
    expect(await gone).toEqual({ ok: false, failure: { reason: 'caller_gone' } })
    resolve(Response.json({ keys: [k1.jwk] }))
    expect(await waiting).toMatchObject(accepted)
  })
})

describe('where keys are read', () => {
  test.each([
    {
      url: 'https://idp.example/realms/a',
      from: 'https://idp.example/realms/a/.well-known/openid-configuration',
    },
    {
      url: 'https://idp.example/realms/a/',
      from: 'https://idp.example/realms/a/.well-known/openid-configuration',
    },
    { url: 'https://idp.example/', from: DISCOVERY },
    { url: ISSUER, from: DISCOVERY },
  ])('TOK-03: discovery of $url has no slash too many and none missing', async ({ url, from }) => {
    const web = fakeWeb()
    web.pages.set(from, { issuer: url, jwks_uri: KEY_SET })
    web.pages.set(KEY_SET, { keys: [k1.jwk] })
    const { authenticate } = authenticatorOn(web, { url })
    expect(await authenticate(await sign(k1, { iss: url }))).toMatchObject(accepted)
    expect(web.asked).toEqual([from, KEY_SET])
  })

  test('discoveryURL is asked as it stands', async () => {
    const discoveryUrl = 'https://idp.internal/discovery.json'
    const web = fakeWeb(k1.jwk)
    web.pages.set(discoveryUrl, { issuer: ISSUER, jwks_uri: KEY_SET })
    const { authenticate } = authenticatorOn(web, { discoveryUrl })
    expect(await authenticate(await sign(k1))).toMatchObject(accepted)
    expect(web.asked).toEqual([discoveryUrl, KEY_SET])
  })

  test('TOK-14: an address for the key set replaces the one that discovery names', async () => {
    const web = fakeWeb(k1.jwk)
    web.pages.set(DISCOVERY, { issuer: ISSUER, jwks_uri: 'https://10.255.0.1:6443/openid/v1/jwks' })
    expect(await authenticatorOn(web).authenticate(await sign(k1))).toMatchObject(
      unavailable('key set: answered 404'),
    )
    const keySetUrl = 'https://idp.internal/keys'
    web.pages.set(keySetUrl, { keys: [k1.jwk] })
    web.asked.length = 0
    expect(await authenticatorOn(web, { keySetUrl }).authenticate(await sign(k1))).toMatchObject(accepted)
    expect(web.asked).toEqual([keySetUrl])
  })

  test('TOK-14: a key set that wants credentials is not a refusal', async () => {
    const web = fakeWeb()
    web.pages.set(KEY_SET, () => new Response('forbidden', { status: 403 }))
    const answer = await authenticatorOn(web).authenticate(await sign(k1))
    expect(answer).toMatchObject(unavailable('key set: answered 403'))
  })

  test('each issuer is asked by the fetch of its own CA', async () => {
    const webs = new Map([['PEM', fakeWeb(k1.jwk)]])
    const { authenticate } = authenticatorOn(
      fakeWeb(),
      { certificateAuthority: 'PEM' },
      { getFor: (ca) => getOver((webs.get(ca ?? '') ?? fakeWeb()).fetch) },
    )
    expect(await authenticate(await sign(k1))).toMatchObject(accepted)
  })

  test('asks without credentials, for JSON, and does not let the runtime follow redirects', async () => {
    const seen: Request[] = []
    const web = fakeWeb(k1.jwk)
    const fetch = (request: Request) => {
      seen.push(request)
      return web.fetch(request)
    }
    await authenticatorOn(web, {}, { getFor: () => getOver(fetch) }).authenticate(await sign(k1))
    expect(seen).toHaveLength(2)
    for (const { method, headers, redirect } of seen) {
      expect(method).toBe('GET')
      expect(redirect).toBe('manual')
      expect([...headers]).toEqual([['accept', 'application/json']])
    }
  })
})

describe('answers that are not taken', () => {
  const big = JSON.stringify({ keys: [], padding: 'x'.repeat(256 * 1024) })
  const to = (status: number) => () => new Response(null, { status, headers: { Location: KEY_SET } })
  test.each([
    ['a redirect', DISCOVERY, to(302), 'discovery: answered 302'],
    ['a permanent redirect', DISCOVERY, to(308), 'discovery: answered 308'],
    ['no content', DISCOVERY, to(204), 'discovery: answered 204'],
    ['no JSON', DISCOVERY, () => new Response('<html>'), 'discovery: answered no JSON'],
    [
      'bytes that are no UTF-8',
      DISCOVERY,
      () => new Response(Uint8Array.of(255)),
      'discovery: answered no JSON',
    ],
    ['another issuer', DISCOVERY, { issuer: `${ISSUER}/`, jwks_uri: KEY_SET }, /of another issuer/],
    ['no issuer', DISCOVERY, { jwks_uri: KEY_SET }, /of another issuer/],
    ['no address', DISCOVERY, { issuer: ISSUER }, /no https address/],
    ['an insecure address', DISCOVERY, { issuer: ISSUER, jwks_uri: 'http://idp.example/keys' }, /no https/],
    ['a loopback address', DISCOVERY, { issuer: ISSUER, jwks_uri: 'http://127.0.0.1/keys' }, /no https/],
    [
      'an address with credentials',
      DISCOVERY,
      { issuer: ISSUER, jwks_uri: KEY_SET.replace('//', '//a:b@') },
      'discovery: jwks_uri has a username or password',
    ],
    ['a file', DISCOVERY, { issuer: ISSUER, jwks_uri: 'file:///etc/keys' }, /no https/],
    ['a redirected key set', KEY_SET, to(307), 'key set: answered 307'],
    [
      'a key set that is too big',
      KEY_SET,
      () => new Response(big),
      'key set: answered more than 262144 bytes',
    ],
    ['a key set without keys', KEY_SET, {}, /no JSON Web Key Set/],
    ['a key set of texts', KEY_SET, { keys: ['x'] }, /no JSON Web Key Set/],
    ['an empty body', KEY_SET, () => new Response(null), 'key set: answered no JSON'],
  ])('%s is as good as no answer', async (_, url, page, why) => {
    const web = fakeWeb(k1.jwk)
    web.pages.set(url, page)
    const answer = await authenticatorOn(web).authenticate(await sign(k1))
    expect(answer).toMatchObject(unavailable(typeof why === 'string' ? why : expect.stringMatching(why)))
  })

  test('a key that is broken, symmetric or for encryption does not spoil its neighbours', async () => {
    const web = fakeWeb(
      { kty: 'EC', kid: 'k2', crv: 'P-256', x: 'AA', y: 'AA' },
      { kty: 'oct', kid: 'k3', k: 'c2VjcmV0' },
      { ...k2.jwk, kid: 'k4', use: 'enc' },
      { kty: 'FUTURE', kid: 'k5' },
      k1.jwk,
    )
    const { authenticate } = authenticatorOn(web)
    expect(await authenticate(await sign(k1))).toMatchObject(accepted)
    expect(await authenticate(await sign(k2))).toMatchObject(refused)
    expect(await authenticate(await sign(k2, {}, { kid: 'k4' }))).toMatchObject(refused)
  })
})
