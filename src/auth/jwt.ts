import { decodeJwt, decodeProtectedHeader, errors, type JWTVerifyOptions, jwtVerify } from 'jose'
import type { Deps } from '../core/deps.ts'
import type { Get } from '../core/http.ts'
import { type Json, textAt } from '../core/json.ts'
import { ok, type Result } from '../core/result.ts'
import { askForAudience } from './audience-hint.ts'
import type { IssuerConfig } from './authentication-config.ts'
import type { Authenticator, Caller } from './authenticator.ts'
import { callerFrom } from './claims.ts'
import { withoutSlash } from './issuer-url.ts'
import { createKeySet, type KeySet, type Keys } from './key-set.ts'
import { refuse } from './refuse.ts'

export interface JwtAuthenticatorOptions extends Pick<Deps, 'now' | 'log'> {
  readonly issuers: readonly IssuerConfig[]
  /** A way to servers that this CA (PEM) vouches for; undefined: those that the runtime trusts. */
  readonly getFor: (certificateAuthority: string | undefined) => Get
  /** For `exp` and `nbf` alike. More than two minutes are cut to two minutes. */
  readonly clockToleranceSeconds?: number
  readonly timeoutMs?: number
}

/** Asymmetric ones only (RFC 8725, sections 2.1 and 3.1): a published key verifies and can never sign. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]
const MAX_CLOCK_TOLERANCE_SECONDS = 120
const TIMEOUT_MS = 5000

/**
 * Knows the tokens of configured issuers by their signatures. Such a token is accepted or refused here, for good.
 * A token of any other issuer, and one that is no JWT, is left to the next authenticator. Keys come from the
 * configured addresses only: what a token's header says about keys (`jku`, `x5u`, `jwk`) is never looked at.
 */
export function createJwtAuthenticator(options: JwtAuthenticatorOptions): Authenticator {
  const { issuers, getFor, now, log, timeoutMs = TIMEOUT_MS } = options
  const byUrl = new Map(
    issuers.map((issuer) => {
      const get = getFor(issuer.certificateAuthority)
      return [issuer.url, { issuer, keySet: createKeySet({ issuer, get, now, log, timeoutMs }) }]
    }),
  )
  const tolerance = Math.min(options.clockToleranceSeconds ?? 30, MAX_CLOCK_TOLERANCE_SECONDS)

  return {
    name: 'jwt',
    async authenticate({ token, signal }) {
      if (token === undefined) return ok(undefined)
      const claimed = claimedIssuer(token)
      if (claimed === undefined) return ok(undefined)
      const known = byUrl.get(claimed)
      if (known !== undefined) return verify(token, { ...known, now, tolerance, signal })
      const alike = issuers.find(({ url }) => withoutSlash(url) === withoutSlash(claimed))
      if (alike !== undefined) {
        const hint = `tokens name it ${alike.url.endsWith('/') ? 'without' : 'with'} a slash at the end: configure it so`
        log('warn', 'issuer_slash_differs', { issuer: alike.url, hint })
      }
      return ok(undefined)
    },
  }
}

/** `iss` as the token has it, verified by nobody; undefined for what is no JWT. */
function claimedIssuer(token: string): string | undefined {
  try {
    return textAt(decodeJwt(token), 'iss')
  } catch {
    return undefined
  }
}

interface Verification {
  readonly issuer: IssuerConfig
  readonly keySet: KeySet
  readonly now: () => number
  readonly tolerance: number
  readonly signal: AbortSignal | undefined
}

async function verify(token: string, verification: Verification): Promise<Result<Caller>> {
  const { issuer, keySet, signal } = verification
  // Before any keys are read: a token that can never pass costs nobody a request.
  if (!ALGORITHMS.includes(textAt(headerOf(token), 'alg') ?? ''))
    return refuse('its algorithm is not accepted')

  const current = await keySet.current(signal)
  if (!current.ok) return current
  const first = await check(token, current.value, verification)
  if (first.ok || !first.mayNeedNewerKeys) return conclude(first, issuer)
  const newer = await keySet.newerThan(current.value, signal)
  if (!newer.ok) return newer
  return conclude(newer.value === undefined ? first : await check(token, newer.value, verification), issuer)
}

const conclude = (checked: Checked, issuer: IssuerConfig): Result<Caller> =>
  checked.ok ? callerFrom(checked.claims, issuer) : checked.refused

function headerOf(token: string): unknown {
  try {
    return decodeProtectedHeader(token)
  } catch {
    return undefined
  }
}

type Checked =
  | { readonly ok: true; readonly claims: Json }
  | { readonly ok: false; readonly refused: ReturnType<typeof refuse>; readonly mayNeedNewerKeys: boolean }

async function check(token: string, keys: Keys, verification: Verification): Promise<Checked> {
  const { issuer, now, tolerance } = verification
  const options: JWTVerifyOptions = {
    algorithms: ALGORITHMS,
    issuer: issuer.url,
    audience: [...issuer.audiences],
    requiredClaims: ['exp'],
    clockTolerance: tolerance,
    // biome-ignore lint/style/noRestrictedGlobals: wraps a given time, reads no clock
    currentDate: new Date(now()),
  }
  try {
    const { payload } = await jwtVerify(token, keys, options)
    return { ok: true, claims: payload }
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) return refusal(error, token, issuer)
    return tryEach(error, token, issuer, options)
  }
}

/** RFC 7515, section 4.1.4: `kid` is optional. Without one every key that fits may be the one. */
async function tryEach(
  candidates: InstanceType<typeof errors.JWKSMultipleMatchingKeys>,
  token: string,
  issuer: IssuerConfig,
  options: JWTVerifyOptions,
): Promise<Checked> {
  let last: unknown = candidates
  for await (const key of candidates) {
    try {
      const { payload } = await jwtVerify(token, key, options)
      return { ok: true, claims: payload }
    } catch (error) {
      last = error
      // Claims are looked at only after a signature that holds.
      if (isClaimError(error)) break
    }
  }
  return refusal(last, token, issuer)
}

/** Whatever jose throws refuses the token: its own errors, and the runtime's about a key that it cannot import. */
function refusal(error: unknown, token: string, { audiences }: IssuerConfig): Checked {
  const code = error instanceof errors.JOSEError ? error.code : 'its key cannot be used'
  const claim = isClaimError(error) ? error.claim : undefined
  const hint = claim === 'aud' ? askForAudience(audiences) : undefined
  const isUnknownKey = error instanceof errors.JWKSNoMatchingKey
  // Without `kid` nothing says that the key was replaced, except that no key verifies.
  const isUnnamedKey =
    error instanceof errors.JWSSignatureVerificationFailed && textAt(headerOf(token), 'kid') === undefined
  return {
    ok: false,
    refused: refuse(claim === undefined ? code : `${code}: ${claim}`, hint),
    mayNeedNewerKeys: isUnknownKey || isUnnamedKey,
  }
}

const isClaimError = (error: unknown): error is { readonly claim: string } =>
  error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired
