import { type Json, own } from '../core/json.ts'
import { ok, type Result } from '../core/result.ts'
import type { IssuerConfig } from './authentication-config.ts'
import type { Caller } from './authenticator.ts'
import type { ClaimRules } from './claim-rules.ts'
import { isCleanName, withAuthenticated } from './identity.ts'
import { refuse } from './refuse.ts'

type Rules = Pick<IssuerConfig, keyof ClaimRules>

/**
 * Who the verified claims of a token say is calling, by kube-apiserver's rules (`k8s.io/apiserver`, the `oidc`
 * authenticator), and stricter in two: no name of Kubernetes' own (`system:`), and none that reads differently
 * elsewhere. What is wrong with one group is wrong with the token: a caller never has only some of its groups.
 */
export function callerFrom(claims: Json, rules: Rules): Result<Caller> {
  if (isServiceAccountToken(claims)) {
    return refuse('it is a ServiceAccount token, and its issuer must not be configured: see TokenReview')
  }
  const missing = missingClaim(claims, rules.requiredClaims)
  if (missing !== undefined) return refuse(`the claim ${missing} has not the required value`)
  const username = usernameFrom(claims, rules.username)
  if (!username.ok) return username
  const groups = groupsFrom(claims, rules.groups)
  if (!groups.ok) return groups
  const uid = uidFrom(claims, rules.uid)
  if (!uid.ok) return uid
  return ok({
    username: username.value,
    uid: uid.value,
    groups: withAuthenticated(groups.value),
    extra: {},
  })
}

/**
 * `kubernetes.io`, or `kubernetes.io/serviceaccount/…` in the tokens of Secrets. They are revoked by deleting what
 * they are bound to, and a signature knows nothing of that (KEP-1205).
 */
const isServiceAccountToken = (claims: Json): boolean =>
  Object.keys(claims).some((claim) => claim === 'kubernetes.io' || claim.startsWith('kubernetes.io/'))

const missingClaim = (claims: Json, required: ReadonlyMap<string, string>): string | undefined =>
  [...required.keys()].find((claim) => own(claims, claim) !== required.get(claim))

function usernameFrom(claims: Json, { claim, prefix }: Rules['username']): Result<string> {
  const value = own(claims, claim)
  if (typeof value !== 'string' || value === '') return refuse(`the claim ${claim} holds no username`)
  // OpenID Connect Core 1.0, section 5.1: only then has the issuer made sure that the address is the caller's.
  const isUnverified = Object.hasOwn(claims, 'email_verified') && own(claims, 'email_verified') !== true
  if (claim === 'email' && isUnverified) return refuse('email_verified is not true')
  return named(claim, prefix, value)
}

/** Some issuers send one group as a text and not as a list. */
function groupsFrom(claims: Json, mapping: Rules['groups']): Result<readonly string[]> {
  if (mapping === undefined) return ok([])
  const { claim, prefix } = mapping
  const value = own(claims, claim) ?? []
  const groups: string[] = []
  for (const group of Array.isArray(value) ? value : [value]) {
    if (typeof group !== 'string') return refuse(`the claim ${claim} is neither a text nor a list of texts`)
    if (group === '') continue
    const name = named(claim, prefix, group)
    if (!name.ok) return name
    groups.push(name.value)
  }
  return ok(groups)
}

function uidFrom(claims: Json, claim: string | undefined): Result<string | undefined> {
  if (claim === undefined) return ok(undefined)
  const value = own(claims, claim)
  if (typeof value !== 'string' || value === '') return refuse(`the claim ${claim} holds no uid`)
  return isCleanName(value) ? ok(value) : refuse(`the claim ${claim} has white space or control characters`)
}

/** The value itself must be clean too: a prefix would hide white space at its beginning. */
function named(claim: string, prefix: string, value: string): Result<string> {
  const name = `${prefix}${value}`
  if (!isCleanName(value) || !isCleanName(name)) {
    return refuse(`the claim ${claim} has white space or control characters`)
  }
  return name.startsWith('system:') ? refuse(`the claim ${claim} holds a name in system:`) : ok(name)
}
