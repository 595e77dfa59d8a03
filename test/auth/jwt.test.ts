import { createPublicKey, generateKeyPairSync, sign as signWithNode } from 'node:crypto'
import { exportSPKI, type JWK, SignJWT } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  assemble,
  authenticatorOn,
  fakeWeb,
  goodClaims,
  ISSUER,
  NOW,
  type SigningKey,
  sign,
  signingKey,
} from './fake-issuer.ts'

let key: SigningKey
beforeAll(async () => {
  key = await signingKey('k1')
})

const jane = { ok: true, value: { username: 'jane', groups: ['system:authenticated'] } }
const refused = { ok: false, failure: { reason: 'unauthenticated' } }
const notMine = { ok: true, value: undefined }

describe('whose token it is', () => {
  test.each([
    ['no JWT', 'tenant-admin'],
    ['a word with dots', 'a.b.c'],
    ['a JWT without iss', assemble({ alg: 'ES256' }, { sub: 'jane' })],
    ['a JWT whose iss is no text', assemble({ alg: 'ES256' }, { iss: [ISSUER] })],
    ['a JWT of another issuer', assemble({ alg: 'ES256' }, { iss: 'https://other.example' })],
  ])('leaves %s to the next authenticator and asks nobody', async (_, token) => {
    const web = fakeWeb(key.jwk)
    expect(await authenticatorOn(web).authenticate(token)).toEqual(notMine)
    expect(web.asked).toEqual([])
  })

  test('leaves everything to the next authenticator when no issuer is configured', async () => {
    const { authenticate } = authenticatorOn(fakeWeb(key.jwk), {}, { issuers: [] })
    expect(await authenticate(await sign(key))).toEqual(notMine)
  })

  test.each([
    { configured: 'https://idp.example/', iss: 'https://idp.example', hint: /without a slash/ },
    { configured: 'https://idp.example', iss: 'https://idp.example/', hint: /with a slash/ },
  ])(
    'TOK-03: $iss is not the configured $configured, and the log says why',
    async ({ configured, iss, hint }) => {
      const web = fakeWeb(key.jwk)
      const { authenticate, lines } = authenticatorOn(web, { url: configured })
      expect(await authenticate(await sign(key, { iss }))).toEqual(notMine)
      expect(web.asked).toEqual([])
      expect(lines).toEqual([
        ['warn', 'issuer_slash_differs', { issuer: configured, hint: expect.stringMatching(hint) }],
      ])
    },
  )
})

