import { type IssuerConfig, parseAuthenticationConfig } from './auth/authentication-config.ts'
import { ADMISSION_VARIABLES, type AdmissionConfig, readAdmission } from './config-admission.ts'
import { ANCHOR_VARIABLES, type Anchors, readAnchors } from './config-anchors.ts'
import { readSenders, SENDER_VARIABLES, type Senders } from './config-senders.ts'
import { readWebhookHosts, WEBHOOK_VARIABLES } from './config-webhooks.ts'
import type { LogLevel } from './core/deps.ts'
import { parseJson } from './core/json.ts'

/** Settings, read once, by an entry. README has a table of the variables behind them. */
export interface Config extends Senders, Anchors {
  /** The API group served, version `v1alpha1`. */
  readonly group: string
  /** Audiences that a token sent to a TokenReview must be for. */
  readonly audiences: readonly string[]
  readonly issuers: readonly IssuerConfig[]
  readonly clockToleranceSeconds: number
  readonly listenAddress: string | undefined
  readonly port: number
  readonly deadlineMs: number
  readonly kubeTimeoutMs: number
  readonly definitionsMaxAgeMs: number
  readonly drainMs: number
  /** How long an account is seen undeclared before its Secret is deleted, and how old a seed without a release may get. */
  readonly graceMs: number
  readonly logLevel: LogLevel
  readonly kubeUrl: string
  readonly kubeCaFile: string
  readonly kubeTokenFile: string
  /** The serving certificate. Undefined: plain HTTP. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
  /** Whether kube-apiserver's front proxy is believed. */
  readonly frontProxy: boolean
  readonly requestHeaderMaxAgeMs: number
  /** Undefined: nobody asks for metrics. */
  readonly metricsPort: number | undefined
  readonly admission: AdmissionConfig | undefined
  /** Where webhooks of definitions may be. */
  readonly webhookHosts: readonly string[]
}

export type Env = Readonly<Record<string, string | undefined>>

