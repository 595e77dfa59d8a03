import { isBearerToken } from '../core/bearer.ts'
import type { Fetch } from '../core/deps.ts'
import { own, parseJson, textAt } from '../core/json.ts'
import { noToken, type Silence, silenceOf } from './silence.ts'

interface ClientOptions {
  /** Where the function listens: `https://host:port`. */
  readonly baseUrl: string
  /** Sent as bearer token, with an audience that the function accepts. Without one, `fetch` says who calls. */
  readonly token?: string
  readonly fetch: Fetch
  /** The API group that the function serves. */
  readonly group?: string
}

export interface Credential {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly resourceVersion: string
  }
  readonly spec: {
    readonly application: { readonly apiGroup: string; readonly kind: string; readonly name: string }
    readonly user: string
  }
  readonly status: {
    readonly password: { readonly origin: string; readonly at?: string; readonly by?: string }
    readonly history: readonly { readonly operation: string; readonly at: string; readonly by: string }[]
  }
}

interface CredentialList {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
  readonly items: readonly Credential[]
}

/** What a mint or a revoke answers. */
export interface Issued {
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly status: {
    readonly username: string
    /** Shown this once. Absent after a revoke and after a dry run. */
    readonly password?: string
    readonly issuedAt: string
  }
}

/** What a sync answers: a `metav1.Status` that counts what was done, a cause each. */
export interface Synced {
  readonly message: string
  readonly details: { readonly causes: readonly { readonly reason: string; readonly message: string }[] }
}

export type ClientFailure =
  /** The function refused: a `metav1.Status`. */
  | {
      readonly kind: 'status'
      readonly code: number
      readonly reason: string
      readonly message: string
    }
  /** Somebody between here and the function answered, or what came is no answer of it. */
  | {
      readonly kind: 'foreign'
      readonly code: number
      /** kube-apiserver's aggregation layer says that it never reached the function. */
      readonly undelivered?: true
    }
  | Silence

/** The warnings are those of the answer, a refusal's too; silence has none. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly failure: ClientFailure; readonly warnings: readonly string[] }

interface Address {
  readonly namespace: string
  /** `<release>.<account>`. */
  readonly name: string
}

interface ReleaseAddress {
  readonly namespace: string
  /** The name of the HelmRelease. */
  readonly release: string
}

interface ListOptions {
  readonly labelSelector?: string
  readonly limit?: number
  readonly continue?: string
  readonly signal?: AbortSignal
}

interface IssueOptions {
  /** Of the Credential as it was read: when it has changed since, nothing is written and the answer is a 409. */
  readonly preconditions?: { readonly resourceVersion?: string; readonly uid?: string }
  readonly dryRun?: boolean
  readonly signal?: AbortSignal
}

interface Client {
  readonly list: (namespace: string, options?: ListOptions) => Promise<Answer<CredentialList>>
  readonly get: (address: Address, options?: Pick<ListOptions, 'signal'>) => Promise<Answer<Credential>>
  readonly mint: (address: Address, options?: IssueOptions) => Promise<Answer<Issued>>
  readonly revoke: (address: Address, options?: IssueOptions) => Promise<Answer<Issued>>
  readonly sync: (address: ReleaseAddress, options?: Pick<ListOptions, 'signal'>) => Promise<Answer<Synced>>
}

interface Call {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
  /** The apiVersion of the answer, when it is not the function's own. */
  readonly answeredAs?: string
}

const VERSION = 'v1alpha1'

