import { isObject } from '../core/json.ts'

/**
 * `https://host:port` and a path, without a slash at its end. Throws a TypeError when there is none, which repeats nothing
 * of it: an address may have a password in it.
 */
export function baseOf(baseUrl: string | undefined): string {
  const page = pageAddress()
  if (baseUrl === undefined && page === undefined) {
    throw new TypeError('baseUrl is missing: only a page has an origin to take in its place')
  }
  const given = baseUrl ?? '/'
  if (!URL.canParse(given, page)) throw new TypeError('baseUrl is no address: https://host:port')
  const { protocol, origin, pathname, username, password } = new URL(given, page)
  if (!/^https?:$/.test(protocol)) throw new TypeError('baseUrl: neither https nor http')
  // A fetch would refuse it. Of a page's own, nothing but the origin is taken.
  if (baseUrl !== undefined && (username !== '' || password !== '')) {
    throw new TypeError('baseUrl has a user in it: who calls is for "token" to say')
  }
  return `${origin}${pathname.replace(/\/+$/, '')}`
}

/** That of a browser's page, or of a worker of it; Node and workerd have none. */
function pageAddress(): string | undefined {
  const location: unknown = Reflect.get(globalThis, 'location')
  const href: unknown = isObject(location) ? Reflect.get(location, 'href') : undefined
  return typeof href === 'string' ? href : undefined
}

const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/

/** Whether this can be the name of a namespace, a release, a credential or an API group. */
export const isName = (name: unknown): name is string => typeof name === 'string' && NAME.test(name)

/** Throws a TypeError for a name that is no DNS name, which would address something else: a mistake of the program that calls. */
export function pathOf(...names: readonly unknown[]): string {
  const wrong = names.findIndex((name) => !isName(name))
  if (wrong === -1) return names.join('/')
  throw new TypeError(`not the name of a namespace or a credential: ${JSON.stringify(names[wrong])}`)
}