/** What a runtime adds to its environment variables. A worker has neither. */
export interface Host {
  readonly readText?: (path: string) => Promise<string>
  readonly parseYaml?: (text: string) => Promise<unknown>
  /** Issuers whose tokens go to a TokenReview and never to offline checks: the cluster's own. */
  readonly serviceAccountIssuers?: readonly string[]
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'
const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']
/** As far as its characters tell; whether this machine has the address, listening shows. */
const LISTEN_ADDRESS = /^(localhost|[\d.]+|[\da-fA-F:.]*:[\da-fA-F:.%a-z]*)$/
/** The token goes there: in the clear to this machine only. */
const KUBE_URL = /^(https:\/\/[^/?#@\s]+|http:\/\/(127(\.\d+){3}|localhost|\[::1\])(:\d+)?)$/
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/

/** Reads every setting before giving up: throws one Error that names each mistake, by its variable. */
export async function readConfig(env: Env, host: Host = {}): Promise<Config> {
  const problems: string[] = []
  const read = readersOf(env, problems)
  const issuers = await readIssuers(env, host, problems)
  const config: Config = {
    group: read.matching('MINTONCE_API_GROUP', 'core.cozystack.io', DNS_SUBDOMAIN, 'an API group'),
    audiences: read.list('MINTONCE_AUDIENCES', 'mintonce'),
    issuers,
    clockToleranceSeconds: read.whole('MINTONCE_CLOCK_TOLERANCE_SECONDS', 30, 0, 120),
    listenAddress: read.address('MINTONCE_LISTEN_ADDRESS'),
    port: read.whole('PORT', 8080, 0, 65_535),
    deadlineMs: read.whole('MINTONCE_DEADLINE_SECONDS', 20, 1, 50) * 1000,
    kubeTimeoutMs: read.whole('MINTONCE_KUBE_TIMEOUT_SECONDS', 5, 1, 30) * 1000,
    definitionsMaxAgeMs: read.whole('MINTONCE_DEFINITIONS_MAX_AGE_SECONDS', 30, 0, 30) * 1000,
    drainMs: read.whole('MINTONCE_DRAIN_SECONDS', 3, 0, 60) * 1000,
    graceMs: read.whole('MINTONCE_GRACE_SECONDS', 600, 1, 86_400) * 1000,
    logLevel: read.oneOf('MINTONCE_LOG_LEVEL', 'info', LOG_LEVELS),
    kubeUrl: read.matching(
      'MINTONCE_KUBE_URL',
      inClusterUrl(env),
      KUBE_URL,
      'https://host:port (http only to a loopback address)',
    ),
    kubeCaFile: env.MINTONCE_KUBE_CA_FILE || `${SERVICE_ACCOUNT}/ca.crt`,
    kubeTokenFile: env.MINTONCE_KUBE_TOKEN_FILE || `${SERVICE_ACCOUNT}/token`,
    tls: readTls(env, problems),
    frontProxy: read.oneOf('MINTONCE_FRONT_PROXY', 'off', ['off', 'on']) === 'on',
    requestHeaderMaxAgeMs: read.whole('MINTONCE_REQUEST_HEADER_MAX_AGE_SECONDS', 30, 1, 300) * 1000,
    metricsPort: env.MINTONCE_METRICS_PORT ? read.whole('MINTONCE_METRICS_PORT', 0, 0, 65_535) : undefined,
    admission: readAdmission(env, problems, !!env.MINTONCE_TLS_CERT_FILE),
    webhookHosts: readWebhookHosts(env, problems),
    ...readAnchors(env, problems),
    ...readSenders(env, problems),
  }
  if (config.frontProxy && config.tls === undefined)
    problems.push('MINTONCE_FRONT_PROXY: needs MINTONCE_TLS_CERT_FILE: only TLS shows who the proxy is')
  if (config.deadlineMs <= 2 * config.kubeTimeoutMs) {
    problems.push('MINTONCE_DEADLINE_SECONDS: must be more than twice MINTONCE_KUBE_TIMEOUT_SECONDS')
  }
  problems.push(...unknownVariables(env))
  if (problems.length > 0) throw new Error(`bad configuration:\n  ${problems.join('\n  ')}`)
  return config
}

const KNOWN: ReadonlySet<string> = new Set([
  'MINTONCE_API_GROUP',
  'MINTONCE_AUDIENCES',
  'MINTONCE_AUTHENTICATION_CONFIG',
  'MINTONCE_AUTHENTICATION_CONFIG_FILE',
  'MINTONCE_KEY_SET_URLS',
  'MINTONCE_CLOCK_TOLERANCE_SECONDS',
  'MINTONCE_LISTEN_ADDRESS',
  'MINTONCE_DEADLINE_SECONDS',
  'MINTONCE_KUBE_TIMEOUT_SECONDS',
  'MINTONCE_DEFINITIONS_MAX_AGE_SECONDS',
  'MINTONCE_DRAIN_SECONDS',
  'MINTONCE_GRACE_SECONDS',
  'MINTONCE_LOG_LEVEL',
  'MINTONCE_KUBE_URL',
  'MINTONCE_KUBE_CA_FILE',
  'MINTONCE_KUBE_TOKEN_FILE',
  'MINTONCE_TLS_CERT_FILE',
  'MINTONCE_TLS_KEY_FILE',
  'MINTONCE_FRONT_PROXY',
  'MINTONCE_REQUEST_HEADER_MAX_AGE_SECONDS',
  'MINTONCE_METRICS_PORT',
  ...ADMISSION_VARIABLES,
  ...ANCHOR_VARIABLES,
  ...SENDER_VARIABLES,
  ...WEBHOOK_VARIABLES,
])

/** A misspelt variable would silently leave a default in force. Service links of a pod (`MINTONCE_PORT…`) are none. */
const unknownVariables = (env: Env): readonly string[] =>
  Object.keys(env)
    .filter(
      (name) =>
        name.startsWith('MINTONCE_') && !KNOWN.has(name) && !/^MINTONCE_(SERVICE|PORT)(_|$)/.test(name),
    )
    .map((name) => `${name}: there is no such setting`)

/** The variables that the kubelet sets; an IPv6 address needs brackets in a URL (RFC 3986, section 3.2.2). */
function inClusterUrl({ KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port }: Env): string {
  if (host === undefined) return 'https://kubernetes.default.svc'
  return `https://${host.includes(':') ? `[${host}]` : host}:${port ?? '443'}`
}

function readTls(env: Env, problems: string[]): Config['tls'] {
  const certFile = env.MINTONCE_TLS_CERT_FILE || undefined
  const keyFile = env.MINTONCE_TLS_KEY_FILE || undefined
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile }
  if (certFile !== undefined)
    problems.push('MINTONCE_TLS_KEY_FILE: must be set beside MINTONCE_TLS_CERT_FILE')
  if (keyFile !== undefined) problems.push('MINTONCE_TLS_CERT_FILE: must be set beside MINTONCE_TLS_KEY_FILE')
  return undefined
}

function readersOf(env: Env, problems: string[]) {
  const text = (name: string, fallback: string): string => env[name] || fallback
  return {
    matching: (name: string, fallback: string, pattern: RegExp, what: string): string => {
      const value = text(name, fallback)
      if (!pattern.test(value)) problems.push(`${name}: must be ${what}, such as ${fallback}`)
      return value
    },
    list: (name: string, fallback: string): readonly string[] => {
      const items = text(name, fallback)
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '')
      if (items.length === 0) problems.push(`${name}: must name at least one, separated by commas`)
      return items
    },
    whole: (name: string, fallback: number, min: number, max: number): number => {
      const value = text(name, String(fallback))
      const number = /^\d+$/.test(value) ? Number(value) : Number.NaN
      if (number >= min && number <= max) return number
      problems.push(`${name}: must be a whole number from ${min} to ${max}`)
      return fallback
    },
    address: (name: string): string | undefined => {
      const value = env[name] || undefined
      if (value !== undefined && !LISTEN_ADDRESS.test(value))
        problems.push(`${name}: must be an IP address or localhost`)
      return value
    },
    oneOf: <T extends string>(name: string, fallback: T, choices: readonly T[]): T => {
      const chosen = choices.find((choice) => choice === text(name, fallback))
      if (chosen === undefined) problems.push(`${name}: must be one of ${choices.join(', ')}`)
      return chosen ?? fallback
    },
  }
}

async function readIssuers(env: Env, host: Host, problems: string[]): Promise<readonly IssuerConfig[]> {
  const options = {
    keySetUrls: readKeySetUrls(env, problems),
    serviceAccountIssuers: host.serviceAccountIssuers ?? [],
  }
  const inline = env.MINTONCE_AUTHENTICATION_CONFIG || undefined
  const file = env.MINTONCE_AUTHENTICATION_CONFIG_FILE || undefined
  if (inline !== undefined && file !== undefined) {
    problems.push('MINTONCE_AUTHENTICATION_CONFIG: set this or MINTONCE_AUTHENTICATION_CONFIG_FILE, not both')
  }
  if (inline === undefined && file === undefined) return []
  const name = inline === undefined ? 'MINTONCE_AUTHENTICATION_CONFIG_FILE' : 'MINTONCE_AUTHENTICATION_CONFIG'
  try {
    const parsed = parseAuthenticationConfig(await readDocument(inline, file, host), options)
    if (parsed.ok) return parsed.issuers
    problems.push(...parsed.problems.map((problem) => `${name}: ${problem}`))
  } catch (error) {
    problems.push(`${name}: ${error instanceof Error ? error.message : 'cannot be read'}`)
  }
  return []
}

/** JSON, or YAML where the runtime has a parser for it. */
async function readDocument(
  inline: string | undefined,
  file: string | undefined,
  host: Host,
): Promise<unknown> {
  const { readText = noFiles, parseYaml = noYaml } = host
  const text = inline ?? (await readText(file ?? ''))
  return parseJson(text) ?? (await parseYaml(text))
}

const noFiles = () =>
  Promise.reject(new Error('this runtime has no files: use MINTONCE_AUTHENTICATION_CONFIG'))
const noYaml = () => Promise.reject(new Error('must be JSON'))

/** `issuer=address` pairs: where an issuer's keys are really read. */
function readKeySetUrls(env: Env, problems: string[]): ReadonlyMap<string, string> {
  const pairs = (env.MINTONCE_KEY_SET_URLS ?? '').split(/\s+/).filter((pair) => pair !== '')
  const urls = new Map<string, string>()
  for (const pair of pairs) {
    const [issuer, address] = splitAtLast(pair, '=https://')
    if (issuer === '' || !URL.canParse(address)) {
      problems.push(
        'MINTONCE_KEY_SET_URLS: must be pairs of https://issuer=https://address, separated by spaces',
      )
    }
    urls.set(issuer, address)
  }
  return urls
}

function splitAtLast(text: string, separator: string): readonly [string, string] {
  const index = text.lastIndexOf(separator)
  return index < 0 ? ['', ''] : [text.slice(0, index), text.slice(index + 1)]
}
