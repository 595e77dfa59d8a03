import { parseJson, textAt, textsOf } from '../core/json.ts'
import { certificatesIn } from '../core/pem.ts'

/**
 * Whom kube-apiserver's front proxy is known by and how it names a caller: what it publishes in the ConfigMap
 * `kube-system/extension-apiserver-authentication`. Header names are in lower case.
 */
export interface RequestHeaderConfig {
  /** PEM: who vouches for the front proxy's client certificate. */
  readonly authority: string
  /** Common names that such a certificate may have. Never empty. */
  readonly allowedNames: readonly string[]
  readonly usernameHeaders: readonly string[]
  readonly uidHeaders: readonly string[]
  readonly groupHeaders: readonly string[]
  readonly extraHeaderPrefixes: readonly string[]
}

export type ParsedRequestHeader =
  | { readonly ok: true; readonly config: RequestHeaderConfig }
  | { readonly ok: false; readonly problems: readonly string[] }

const AUTHORITY = 'requestheader-client-ca-file'
const CLIENT_AUTHORITY = 'client-ca-file'
const ALLOWED_NAMES = 'requestheader-allowed-names'
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/**
 * Reads the ConfigMap's `data` (keys of `k8s.io/kubernetes/pkg/controlplane/controller/clusterauthenticationtrust`).
 * Stricter than upstream in two points, where the headers of a stranger would be believed: no allowed name means "any"
 * there, and an authority that also signs the certificates of people lets each of them be anybody.
 */
export function parseRequestHeader(data: unknown): ParsedRequestHeader {
  const problems: string[] = []
  const config = {
    authority: readAuthority(data, problems),
    allowedNames: readTexts(data, ALLOWED_NAMES, problems),
    usernameHeaders: readHeaders(data, 'requestheader-username-headers', problems),
    uidHeaders: readHeaders(data, 'requestheader-uid-headers', problems),
    groupHeaders: readHeaders(data, 'requestheader-group-headers', problems),
    extraHeaderPrefixes: readHeaders(data, 'requestheader-extra-headers-prefix', problems),
  }
  if (config.allowedNames.length === 0) {
    problems.push(`${ALLOWED_NAMES}: is empty: every certificate of that authority could name any caller`)
  }
  if (config.usernameHeaders.length === 0) problems.push('requestheader-username-headers: is empty')
  return problems.length === 0 ? { ok: true, config } : { ok: false, problems }
}

function readAuthority(values: unknown, problems: string[]): string {
  const text = textIn(values, AUTHORITY)
  const certificates = certificatesIn(text)
  if (certificates === undefined) {
    problems.push(`${AUTHORITY}: ${text === '' ? 'is empty' : 'must be certificates in PEM'}`)
    return ''
  }
  const others = new Set(certificatesIn(textIn(values, CLIENT_AUTHORITY)) ?? [])
  if (certificates.some((certificate) => others.has(certificate))) {
    problems.push(
      `${AUTHORITY}: is also in ${CLIENT_AUTHORITY}: whoever has a client certificate could name any caller`,
    )
  }
  return text
}

/** A JSON list of texts; a key that is absent is an empty one. */
function readTexts(values: unknown, key: string, problems: string[]): readonly string[] {
  const text = textIn(values, key)
  if (text === '') return []
  const parsed = parseJson(text)
  const texts = textsOf(parsed)
  if (!Array.isArray(parsed) || texts.length < parsed.length || texts.includes('')) {
    problems.push(`${key}: must be a JSON list of texts`)
  }
  return texts
}

function readHeaders(values: unknown, key: string, problems: string[]): readonly string[] {
  const names = readTexts(values, key, problems)
  if (!names.every((name) => HEADER_NAME.test(name))) problems.push(`${key}: must be names of HTTP headers`)
  return names.map((name) => name.toLowerCase())
}

const textIn = (values: unknown, key: string): string => textAt(values, key) ?? ''
