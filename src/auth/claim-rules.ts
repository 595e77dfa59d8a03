import {
  checkKeys,
  childOf,
  duplicate,
  type Field,
  forbidden,
  invalid,
  isFilled,
  itemsOf,
  required,
  textOf,
} from './config-field.ts'

interface PrefixedClaim {
  readonly claim: string
  /** Put before every value. May be empty. */
  readonly prefix: string
}

/** What a token's claims must be and mean. */
export interface ClaimRules {
  readonly username: PrefixedClaim
  readonly groups: PrefixedClaim | undefined
  /** The claim that holds the uid. */
  readonly uid: string | undefined
  /** Claims that must be there with exactly this text. */
  readonly requiredClaims: ReadonlyMap<string, string>
}

const NO_CEL = 'CEL expressions are not supported'
const NEEDS_PREFIX =
  'prefix is required when claim is set. It can be set to an empty string to disable prefixing'

/**
 * Reads `claimMappings`, `claimValidationRules` and `userValidationRules` of one `jwt` entry. The rules are upstream's
 * (`k8s.io/apiserver/pkg/apis/apiserver/validation`), except that whatever needs CEL is refused.
 */
export function readClaimRules(entry: Field): ClaimRules {
  const mappings = childOf(entry, 'claimMappings')
  checkKeys(mappings, ['username', 'groups', 'uid', 'extra'])
  const username = childOf(mappings, 'username')
  const userRules = childOf(entry, 'userValidationRules')
  const extra = childOf(mappings, 'extra')
  // An extra mapping has nothing but a `valueExpression`.
  for (const field of [extra, userRules]) {
    if (itemsOf(field).length > 0) forbidden(field, NO_CEL)
  }
  if (!hasEither(username)) required(username, 'claim is required')
  return {
    username: readPrefixedClaim(username) ?? { claim: '', prefix: '' },
    groups: readPrefixedClaim(childOf(mappings, 'groups')),
    uid: readUid(childOf(mappings, 'uid')),
    requiredClaims: readRequiredClaims(childOf(entry, 'claimValidationRules')),
  }
}

function readPrefixedClaim(field: Field): PrefixedClaim | undefined {
  checkKeys(field, ['claim', 'prefix', 'expression'])
  refuseExpression(field)
  const prefixField = childOf(field, 'prefix')
  const claim = textOf(childOf(field, 'claim'))
  const prefix = textOf(prefixField)
  if (!claim) {
    if (prefix) forbidden(prefixField, 'may not be specified without claim')
    return undefined
  }
  if (prefixField.value === undefined) required(prefixField, NEEDS_PREFIX)
  if (prefix?.startsWith('system:')) {
    invalid(prefixField, 'names that begin with system: belong to Kubernetes')
  }
  return { claim, prefix: prefix ?? '' }
}

function readUid(field: Field): string | undefined {
  checkKeys(field, ['claim', 'expression'])
  refuseExpression(field)
  return textOf(childOf(field, 'claim')) || undefined
}

function readRequiredClaims(rules: Field): ReadonlyMap<string, string> {
  const claims = new Map<string, string>()
  for (const rule of itemsOf(rules)) {
    checkKeys(rule, ['claim', 'requiredValue', 'expression', 'message'])
    refuseExpression(rule)
    const claimField = childOf(rule, 'claim')
    const claim = textOf(claimField)
    const message = childOf(rule, 'message')
    if (isFilled(message)) invalid(message, 'may not be specified when claim is set', '<omitted>')
    if (!hasEither(rule)) required(rule, 'claim is required')
    if (!claim) continue
    if (claims.has(claim)) duplicate(claimField)
    // Upstream: with no requiredValue the claim must be there, and be the empty string.
    claims.set(claim, textOf(childOf(rule, 'requiredValue')) ?? '')
  }
  return claims
}

const hasEither = (field: Field): boolean =>
  isFilled(childOf(field, 'claim')) || isFilled(childOf(field, 'expression'))

function refuseExpression(field: Field): void {
  const expression = childOf(field, 'expression')
  if (isFilled(expression)) forbidden(expression, NO_CEL)
}
