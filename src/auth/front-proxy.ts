import type { Deps } from '../core/deps.ts'
import { decodeUtf8Value, type HeaderLines, valuesOf } from '../core/headers.ts'
import { ok, type Result } from '../core/result.ts'
import { cutBytes } from '../core/text.ts'
import type { Authenticator, Caller } from './authenticator.ts'
import { isAnonymous, isCleanName } from './identity.ts'
import { refuse } from './refuse.ts'
import type { RequestHeaderConfig } from './request-header.ts'

interface FrontProxyOptions extends Pick<Deps, 'log'> {
  /** As it is now; undefined while none could be read: then nobody is a front proxy. */
  readonly requestHeader: () => RequestHeaderConfig | undefined
}

const MAX_NAME_BYTES = 128

/**
 * The caller whom kube-apiserver's front proxy names (`k8s.io/apiserver/pkg/authentication/request/headerrequest`):
 * only with a client certificate of the request-header authority, in one of the allowed names. From anybody else the
 * headers mean nothing. Behind a front proxy nothing else counts, an Authorization header least of all: a
 * request without a name, or with one that reads in two ways, is refused.
 */
export function createFrontProxyAuthenticator({ requestHeader, log }: FrontProxyOptions): Authenticator {
  return {
    name: 'front-proxy',
    authenticate: async ({ clientCertificate, headers }) => {
      const config = requestHeader()
      if (clientCertificate === undefined || config === undefined || headers === undefined) {
        return ok(undefined)
      }
      const { commonName } = clientCertificate
      if (!config.allowedNames.includes(commonName)) {
        // To the caller it looks as if they had no credentials: whoever runs this has to learn more.
        log('warn', 'front_proxy_not_allowed', { commonName: cutBytes(commonName, MAX_NAME_BYTES) })
        return ok(undefined)
      }
      return callerIn(headers, config)
    },
  }
}

function callerIn(headers: HeaderLines, config: RequestHeaderConfig): Result<Caller> {
  const username = onlyValue(headers, config.usernameHeaders)
  const uid = onlyValue(headers, config.uidHeaders)
  const groups = config.groupHeaders.flatMap((name) => valuesOf(headers, name)).map(decodeUtf8Value)
  const extra = extraIn(headers, config.extraHeaderPrefixes)
  if (username === undefined || uid === undefined)
    return refuse('front-proxy: a name is given twice, or is no UTF-8')
  if (username === '') return refuse('front-proxy: no username')
  const names = [username, uid, ...groups]
  if (extra === undefined || !names.every((name) => name !== undefined && isCleanName(name))) {
    return refuse('front-proxy: a name has control characters, or is no UTF-8')
  }
  const known = groups.filter((group) => group !== undefined && group !== '') as readonly string[]
  if (isAnonymous({ username, groups: known })) return refuse('front-proxy: an anonymous caller')
  return ok({ username, uid: uid || undefined, groups: [...new Set(known)], extra, vouchedBy: 'front-proxy' })
}

/** Of the first header that is there, its one value: empty when none is, undefined when there are several. */
function onlyValue(headers: HeaderLines, names: readonly string[]): string | undefined {
  const values = names.map((name) => valuesOf(headers, name)).find((each) => each.length > 0) ?? ['']
  return values.length > 1 ? undefined : decodeUtf8Value(values[0] ?? '')
}

/** `X-Remote-Extra-<key>`: the key percent-encoded, in lower case. Undefined when a value is no UTF-8. */
function extraIn({ lines }: HeaderLines, prefixes: readonly string[]): Caller['extra'] | undefined {
  const extra = new Map<string, string[]>()
  for (const [name, value] of lines) {
    const prefix = prefixes.find((each) => name.startsWith(each))
    if (prefix === undefined) continue
    const text = decodeUtf8Value(value)
    if (text === undefined) return undefined
    const key = unescapeKey(name.slice(prefix.length))
    extra.set(key, [...(extra.get(key) ?? []), text])
  }
  return Object.fromEntries(extra)
}

function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}
