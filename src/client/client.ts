import { isBearerToken } from '../core/bearer.ts'
import { isObject, textAt } from '../core/json.ts'
import { outcomeOf, type Verb } from './advice.ts'
import type { Credential, CredentialList, Issued, Minted, Synced } from './api.ts'
import { send } from './call.ts'
import type { ClientFailure, Outcome, Silence } from './failure.ts'
import { aborted, noToken, noTokenSource } from './silence.ts'

export type { Credential, CredentialList, Issued, Minted, Synced } from './api.ts'
export type { ClientFailure, ForeignAnswer, Outcome, Refusal, Retry, Silence } from './failure.ts'

export interface ClientOptions {
  /**
   * Where the API is: `https://host:port`, with a path if it is behind one. Without one, or with a path alone, the origin of
   * the page: no CORS headers are sent, so a browser reaches no other.
   */
  readonly baseUrl?: string
  /**
   * Sent as bearer token, with an audience that the function accepts; a function is asked before each call. Without one,
   * `fetch` says who calls.
   */
  readonly token?: string | (() => string | Promise<string>)
  /** The runtime's own when it is left out. It must not send anything twice. */
  readonly fetch?: (request: Request) => Promise<Response>
  /** The API group that is served: `core.cozystack.io`, or `credentials.cozystack.io` behind an APIService. */
  readonly group?: string
}

/** What went wrong, whether it may have been stored all the same, and what to do. */
export type Failure = ClientFailure & Outcome

/** The warnings are those of the answer, a refusal's too; silence has none. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly failure: Failure; readonly warnings: readonly string[] }

export interface Address {
  readonly namespace: string
  /** `<release>.<account>`. */
  readonly name: string
}

export interface ReleaseAddress {
  readonly namespace: string
  /** The name of the HelmRelease. */
  readonly release: string
}

export interface CallOptions {
  /** Ends the waiting. A mint that was sent goes on, and its password is lost. */
  readonly signal?: AbortSignal
}

export interface ListOptions extends CallOptions {
  readonly labelSelector?: string
  readonly limit?: number
  readonly continue?: string
}

export interface IssueOptions extends CallOptions {
  /** Of the Credential as it was read: when it has changed since, nothing is written and the answer is a 409. */
  readonly preconditions?: { readonly resourceVersion?: string; readonly uid?: string }
  /** Everything is checked, nothing is stored, and no password is shown. */
  readonly dryRun?: boolean
}

/** Each call is sent once: a mint that is repeated is another mint. Throws a TypeError for a name that can be none. */
export interface Client {
  readonly list: (namespace: string, options?: ListOptions) => Promise<Answer<CredentialList>>
  readonly get: (address: Address, options?: CallOptions) => Promise<Answer<Credential>>
  readonly mint: {
    (address: Address, options?: IssueOptions & { readonly dryRun?: false }): Promise<Answer<Minted>>
    (address: Address, options?: IssueOptions): Promise<Answer<Issued>>
  }
  readonly revoke: (address: Address, options?: IssueOptions) => Promise<Answer<Issued>>
  readonly sync: (address: ReleaseAddress, options?: CallOptions) => Promise<Answer<Synced>>
}

interface Call {
  readonly verb: Verb
  readonly path: string
  readonly query?: Readonly<Record<string, string | undefined>>
  /** Makes a POST of it. */
  readonly body?: object
  readonly signal?: AbortSignal | undefined
  /** The apiVersion of the answer, when it is not the function's own. */
  readonly answeredAs?: string
  readonly kind: string
  readonly isWhole?: (body: unknown) => boolean
}

const VERSION = 'v1alpha1'

/**
 * The function as a typed client.
 *
 * @example
 * ```ts
 * import { createClient } from 'mintonce/client'
 *
 * const mintonce = createClient({ baseUrl: 'https://mintonce.example.org', token })
 * const minted = await mintonce.mint({ namespace: 'tenant-acme', name: 'postgres-orders.web' })
 * if (minted.ok) await connect(minted.value.status.username, minted.value.status.password)
 * else if (minted.failure.outcome === 'unknown') alert('mint again: the newest password is the one that counts')
 * ```
 */
