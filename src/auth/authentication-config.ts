import { certificatesIn } from '../core/pem.ts'
import { type ClaimRules, readClaimRules } from './claim-rules.ts'
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
import { hasCredentials, isClusterHost, isSecure, urlOf, withoutSlash } from './issuer-url.ts'

/** An issuer of tokens that are checked here, without asking the cluster. */
export interface IssuerConfig extends ClaimRules {
  /** Compared with a token's `iss` character by character. */
  readonly url: string
  /** Where the discovery document is read when it is not at its well-known place. */
  readonly discoveryUrl: string | undefined
  /** Where the keys are read, whatever a discovery document says. */
  readonly keySetUrl: string | undefined
  /** PEM. Undefined: the authorities that the runtime trusts. */
  readonly certificateAuthority: string | undefined
  /** A token must be for one of these. */
  readonly audiences: readonly string[]
}

export interface AuthenticationConfigOptions {
  /** Addresses of key sets, by `jwt[].issuer.url`. The upstream shape has no field for one. */
  readonly keySetUrls?: ReadonlyMap<string, string>
  /** Issuers whose tokens are the cluster's to check, beside the names that every cluster gives itself. */
  readonly serviceAccountIssuers?: readonly string[]
  /** Accepts `http` on loopback addresses. For tests and local development. */
  readonly allowLoopbackHttp?: boolean
}

export type ParsedAuthenticationConfig =
  | { readonly ok: true; readonly issuers: readonly IssuerConfig[] }
  | { readonly ok: false; readonly problems: readonly string[] }

const API_VERSIONS = ['apiserver.config.k8s.io/v1', 'apiserver.config.k8s.io/v1beta1']
const MAX_ISSUERS = 64

/**
 * Reads a kube-apiserver `AuthenticationConfiguration` with upstream's rules
 * (`k8s.io/apiserver/pkg/apis/apiserver/validation`), so that one file means the same people in both places. Refused,
 * where upstream accepts: CEL, anonymous access, prefixes in `system:`, and the cluster's own ServiceAccount issuer,
 * whose tokens only a TokenReview can know to be revoked. Every mistake is named, by its path.
 */
export function parseAuthenticationConfig(
  document: unknown,
  options: AuthenticationConfigOptions = {},
): ParsedAuthenticationConfig {
  const problems: string[] = []
  const root: Field = { path: '', value: document ?? '', problems }
  if (!checkKeys(root, ['apiVersion', 'kind', 'jwt', 'anonymous'])) return { ok: false, problems }
  checkType(root)
  checkAnonymous(childOf(root, 'anonymous'))
  const entries = itemsOf(childOf(root, 'jwt'))
  if (entries.length > MAX_ISSUERS) {
    problems.push(`jwt: Too many: ${entries.length}: must have at most ${MAX_ISSUERS} items`)
  }
  const issuers = entries.slice(0, MAX_ISSUERS).map((entry) => readIssuer(entry, options))
  refuseDuplicates(entries, 'url')
  refuseDuplicates(entries, 'discoveryURL')
  checkKeySetUrls(issuers, options, problems)
  return problems.length === 0 ? { ok: true, issuers } : { ok: false, problems }
}

function checkType(root: Field): void {
  const apiVersion = childOf(root, 'apiVersion')
  const kind = childOf(root, 'kind')
  if (!API_VERSIONS.includes(textOf(apiVersion) ?? '')) {
    invalid(apiVersion, `must be ${API_VERSIONS.join(' or ')}`, apiVersion.value ?? '')
  }
  if (textOf(kind) !== 'AuthenticationConfiguration') {
    invalid(kind, 'must be AuthenticationConfiguration', kind.value ?? '')
  }
}

/** No credential is ever served to an unnamed caller, so a file that asks for it is not read as if it did not. */
function checkAnonymous(field: Field): void {
  checkKeys(field, ['enabled', 'conditions'])
  const enabled = childOf(field, 'enabled')
  const conditions = childOf(field, 'conditions')
  if (enabled.value !== undefined && enabled.value !== false) {
    invalid(enabled, 'anonymous access is not supported')
  }
  if (isFilled(conditions)) forbidden(conditions, 'anonymous access is not supported')
}

