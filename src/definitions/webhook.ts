import type { Deps } from '../core/deps.ts'
import { isObject, type Json, own } from '../core/json.ts'
import { certificatesIn } from '../core/pem.ts'
import { decodeData } from '../core/text.ts'
import { isDnsLabel } from '../k8s/names.ts'
import { CLUSTER_SERVICES, hostProblem, isListed, plainHost, type WebhookHosts } from './webhook-hosts.ts'

/** A webhook of a definition, checked. */
export interface Webhook {
  readonly url: string
  /** Who answers there, by the certificate. */
  readonly host: string
  /** PEM. Undefined: the authorities that the system trusts. */
  readonly ca: string | undefined
  readonly timeoutMs: number
  /** The configuration names the host itself: it may lead to this machine or to the link. */
  readonly mayBeLocal: boolean
}

/** One exchange. `response` is an object whose `uid` is the request's; `why` is in our own words. */
export type Asked =
  | { readonly ok: true; readonly response: Json }
  | { readonly ok: false; readonly why: string }

export interface Review {
  readonly kind: 'AccountReview' | 'FormatReview'
  /** What is asked, beside the uid. */
  readonly request: Json
}

/** How this process calls webhooks. */
export interface Webhooks {
  readonly hosts: WebhookHosts
  /** Why this runtime can call none; undefined when it can. */
  readonly unable?: string
  readonly ask: (webhook: Webhook, review: Review, signal?: AbortSignal) => Promise<Asked>
}

/** For whoever only reads definitions. */
export const NO_WEBHOOKS: Webhooks = {
  hosts: CLUSTER_SERVICES,
  unable: 'webhooks are not called here',
  ask: async () => ({ ok: false, why: 'webhooks are not called here' }),
}

export type ReadWebhook = { readonly ok: true; readonly webhook: Webhook; readonly block: Json } | Problem
type Problem = { readonly ok: false; readonly field: string; readonly problem: string }

/** What a source or a format that calls webhooks is made with. */
export interface WebhookContext {
  /** The definition that names it, for messages. */
  readonly definition: string
  readonly webhooks: Webhooks
}

export type Randomness = Pick<Deps, 'randomBytes'>

const problem = (field: string, problem: string): Problem => ({ ok: false, field, problem })

const DEFAULT_SECONDS = 5
const MAX_SECONDS = 10

/**
 * A `webhook` block with its `clientConfig`, as in `admissionregistration.k8s.io/v1`, and `timeoutSeconds`; `more` are the
 * fields that only this use of it has. Closed: unknown fields, hosts that may not be called and a runtime that could not
 * check who answers are problems.
 */
export function readWebhook(
  value: unknown,
  path: string,
  { hosts, unable }: Webhooks,
  more: readonly string[],
): ReadWebhook {
  if (!isObject(value)) return problem(path, 'required: an object such as {clientConfig: {service: …}}')
  const unknown = unknownIn(value, ['clientConfig', 'timeoutSeconds', ...more], path)
  if (unknown !== undefined) return unknown
  const seconds = own(value, 'timeoutSeconds') ?? DEFAULT_SECONDS
  if (!isWhole(seconds, 1, MAX_SECONDS)) {
    return problem(`${path}.timeoutSeconds`, `must be a whole number from 1 to ${MAX_SECONDS}`)
  }
  const where = `${path}.clientConfig`
  const config = own(value, 'clientConfig')
  if (!isObject(config)) return problem(where, 'required: an object with service or url')
  const strange = unknownIn(config, ['service', 'url', 'caBundle'], where)
  if (strange !== undefined) return strange
  const address = readAddress(config, where, hosts)
  if (!address.ok) return address
  const ca = readAuthorities(own(config, 'caBundle'), `${where}.caBundle`)
  if (!ca.ok) return ca
  if (unable !== undefined) return problem(where, unable)
  const { url, host } = address
  const webhook = { url, host, ca: ca.ca, timeoutMs: seconds * 1000, mayBeLocal: isListed(host, hosts) }
  return { ok: true, webhook, block: value }
}

type Address = { readonly ok: true; readonly url: string; readonly host: string } | Problem

function readAddress(config: Json, where: string, hosts: WebhookHosts): Address {
  const service = own(config, 'service')
  const url = own(config, 'url')
  if ((service === undefined) === (url === undefined)) {
    return problem(where, 'exactly one of service and url is required')
  }
  const at = service === undefined ? `${where}.url` : `${where}.service`
  const read = service === undefined ? readUrl(url, at) : readService(service, at)
  if (!read.ok) return read
  const refused = hostProblem(read.host, hosts)
  return refused === undefined ? read : problem(at, refused)
}

/** As kube-apiserver takes one (`k8s.io/apiserver/pkg/util/webhook/validation.go`): no user, query or fragment. */
function readUrl(value: unknown, at: string): Address {
  if (typeof value !== 'string' || !URL.canParse(value)) return problem(at, 'must be an https URL')
  const { protocol, username, password, hostname } = new URL(value)
  if (protocol !== 'https:' || hostname === '') return problem(at, 'must be an https URL')
  if (username !== '' || password !== '' || /[?#@\s\\]/.test(value)) {
    return problem(at, 'must have no user, query or fragment')
  }
  return { ok: true, url: value, host: plainHost(hostname) }
}

function readService(value: unknown, at: string): Address {
  if (!isObject(value)) return problem(at, 'must be an object with namespace and name')
  const unknown = unknownIn(value, ['namespace', 'name', 'port', 'path'], at)
  if (unknown !== undefined) return unknown
  for (const field of ['namespace', 'name']) {
    const name = own(value, field)
    if (typeof name !== 'string' || !isDnsLabel(name)) return problem(`${at}.${field}`, 'must be a DNS label')
  }
  const port = own(value, 'port') ?? 443
  if (!isWhole(port, 1, 65_535)) return problem(`${at}.port`, 'must be a port')
  const path = own(value, 'path') ?? '/'
  const host = `${own(value, 'name')}.${own(value, 'namespace')}.svc`
  const url = `https://${host}:${port}${path}`
  // What a URL would read as anything but this path of this host is no path.
  if (typeof path !== 'string' || !path.startsWith('/') || !isPathOf(url, path)) {
    return problem(`${at}.path`, 'must be a plain absolute path')
  }
  return { ok: true, url, host }
}

const isPathOf = (url: string, path: string): boolean => {
  if (!URL.canParse(url)) return false
  const { pathname, search, hash } = new URL(url)
  return pathname === path && search === '' && hash === '' && !/[?#]/.test(path)
}

type Authorities = { readonly ok: true; readonly ca: string | undefined } | Problem

function readAuthorities(value: unknown, at: string): Authorities {
  if (value === undefined) return { ok: true, ca: undefined }
  const pem = typeof value === 'string' ? decodeData(value) : undefined
  if (pem === undefined || certificatesIn(pem) === undefined) {
    return problem(at, 'must be certificates, PEM in base64')
  }
  return { ok: true, ca: pem }
}

function unknownIn(value: Json, fields: readonly string[], path: string): Problem | undefined {
  const unknown = Object.keys(value).find((field) => !fields.includes(field))
  return unknown === undefined ? undefined : problem(`${path}.${unknown}`, 'unknown field')
}

const isWhole = (value: unknown, min: number, max: number): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