/** The function as a typed client. It sends every request once: a mint that is repeated is another mint. */
export function createClient({ baseUrl, token, fetch, group = 'core.cozystack.io' }: ClientOptions): Client {
  const apiVersion = `${group}/${VERSION}`
  const canSay = token === undefined || isBearerToken(token)

  async function call<T>(
    kind: string,
    { method, path, query = {}, body, signal, answeredAs = apiVersion }: Call,
  ): Promise<Answer<T>> {
    if (!canSay) return { ok: false, failure: noToken, warnings: [] }
    const url = new URL(`/apis/${apiVersion}/namespaces/${path}`, baseUrl)
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, value)
    }
    const content = contentOf(body)
    const headers = {
      ...content.headers,
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    }
    const request = new Request(url, {
      method,
      redirect: 'manual',
      ...content,
      headers,
      ...(signal === undefined ? {} : { signal }),
    })
    return answerTo(fetch, request, { apiVersion: answeredAs, kind })
  }

  const issue =
    (verb: 'mint' | 'revoke') =>
    ({ namespace, name }: Address, { preconditions, dryRun, signal }: IssueOptions = {}) =>
      call<Issued>('CredentialRequest', {
        method: 'POST',
        path: `${segment(namespace)}/credentials/${segment(name)}/${verb}`,
        query: { dryRun: dryRun === true ? 'All' : undefined },
        // Never an empty body: the aggregation layer repeats such a request when its connection breaks.
        body: { apiVersion, kind: 'CredentialRequest', spec: { preconditions } },
        signal,
      })

  return {
    list: (namespace, { limit, signal, ...selection } = {}) =>
      call('CredentialList', {
        method: 'GET',
        path: `${segment(namespace)}/credentials`,
        query: { ...selection, limit: limit === undefined ? undefined : String(limit) },
        signal,
      }),
    get: ({ namespace, name }, { signal } = {}) =>
      call('Credential', {
        method: 'GET',
        path: `${segment(namespace)}/credentials/${segment(name)}`,
        signal,
      }),
    mint: issue('mint'),
    revoke: issue('revoke'),
    sync: ({ namespace, release }, { signal } = {}) =>
      call('Status', {
        method: 'POST',
        path: `${segment(namespace)}/helmreleases/${segment(release)}/sync`,
        answeredAs: 'v1',
        body: {},
        signal,
      }),
  }
}

const contentOf = (body: unknown) =>
  body === undefined ? {} : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }

const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/

/** Whether this can be the name of a namespace, a release or a credential. */
export const isName = (name: string): boolean => NAME.test(name)

/** A name that is no DNS name would address something else: a mistake of the program that calls. */
function segment(name: string): string {
  if (isName(name)) return name
  throw new TypeError(`not the name of a namespace or a credential: ${JSON.stringify(name)}`)
}

async function answerTo<T>(
  fetch: Fetch,
  request: Request,
  expected: { readonly apiVersion: string; readonly kind: string },
): Promise<Answer<T>> {
  let answer: Response
  let text: string
  try {
    answer = await fetch(request)
    text = await answer.text()
  } catch (error) {
    return { ok: false, failure: silenceOf(error), warnings: [] }
  }
  const body = parseJson(text)
  const isExpected = own(body, 'kind') === expected.kind && own(body, 'apiVersion') === expected.apiVersion
  const warnings = warningsOf(answer.headers)
  if (answer.ok && isExpected) return { ok: true, value: body as T, warnings }
  return { ok: false, failure: failureOf(answer.status, body, text), warnings }
}

function failureOf(code: number, body: unknown, text: string): ClientFailure {
  const reason = textAt(body, 'reason')
  const message = textAt(body, 'message')
  const isStatus = own(body, 'kind') === 'Status' && own(body, 'code') === code
  if (isStatus && reason !== undefined && message !== undefined) {
    return { kind: 'status', code, reason, message }
  }
  return { kind: 'foreign', code, ...(code === 503 && UNDELIVERED.test(text) ? { undelivered: true } : {}) }
}

/**
 * The aggregation layer's words when no backend is there, none could be dialled, or its certificate is not trusted.
 * Of other errors ("EOF", "connection reset") the request may have arrived
 * (k8s.io/kube-aggregator/pkg/apiserver/handler_proxy.go, k8s.io/apimachinery/pkg/util/proxy/transport.go).
 */
const UNDELIVERED =
  /^(service unavailable|error trying to reach service: (dial .*|tls: failed to verify certificate: .*))\s*$/

/** The texts of `299 - "…"` (RFC 7234, section 5.5); several headers come joined by commas. */
const warningsOf = (headers: Headers): readonly string[] =>
  [...(headers.get('Warning') ?? '').matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) =>
    text.replace(/\\(.)/g, '$1'),
  )