function readIssuer(entry: Field, options: AuthenticationConfigOptions): IssuerConfig {
  if (entry.value === undefined) required(entry)
  checkKeys(entry, ['issuer', 'claimMappings', 'claimValidationRules', 'userValidationRules'])
  const issuer = childOf(entry, 'issuer')
  checkKeys(issuer, ['url', 'discoveryURL', 'certificateAuthority', 'audiences', 'audienceMatchPolicy'])
  const url = readIssuerUrl(childOf(issuer, 'url'), options)
  return {
    url,
    discoveryUrl: readDiscoveryUrl(childOf(issuer, 'discoveryURL'), url, options),
    keySetUrl: options.keySetUrls?.get(url),
    certificateAuthority: readCertificates(childOf(issuer, 'certificateAuthority')),
    audiences: readAudiences(childOf(issuer, 'audiences'), childOf(issuer, 'audienceMatchPolicy')),
    ...readClaimRules(entry),
  }
}

function readIssuerUrl(field: Field, options: AuthenticationConfigOptions): string {
  const text = textOf(field)
  if (!text) {
    if (!isFilled(field)) required(field)
    return ''
  }
  const url = checkUrl(field, text, options)
  const own = (options.serviceAccountIssuers ?? []).map(withoutSlash)
  if ((url !== undefined && isClusterHost(url)) || own.includes(withoutSlash(text))) {
    invalid(field, "URL must not be the cluster's ServiceAccount issuer: a TokenReview checks those tokens")
  }
  return text
}

function readDiscoveryUrl(
  field: Field,
  issuer: string,
  options: AuthenticationConfigOptions,
): string | undefined {
  const text = textOf(field)
  if (!text) return undefined
  checkUrl(field, text, options)
  if (withoutSlash(text) === withoutSlash(issuer)) invalid(field, 'discoveryURL must be different from URL')
  return text
}

function checkUrl(field: Field, text: string, options: AuthenticationConfigOptions): URL | undefined {
  const url = urlOf(text)
  if (url === undefined) {
    invalid(field, 'must be an absolute URL')
    return undefined
  }
  if (hasCredentials(url)) {
    invalid(field, 'URL must not contain a username or password', '<omitted>')
    return url
  }
  if (!isSecure(url, options.allowLoopbackHttp === true)) invalid(field, 'URL scheme must be https')
  if (text.includes('?')) invalid(field, 'URL must not contain a query')
  if (text.includes('#')) invalid(field, 'URL must not contain a fragment')
  return url
}

function readAudiences(field: Field, policyField: Field): readonly string[] {
  const items = itemsOf(field)
  const policy = textOf(policyField) ?? ''
  if (items.length === 0 && !isFilled(field)) required(field, `at least one ${field.path} is required`)
  const audiences = items.map((item) => {
    const audience = textOf(item) ?? ''
    if (!isFilled(item)) required(item)
    return audience
  })
  for (const [index, item] of items.entries()) {
    if (audiences.indexOf(audiences[index] ?? '') < index) duplicate(item)
  }
  if (items.length > 1 && policy !== 'MatchAny') {
    invalid(policyField, 'audienceMatchPolicy must be MatchAny for multiple audiences', policy)
  }
  if (items.length === 1 && policy !== '' && policy !== 'MatchAny') {
    invalid(policyField, 'audienceMatchPolicy must be empty or MatchAny for single audience')
  }
  return audiences
}

function readCertificates(field: Field): string | undefined {
  const text = textOf(field)
  if (!text) return undefined
  if (certificatesIn(text) === undefined) invalid(field, 'must be certificates in PEM', '<omitted>')
  return text
}

function refuseDuplicates(entries: readonly Field[], key: 'url' | 'discoveryURL'): void {
  const seen = new Set<unknown>()
  for (const entry of entries) {
    const field = childOf(childOf(entry, 'issuer'), key)
    if (isFilled(field) && seen.has(field.value)) duplicate(field)
    seen.add(field.value)
  }
}

/** A misspelt issuer would silently leave the keys to discovery. */
function checkKeySetUrls(
  issuers: readonly IssuerConfig[],
  { keySetUrls = new Map(), allowLoopbackHttp = false }: AuthenticationConfigOptions,
  problems: string[],
): void {
  for (const [issuer, address] of keySetUrls) {
    const shown = JSON.stringify(issuer)
    const url = urlOf(address)
    if (!issuers.some(({ url: configured }) => configured === issuer)) {
      problems.push(`address of a key set: ${shown} is not the issuer.url of any entry of jwt`)
    }
    if (url === undefined || !isSecure(url, allowLoopbackHttp)) {
      problems.push(`address of the key set of ${shown}: URL scheme must be https`)
    } else if (hasCredentials(url)) {
      problems.push(`address of the key set of ${shown}: URL must not contain a username or password`)
    }
  }
}