describe('algorithms', () => {
  const rsa = { modulusLength: 2048 }
  const pss = { padding: 6, saltLength: 32 }
  test.each([
    ['RS256', () => generateKeyPairSync('rsa', rsa), 'sha256', {}],
    ['RS512', () => generateKeyPairSync('rsa', rsa), 'sha512', {}],
    ['PS256', () => generateKeyPairSync('rsa', rsa), 'sha256', pss],
    ['ES256', () => generateKeyPairSync('ec', { namedCurve: 'P-256' }), 'sha256', {}],
    ['ES384', () => generateKeyPairSync('ec', { namedCurve: 'P-384' }), 'sha384', {}],
    ['ES512', () => generateKeyPairSync('ec', { namedCurve: 'P-521' }), 'sha512', {}],
    ['EdDSA', () => generateKeyPairSync('ed25519'), null, {}],
    ['Ed25519', () => generateKeyPairSync('ed25519'), null, {}],
  ] as const)('accepts %s as OpenSSL signs it', async (alg, generate, hash, how) => {
    const { privateKey, publicKey } = generate()
    const unsigned = assemble({ alg, kid: 'node' }, goodClaims).slice(0, -1)
    const signature = signWithNode(hash, Buffer.from(unsigned), {
      key: privateKey,
      dsaEncoding: 'ieee-p1363',
      ...how,
    })
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'node' } as JWK
    const { authenticate } = authenticatorOn(fakeWeb(jwk))
    const token = `${unsigned}.${signature.toString('base64url')}`
    expect(await authenticate(token)).toMatchObject(jane)
    const forged = `${assemble({ alg, kid: 'node' }, { ...goodClaims, sub: 'root' })}${signature.toString('base64url')}`
    expect(await authenticate(forged)).toMatchObject(refused)
  })

  test.each(['none', 'None', 'HS256', 'HS512', '', 'RS1', 'ML-DSA-44', undefined, 7])(
    'TOK-17: refuses alg %j without asking for keys',
    async (alg) => {
      const web = fakeWeb(key.jwk)
      const token = assemble({ alg, kid: 'k1' }, goodClaims)
      expect(await authenticatorOn(web).authenticate(token)).toMatchObject(refused)
      expect(web.asked).toEqual([])
    },
  )

  test('TOK-17: refuses HS256 signed with the text of the RSA public key', async () => {
    const pair = await signingKey('k1', 'RS256')
    const publicKey = await exportSPKI(createPublicKey({ key: pair.jwk as never, format: 'jwk' }))
    const token = await new SignJWT(goodClaims)
      .setProtectedHeader({ alg: 'HS256', kid: 'k1' })
      .sign(new TextEncoder().encode(publicKey))
    expect(await authenticatorOn(fakeWeb(pair.jwk)).authenticate(token)).toMatchObject(refused)
  })

  test('TOK-17: refuses a critical header that it does not know, signed by the right key', async () => {
    const pair = await signingKey('k1', 'RS256')
    const token = await new SignJWT(goodClaims)
      .setProtectedHeader({ alg: 'RS256', kid: 'k1', crit: ['x'], x: 1 })
      .sign(pair.privateKey, { crit: { x: true } })
    const { authenticate } = authenticatorOn(fakeWeb(pair.jwk))
    expect(await authenticate(await sign(pair))).toMatchObject(jane)
    expect(await authenticate(token)).toMatchObject({
      ok: false,
      failure: { reason: 'unauthenticated', why: 'ERR_JOSE_NOT_SUPPORTED' },
    })
  })

  test('refuses an RSA key of 1024 bits', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const unsigned = assemble({ alg: 'RS256', kid: 'weak' }, goodClaims)
    const signature = signWithNode('sha256', Buffer.from(unsigned.slice(0, -1)), privateKey)
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'weak' } as JWK
    const token = `${unsigned}${signature.toString('base64url')}`
    expect(await authenticatorOn(fakeWeb(jwk)).authenticate(token)).toMatchObject(refused)
  })
})

describe('keys that a token brings', () => {
  test.each(['jku', 'x5u'])('TOK-16: never follows %s', async (parameter) => {
    const attacker = await signingKey('k1')
    const web = fakeWeb(key.jwk)
    web.pages.set('https://attacker.test/keys', { keys: [attacker.jwk] })
    const header = { [parameter]: 'https://attacker.test/keys' }
    const { authenticate } = authenticatorOn(web)
    expect(await authenticate(await sign(attacker, {}, header))).toMatchObject(refused)
    expect(await authenticate(await sign(attacker, {}, { ...header, kid: 'k2' }))).toMatchObject(refused)
    expect(web.asked.filter((url) => url.includes('attacker'))).toEqual([])
  })

  test('TOK-16: never uses an embedded jwk', async () => {
    const attacker = await signingKey('k1')
    const token = await sign(attacker, {}, { jwk: attacker.jwk })
    expect(await authenticatorOn(fakeWeb(key.jwk)).authenticate(token)).toMatchObject(refused)
  })

  test('TOK-16: asks nobody for a token of an issuer that is not configured', async () => {
    const attacker = await signingKey('k1')
    const web = fakeWeb(key.jwk)
    const claims = { iss: 'https://attacker.test' }
    const token = await sign(attacker, claims, { jku: 'https://attacker.test/keys', jwk: attacker.jwk })
    expect(await authenticatorOn(web).authenticate(token)).toEqual(notMine)
    expect(web.asked).toEqual([])
  })
})

