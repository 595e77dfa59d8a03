import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from 'jose'
import type { IssuerConfig } from '../../src/auth/authentication-config.ts'
import { createJwtAuthenticator, type JwtAuthenticatorOptions } from '../../src/auth/jwt.ts'
import type { Fetch, Log } from '../../src/core/deps.ts'
import { getOver } from '../../src/core/http-fetch.ts'

export const ISSUER = 'https://idp.example'
export const DISCOVERY = 'https://idp.example/.well-known/openid-configuration'
export const KEY_SET = 'https://idp.example/keys'

/** 2026-11-30T12:00:00Z, in seconds since the epoch. */
export const NOW = 1_796_040_000

export const issuerConfig: IssuerConfig = {
  url: ISSUER,
  discoveryUrl: undefined,
  keySetUrl: undefined,
  certificateAuthority: undefined,
  audiences: ['mintonce'],
  username: { claim: 'sub', prefix: '' },
  groups: { claim: 'groups', prefix: '' },
  uid: undefined,
  requiredClaims: new Map(),
}

export const goodClaims: JWTPayload = { iss: ISSUER, aud: 'mintonce', sub: 'jane', iat: NOW, exp: NOW + 600 }

export interface SigningKey {
  readonly header: JWTHeaderParameters
  readonly privateKey: CryptoKey
  readonly jwk: JWK
}

export async function signingKey(kid: string | undefined, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg)
  const named = kid === undefined ? {} : { kid }
  return { header: { alg, ...named }, privateKey, jwk: { ...(await exportJWK(publicKey)), ...named } }
}

/** A token with the good claims, changed by these; undefined leaves one out. */
export const sign = (
  { header, privateKey }: SigningKey,
  claims: JWTPayload = {},
  more: Partial<JWTHeaderParameters> = {},
): Promise<string> =>
  new SignJWT({ ...goodClaims, ...claims }).setProtectedHeader({ ...header, ...more }).sign(privateKey)

/** Header and claims with a signature that is given, or none. */
export const assemble = (header: object, claims: object, signature = ''): string =>
  [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.') +
  `.${signature}`

export interface FakeWeb {
  readonly fetch: Fetch
  /** Every address that was asked for, in order. */
  readonly asked: string[]
  /** What is served: a JSON document, or an answer for each request. */
  readonly pages: Map<string, object | ((request: Request) => Response | Promise<Response>)>
}

/** An issuer on the web, with this key set. Everything else is 404. */
export function fakeWeb(...keys: readonly JWK[]): FakeWeb {
  const asked: string[] = []
  const pages: FakeWeb['pages'] = new Map<string, object>([
    [DISCOVERY, { issuer: ISSUER, jwks_uri: KEY_SET }],
    [KEY_SET, { keys }],
  ])
  return {
    asked,
    pages,
    fetch: async (request) => {
      asked.push(request.url)
      const page = pages.get(request.url)
      if (page === undefined) return new Response('not here', { status: 404 })
      return typeof page === 'function' ? page(request) : Response.json(page)
    },
  }
}

/** An authenticator of one issuer, its clock, and what it logged. */
export function authenticatorOn(
  web: FakeWeb,
  issuer: Partial<IssuerConfig> = {},
  options: Partial<JwtAuthenticatorOptions> = {},
) {
  const clock = { milliseconds: NOW * 1000 }
  const lines: Parameters<Log>[] = []
  const jwt = createJwtAuthenticator({
    issuers: [{ ...issuerConfig, ...issuer }],
    getFor: () => getOver(web.fetch),
    now: () => clock.milliseconds,
    log: (...line) => lines.push(line),
    ...options,
  })
  const authenticate = (token: string, signal?: AbortSignal) =>
    jwt.authenticate(signal === undefined ? { token } : { token, signal })
  return { authenticate, clock, lines }
}
