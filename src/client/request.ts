import { isObject } from '../core/json.ts'

interface Content {
  readonly query?: Readonly<Record<string, string | undefined>>
  /** Makes a POST of it. */
  readonly body?: object
  readonly signal?: AbortSignal | undefined
  readonly token?: string | undefined
}

/** A request that no runtime sends twice, as far as it can be told not to. */
export function requestOf(address: string, { query = {}, body, signal, token }: Content): Request {
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
    ...(body === undefined ? {} : sentOnce(JSON.stringify(body), headers)),
    ...(signal === undefined ? {} : { signal }),
  })
}

/**
 * Node's fetch repeats a request that a 421 answers, unless its body is a stream (Fetch standard, "HTTP-network-or-cache
 * fetch": a body whose source is null). It takes a length with that, and so nothing on the wire is different. Browsers take a
 * stream over HTTP/2 only or not at all, and workerd does not repeat.
 */
function sentOnce(json: string, headers: Headers): RequestInit {
  if (!isNode()) return { body: json }
  const bytes = new TextEncoder().encode(json)
  headers.set('Content-Length', String(bytes.byteLength))
  // Such a body is an error for a 401 that a browser would ask its user about: not with `omit`. Node has no cookies.
  return { body: new Response(bytes).body, duplex: 'half', credentials: 'omit' } as RequestInit
}

/** As `navigator.userAgent` has it since Node 21; workerd and browsers say something else. */
function isNode(): boolean {
  const navigator: unknown = Reflect.get(globalThis, 'navigator')
  return isObject(navigator) && /^Node\.js\//.test(String(Reflect.get(navigator, 'userAgent')))
}