describe('claims about time', () => {
  test.each([
    { claims: { nbf: NOW + 5 }, expected: jane },
    { claims: { nbf: NOW + 300 }, expected: refused },
    { claims: { exp: NOW - 5 }, expected: jane },
    { claims: { exp: NOW - 300 }, expected: refused },
    { claims: { iat: NOW + 5 }, expected: jane },
  ])('TOK-10: with 30 s of tolerance, $claims gives ok: $expected.ok', async ({ claims, expected }) => {
    const { authenticate } = authenticatorOn(fakeWeb(key.jwk), {}, { clockToleranceSeconds: 30 })
    expect(await authenticate(await sign(key, claims))).toMatchObject(expected)
  })

  test('TOK-10: tolerance is configurable', async () => {
    const { authenticate } = authenticatorOn(fakeWeb(key.jwk), {}, { clockToleranceSeconds: 0 })
    expect(await authenticate(await sign(key, { exp: NOW - 5 }))).toMatchObject(refused)
  })

  test('TOK-10: tolerance ends at two minutes', async () => {
    const { authenticate } = authenticatorOn(fakeWeb(key.jwk), {}, { clockToleranceSeconds: 86_400 })
    expect(await authenticate(await sign(key, { exp: NOW - 119 }))).toMatchObject(jane)
    expect(await authenticate(await sign(key, { exp: NOW - 121 }))).toMatchObject(refused)
  })

  test('a token ends when its time is over, keys in the cache or not', async () => {
    const { authenticate, clock } = authenticatorOn(fakeWeb(key.jwk))
    const token = await sign(key)
    expect(await authenticate(token)).toMatchObject(jane)
    clock.milliseconds += 631_000
    expect(await authenticate(token)).toMatchObject({ failure: { why: 'ERR_JWT_EXPIRED: exp' } })
  })

  test.each([undefined, null, `${NOW + 600}`])('refuses exp %j', async (exp) => {
    const token = await sign(key, { exp: exp as never })
    expect(await authenticatorOn(fakeWeb(key.jwk)).authenticate(token)).toMatchObject(refused)
  })
})

describe('audiences', () => {
  test.each([
    { aud: 'other', allowed: ['mintonce'], hint: 'ask for a token with audience "mintonce"' },
    { aud: ['other'], allowed: ['mintonce'], hint: 'ask for a token with audience "mintonce"' },
    { aud: undefined, allowed: ['mintonce'], hint: 'ask for a token with audience "mintonce"' },
    { aud: 'x', allowed: ['a', 'b'], hint: 'ask for a token with one of the audiences "a", "b"' },
  ])('refuses aud $aud where $allowed is asked for, and says so', async ({ aud, allowed, hint }) => {
    const { authenticate } = authenticatorOn(fakeWeb(key.jwk), { audiences: allowed })
    const token = await sign(key, { aud: aud as never })
    expect(await authenticate(token)).toMatchObject({ failure: { reason: 'unauthenticated', hint } })
  })

  test('accepts a token for several audiences, one of them ours', async () => {
    const { authenticate } = authenticatorOn(fakeWeb(key.jwk), { audiences: ['a', 'mintonce'] })
    expect(await authenticate(await sign(key, { aud: ['other', 'mintonce'] }))).toMatchObject(jane)
  })

  test('says nothing of audiences to a token that is wrong otherwise', async () => {
    const answer = await authenticatorOn(fakeWeb(key.jwk)).authenticate(await sign(key, { exp: NOW - 300 }))
    expect(answer).toMatchObject(refused)
    expect(answer).not.toHaveProperty('failure.hint')
  })

  test('gives the hint to nobody whose signature is wrong', async () => {
    const token = await sign(await signingKey('k1'), { aud: 'other' })
    const answer = await authenticatorOn(fakeWeb(key.jwk)).authenticate(token)
    expect(answer).toMatchObject(refused)
    expect(answer).not.toHaveProperty('failure.hint')
  })
})

test('a refused token of a configured issuer is final', async () => {
  const { authenticate } = authenticatorOn(fakeWeb(key.jwk))
  expect(await authenticate(await sign(key, { sub: 'system:admin' }))).toMatchObject(refused)
})

test('neither logs nor failures hold a token or the value of a claim', async () => {
  const { authenticate, lines } = authenticatorOn(fakeWeb(key.jwk), {
    requiredClaims: new Map([['org', 'acme']]),
  })
  const tokens = await Promise.all([
    sign(key, { sub: 'sub-value', aud: 'aud-value' }),
    sign(key, { sub: 'system:sub-value', org: 'acme' }),
    sign(key, { sub: 'sub-value', org: 'org-value' }),
    sign(key, { sub: 'sub-value', org: 'acme', groups: ['group-value\n'] }),
    sign(key, { iss: `${ISSUER}/`, sub: 'sub-value' }),
    sign(await signingKey('kid-value'), { sub: 'sub-value' }),
  ])
  const failures = await Promise.all(tokens.map((token) => authenticate(token)))
  const written = JSON.stringify([lines, failures])
  expect(failures.filter(({ ok }) => !ok)).toHaveLength(5)
  expect(written).not.toContain('-value')
  for (const part of tokens.flatMap((token) => token.split('.'))) expect(written).not.toContain(part)
})