export function createClient(options: ClientOptions = {}): Client {
  const { group = 'core.cozystack.io' } = options
  // Not the function itself: browsers and workerd call it as a method of the global object only.
  const { fetch = (request: Request) => globalThis.fetch(request) } = options
  const apiVersion = `${group}/${VERSION}`
  const base = baseOf(options.baseUrl)

  async function call<T>({ verb, kind, answeredAs = apiVersion, isWhole = () => true, ...asked }: Call) {
    const failed = (failure: ClientFailure, retryAfter?: string | null, warnings: readonly string[] = []) =>
      ({ ok: false, failure: { ...failure, ...outcomeOf(failure, { verb, retryAfter }) }, warnings }) as const
    const said = await tokenOf(options.token)
    if (!said.ok) return failed(said.silence)
    if (asked.signal?.aborted) return failed(aborted)
    const request = requestOf(`${base}/apis/${apiVersion}/namespaces/${asked.path}`, asked, said.token)
    const received = await send(fetch, request, { apiVersion: answeredAs, kind, isWhole })
    if (!received.ok) return failed(received.failure, received.retryAfter, received.warnings)
    return { ok: true, value: received.body as T, warnings: received.warnings } as const
  }

  const issue =
    (verb: 'mint' | 'revoke') =>
    <T extends Issued>(
      { namespace, name }: Address,
      { preconditions, dryRun = false, signal }: IssueOptions = {},
    ): Promise<Answer<T>> =>
      call<T>({
        verb: dryRun ? 'read' : verb,
        path: `${segment(namespace)}/credentials/${segment(name)}/${verb}`,
        query: { dryRun: dryRun ? 'All' : undefined },
        // Never an empty body: the aggregation layer repeats such a request when its connection breaks.
        body: { apiVersion, kind: 'CredentialRequest', spec: { preconditions } },
        signal,
        kind: 'CredentialRequest',
        isWhole: (body) => isIssued(body) && (dryRun || verb === 'revoke' || hasPassword(body)),
      })

  return {
    list: (namespace, { limit, signal, ...selection } = {}) =>
      call<CredentialList>({
        verb: 'read',
        path: `${segment(namespace)}/credentials`,
        query: { ...selection, limit: limit === undefined ? undefined : String(limit) },
        signal,
        kind: 'CredentialList',
      }),
    get: ({ namespace, name }, { signal } = {}) =>
      call<Credential>({
        verb: 'read',
        path: `${segment(namespace)}/credentials/${segment(name)}`,
        signal,
        kind: 'Credential',
      }),
    mint: issue('mint'),
    revoke: issue('revoke'),
    sync: ({ namespace, release }, { signal } = {}) =>
      call<Synced>({
        verb: 'read',
        path: `${segment(namespace)}/helmreleases/${segment(release)}/sync`,
        answeredAs: 'v1',
        body: {},
        signal,
        kind: 'Status',
      }),
  }
}

/** Without a slash at its end. Throws a TypeError when there is none. */
function baseOf(baseUrl: string | undefined): string {
  const page = pageAddress()
  if (baseUrl === undefined && page === undefined) {
    throw new TypeError('baseUrl is missing: only a page has an origin to take in its place')
  }
  const { protocol, origin, pathname } = new URL(baseUrl ?? '/', page)
  if (!/^https?:$/.test(protocol)) throw new TypeError('baseUrl: neither https nor http')
  return `${origin}${pathname.replace(/\/+$/, '')}`
}

/** That of a browser's page, or of a worker of it; Node and workerd have none. */
function pageAddress(): string | undefined {
  const location: unknown = Reflect.get(globalThis, 'location')
  const href: unknown = isObject(location) ? Reflect.get(location, 'href') : undefined
  return typeof href === 'string' ? href : undefined
}

type Said = { readonly ok: true; readonly token?: string } | { readonly ok: false; readonly silence: Silence }

async function tokenOf(source: ClientOptions['token']): Promise<Said> {
  if (source === undefined) return { ok: true }
  try {
    const token = typeof source === 'string' ? source : await source()
    return isBearerToken(token) ? { ok: true, token } : { ok: false, silence: noToken }
  } catch {
    return { ok: false, silence: noTokenSource }
  }
}

function requestOf(address: string, { query = {}, body, signal }: Partial<Call>, token?: string): Request {
  const url = new URL(address)
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, value)
  }
  const headers = new Headers(token === undefined ? {} : { Authorization: `Bearer ${token}` })
  if (body !== undefined) headers.set('Content-Type', 'application/json')
  return new Request(url, {
    method: body === undefined ? 'GET' : 'POST',
    redirect: 'manual',
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  })
}

const isIssued = (body: unknown): boolean =>
  Boolean(textAt(body, 'status', 'username')) && Boolean(textAt(body, 'status', 'issuedAt'))

const hasPassword = (body: unknown): boolean => Boolean(textAt(body, 'status', 'password'))

const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/

/** Whether this can be the name of a namespace, a release or a credential. */
export const isName = (name: string): boolean => NAME.test(name)

/** A name that is no DNS name would address something else: a mistake of the program that calls. */
function segment(name: string): string {
  if (isName(name)) return name
  throw new TypeError(`not the name of a namespace or a credential: ${JSON.stringify(name)}`)
}
