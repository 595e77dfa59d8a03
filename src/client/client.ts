import { isBearerToken } from '../core/bearer.ts'
import { textAt } from '../core/json.ts'
import { baseOf, isName, pathOf } from './address.ts'
import { outcomeOf, type Verb } from './advice.ts'
import type { Credential, CredentialList, Issued, Minted, Synced } from './api.ts'
import { send } from './call.ts'
import type { ClientFailure, Outcome, Silence } from './failure.ts'
import { requestOf } from './request.ts'
import { aborted, noToken, noTokenSource } from './silence.ts'

export type { Credential, CredentialList, Issued, Minted, Synced } from './api.ts'
export type { ClientFailure, ForeignAnswer, Outcome, Refusal, Retry, Silence } from './failure.ts'

export interface ClientOptions {
  /**
   * Where the API is: `https://host:port`, with a path if it is behind one. Without one, or with a path alone, the origin of
   * the page: no CORS headers are sent, so a browser reaches no other.
   */
  readonly baseUrl?: string | undefined
  /**
   * Sent as bearer token, with an audience that the function accepts; a function is asked before each call. Without one,
   * `fetch` says who calls.
   */
  readonly token?: string | (() => string | Promise<string>) | undefined
  /** The runtime's own when it is left out. It must not send anything twice. */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined
  /** The API group that is served: `core.cozystack.io`, or `credentials.cozystack.io` behind an APIService. */
  readonly group?: string | undefined
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
  readonly signal?: AbortSignal | undefined
}

export interface ListOptions extends CallOptions {
  readonly labelSelector?: string | undefined
  readonly limit?: number | undefined
  readonly continue?: string | undefined
}

/** A field that is there and has no text, because it could not be read for example, is a mistake: it would guard nothing. */
export interface Preconditions {
  readonly resourceVersion?: string
  readonly uid?: string
}

export interface IssueOptions extends CallOptions {
  /** Of the Credential as it was read: when it has changed since, nothing is written and the answer is a 409. */
  readonly preconditions?: Preconditions | undefined
  /** Everything is checked, nothing is stored, and no password is shown. */
  readonly dryRun?: boolean | undefined
}

/** Each call is sent once: a mint that is repeated is another mint. Rejects with a TypeError for a name or a precondition that can be none. */
export interface Client {
  readonly list: (namespace: string, options?: ListOptions) => Promise<Answer<CredentialList>>
  readonly get: (address: Address, options?: CallOptions) => Promise<Answer<Credential>>
  readonly mint: {
    (
      address: Address,
      options?: IssueOptions & { readonly dryRun?: false | undefined },
    ): Promise<Answer<Minted>>
    (address: Address, options?: IssueOptions): Promise<Answer<Issued>>
  }
  readonly revoke: (address: Address, options?: IssueOptions) => Promise<Answer<Issued>>
  readonly sync: (address: ReleaseAddress, options?: CallOptions) => Promise<Answer<Synced>>
}

interface Call {
  readonly verb: Verb
  /** Below `namespaces/`. */
  readonly path: readonly string[]
  readonly query?: Readonly<Record<string, string | undefined>>
  /** Makes a POST of it. */
  readonly body?: object
  readonly signal?: AbortSignal | undefined
  /** The apiVersion of the answer, when it is not the function's own. */
  readonly answeredAs?: string
  readonly kind: string
  readonly isWhole?: (body: unknown) => boolean
}

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
  // Not the function itself: browsers and workerd call it as a method of the global object only.
  const { fetch = (request: Request) => globalThis.fetch(request) } = options
  const apiVersion = apiVersionOf(options.group)
  const base = baseOf(options.baseUrl)

  async function call<T>({ verb, kind, answeredAs = apiVersion, isWhole = () => true, ...asked }: Call) {
    const failed = (failure: ClientFailure, retryAfter?: string | null, warnings: readonly string[] = []) =>
      ({ ok: false, failure: { ...failure, ...outcomeOf(failure, { verb, retryAfter }) }, warnings }) as const
    const address = `${base}/apis/${apiVersion}/namespaces/${pathOf(...asked.path)}`
    const said = await unlessAborted(() => tokenOf(options.token), asked.signal)
    if (said === undefined || asked.signal?.aborted) return failed(aborted)
    if (!said.ok) return failed(said.silence)
    const request = requestOf(address, { ...asked, token: said.token })
    const received = await send(fetch, request, { apiVersion: answeredAs, kind, isWhole })
    if (!received.ok) return failed(received.failure, received.retryAfter, received.warnings)
    return { ok: true, value: received.body as T, warnings: received.warnings } as const
  }

  const issue =
    (verb: 'mint' | 'revoke') =>
    async <T extends Issued>(
      { namespace, name }: Address,
      { preconditions, dryRun = false, signal }: IssueOptions = {},
    ): Promise<Answer<T>> =>
      call<T>({
        verb: dryRun ? 'read' : verb,
        path: [namespace, 'credentials', name, verb],
        query: { dryRun: dryRun ? 'All' : undefined },
        // Never an empty body: the aggregation layer repeats such a request when its connection breaks.
        body: { apiVersion, kind: 'CredentialRequest', spec: specOf(preconditions) },
        signal,
        kind: 'CredentialRequest',
        isWhole: (body) => isIssued(body) && (dryRun || verb === 'revoke' || hasPassword(body)),
      })

  return {
    list: (namespace, { limit, signal, ...selection } = {}) =>
      call<CredentialList>({
        verb: 'read',
        path: [namespace, 'credentials'],
        query: { ...selection, limit: limit === undefined ? undefined : String(limit) },
        signal,
        kind: 'CredentialList',
      }),
    get: ({ namespace, name }, { signal } = {}) =>
      call<Credential>({
        verb: 'read',
        path: [namespace, 'credentials', name],
        signal,
        kind: 'Credential',
      }),
    mint: issue('mint'),
    revoke: issue('revoke'),
    sync: ({ namespace, release }, { signal } = {}) =>
      call<Synced>({
        verb: 'read',
        path: [namespace, 'helmreleases', release, 'sync'],
        answeredAs: 'v1',
        body: {},
        signal,
        kind: 'Status',
      }),
  }
}

function apiVersionOf(group = 'core.cozystack.io'): string {
  if (!isName(group)) throw new TypeError('group is no API group, such as core.cozystack.io')
  return `${group}/v1alpha1`
}

function specOf(preconditions: Preconditions | undefined): object {
  for (const [field, value] of Object.entries(preconditions ?? {})) {
    if (typeof value !== 'string')
      throw new TypeError(`preconditions.${field} is no text: it would guard nothing`)
  }
  return { preconditions }
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

/** What the work comes to, or undefined when the signal says before that to stop waiting. */
function unlessAborted<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  if (signal === undefined) return work()
  return new Promise((resolve, reject) => {
    const stop = () => resolve(undefined)
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop)
    const over = () => signal.removeEventListener('abort', stop)
    work().then(resolve, reject).finally(over)
  })
}

const isIssued = (body: unknown): boolean =>
  Boolean(textAt(body, 'status', 'username')) && Boolean(textAt(body, 'status', 'issuedAt'))

const hasPassword = (body: unknown): boolean => Boolean(textAt(body, 'status', 'password'))
