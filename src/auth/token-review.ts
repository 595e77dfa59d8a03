import { decodeJwt } from 'jose'
import type { Deps } from '../core/deps.ts'
import { textAt } from '../core/json.ts'
import { ok, type Result } from '../core/result.ts'
import { cutBytes } from '../core/text.ts'
import type { Kube, TokenReviewStatus } from '../k8s/kube.ts'
import { askForAudience, askForServiceAccountToken, audiencesOf } from './audience-hint.ts'
import type { Authenticator, Caller } from './authenticator.ts'
import { isAnonymous, isCleanName, withAuthenticated } from './identity.ts'
import { refuse } from './refuse.ts'

export interface TokenReviewAuthenticatorOptions extends Pick<Deps, 'log'> {
  readonly kube: Pick<Kube, 'reviewToken'>
  /** Sent with every review; a token for none of them is refused. */
  readonly audiences: readonly string[]
}

const MAX_ERROR_BYTES = 512
/** Shorter parts of a token tell nothing, and would be found in any text. */
const MIN_PART_LENGTH = 8

/**
 * Asks the cluster whose bearer token this is (`authentication.k8s.io/v1` TokenReview): so deleted ServiceAccounts
 * and tokens bound to deleted pods are noticed. Knows every token or refuses it; when the API server cannot answer,
 * that failure is the result, and nobody has been refused.
 */
export function createTokenReviewAuthenticator(options: TokenReviewAuthenticatorOptions): Authenticator {
  const { kube, audiences, log } = options
  return {
    name: 'token-review',
    async authenticate({ token, signal }) {
      if (token === undefined) return ok(undefined)
      const reviewed = await kube.reviewToken(token, audiences, signal === undefined ? {} : { signal })
      if (!reviewed.ok) return reviewed
      const { error } = reviewed.value
      if (error) log('info', 'token_review_error', { error: withoutToken(error, token) })
      return callerIn(reviewed.value, token, audiences)
    },
  }
}

/** An API server that knows nothing of audiences answers without any, for a token that was meant for someone else. */
function callerIn(status: TokenReviewStatus, token: string, wanted: readonly string[]): Result<Caller> {
  if (status.authenticated !== true) return refuse('the TokenReview says no', hintFor(token, wanted))
  if (!wanted.some((audience) => status.audiences.includes(audience))) {
    return refuse('the token is for another audience', hintOf(token, wanted))
  }
  const { username, groups, uid, extra } = status.user
  if (username === '') return refuse('the TokenReview names nobody')
  if (isAnonymous({ username, groups })) {
    return refuse('the TokenReview names the anonymous user')
  }
  if (![username, uid ?? '', ...groups].every(isCleanName)) {
    return refuse('a name in the TokenReview has white space or control characters')
  }
  return ok({ username, uid: uid || undefined, groups: withAuthenticated(groups), extra })
}

/** A hint only where the token itself says that it is for someone else: it helps with no other refusal. */
function hintFor(token: string, wanted: readonly string[]): string | undefined {
  const claims = claimsOf(token)
  const isForUs = audiencesOf(claims).some((audience) => wanted.includes(audience))
  return claims === undefined || isForUs ? undefined : hintOf(token, wanted)
}

const hintOf = (token: string, wanted: readonly string[]): string =>
  textAt(claimsOf(token), 'sub')?.startsWith('system:serviceaccount:')
    ? askForServiceAccountToken(wanted)
    : askForAudience(wanted)

/** Claims that nobody has verified: good for a hint to their holder, and for nothing else. */
function claimsOf(token: string): unknown {
  try {
    return decodeJwt(token)
  } catch {
    return undefined
  }
}

/** The API server's words, without any part of the token that they may quote. */
function withoutToken(error: string, token: string): string {
  const parts = [token, ...token.split('.').filter((part) => part.length >= MIN_PART_LENGTH)]
  const redacted = parts.reduce((text, part) => text.replaceAll(part, '[token]'), error)
  return cutBytes(redacted, MAX_ERROR_BYTES)
}
