import { createLocalJWKSet, type JSONWebKeySet } from 'jose'
import type { Deps } from '../core/deps.ts'
import type { Get } from '../core/http.ts'
import { at, isObject, textAt } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { createShare } from '../core/share.ts'
import type { IssuerConfig } from './authentication-config.ts'
import { type FetchedJson, getJson } from './get-json.ts'
import { hasCredentials, isSecure, urlOf, wellKnownUrl } from './issuer-url.ts'

export type Keys = ReturnType<typeof createLocalJWKSet>

/** The keys of one issuer, read when they are first needed. */
export interface KeySet {
  /** Fails with `issuer_unavailable` when there are none to be had, `caller_gone` when the caller stopped waiting. */
  readonly current: (signal?: AbortSignal) => Promise<Result<Keys>>
  /** Keys read after these: for a token whose key is not among them. Undefined when these are fresh. */
  readonly newerThan: (keys: Keys, signal?: AbortSignal) => Promise<Result<Keys | undefined>>
}

export interface KeySetOptions extends Pick<Deps, 'now' | 'log'> {
  readonly issuer: Pick<IssuerConfig, 'url' | 'discoveryUrl' | 'keySetUrl'>
  readonly get: Get
  /** For the discovery document and the key set together. */
  readonly timeoutMs: number
}

/** A key that an issuer withdraws is accepted for this long at most. */
const MAX_AGE_MS = 10 * 60 * 1000
/** Tokens that name unknown keys make the set be read again at most this often. */
const UNKNOWN_KEY_COOL_DOWN_MS = 30 * 1000
/** An issuer that failed is left alone for this long. */
const FAILURE_COOL_DOWN_MS = 5 * 1000

interface Loaded {
  readonly keys: Keys
  readonly since: number
}

interface State {
  loaded?: Loaded
  failed?: { readonly why: string; readonly since: number }
}

/**
 * Keeps an issuer's keys in memory. Not jose's own remote set: that one reads the system's clock, discovers nothing,
 * and leaves redirects and sizes to its fetch. Stale keys are never used, not even while the issuer is away.
 */
export function createKeySet(options: KeySetOptions): KeySet {
  const { issuer, now, log, timeoutMs } = options
  const state: State = {}
  const share = createShare<Result<Keys>>({ now, timeoutMs })
  const unavailable = (why: string) =>
    fail({ reason: 'issuer_unavailable', issuer: issuer.url, why }) satisfies Result<Keys>
  /** A clock that was set back makes nothing younger. */
  const isWithin = (since: number, ageMs: number): boolean => now() >= since && now() < since + ageMs

  async function read(since: number): Promise<Result<Keys>> {
    const found = await readKeys(options)
    if (found.ok) {
      state.loaded = { keys: found.keys, since }
      log('info', 'issuer_keys_read', { issuer: issuer.url })
    } else {
      state.failed = { why: found.why, since: now() }
      log('warn', 'issuer_unavailable', { issuer: issuer.url, why: found.why })
    }
    return found.ok ? ok(found.keys) : unavailable(found.why)
  }

  async function load(signal: AbortSignal | undefined): Promise<Result<Keys>> {
    const { failed } = state
    if (failed !== undefined && isWithin(failed.since, FAILURE_COOL_DOWN_MS)) return unavailable(failed.why)
    const first = await share(() => read(now()), signal)
    if (first !== undefined) return first
    return signal?.aborted ? fail({ reason: 'caller_gone' }) : unavailable('did not answer in time')
  }

  return {
    async current(signal) {
      const { loaded } = state
      return loaded !== undefined && isWithin(loaded.since, MAX_AGE_MS) ? ok(loaded.keys) : load(signal)
    },
    async newerThan(keys, signal) {
      const { loaded } = state
      if (loaded !== undefined && loaded.keys !== keys) return ok(loaded.keys)
      if (loaded !== undefined && isWithin(loaded.since, UNKNOWN_KEY_COOL_DOWN_MS)) return ok(undefined)
      return load(signal)
    },
  }
}

type FoundKeys = { readonly ok: true; readonly keys: Keys } | { readonly ok: false; readonly why: string }

async function readKeys({ issuer, get, timeoutMs }: KeySetOptions): Promise<FoundKeys> {
  const signal = AbortSignal.timeout(timeoutMs)
  const address = issuer.keySetUrl ?? (await discover({ issuer, get }, signal))
  if (typeof address !== 'string') return address
  const answer = await getJson(get, address, signal)
  if (!answer.ok) return { ok: false, why: `key set: ${answer.why}` }
  if (!isKeySet(answer.value)) return { ok: false, why: 'key set: is no JSON Web Key Set' }
  return { ok: true, keys: createLocalJWKSet(answer.value) }
}

/** RFC 7517, section 5. Keys of kinds that we do not know are left to jose, which ignores them. */
const isKeySet = (value: unknown): value is JSONWebKeySet => {
  const keys = at(value, 'keys')
  return Array.isArray(keys) && keys.every(isObject)
}

/** OpenID Connect Discovery 1.0, section 4.3: the issuer in the document must be exactly the one that was asked. */
async function discover(
  { issuer, get }: Pick<KeySetOptions, 'issuer' | 'get'>,
  signal: AbortSignal,
): Promise<string | (FetchedJson & { readonly ok: false })> {
  const answer = await getJson(get, issuer.discoveryUrl ?? wellKnownUrl(issuer.url), signal)
  if (!answer.ok) return { ok: false, why: `discovery: ${answer.why}` }
  if (textAt(answer.value, 'issuer') !== issuer.url) {
    return { ok: false, why: 'discovery: the document is of another issuer' }
  }
  const address = textAt(answer.value, 'jwks_uri') ?? ''
  const url = urlOf(address)
  const allowLoopbackHttp = issuer.url.startsWith('http:')
  if (url === undefined || !isSecure(url, allowLoopbackHttp)) {
    return { ok: false, why: 'discovery: jwks_uri is no https address' }
  }
  if (hasCredentials(url)) return { ok: false, why: 'discovery: jwks_uri has a username or password' }
  return address
}
