/**
 * Names as Kubernetes checks them (`k8s.io/apimachinery/pkg/util/validation`). Every part of a URL that we build
 * goes through `pathOf`: `encodeURIComponent` leaves `..` alone, and `new URL` then climbs.
 */

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const DNS_LABEL = new RegExp(`^${LABEL}$`)
const DNS_SUBDOMAIN = new RegExp(`^${LABEL}(\\.${LABEL})*$`)

/** RFC 1123 label, at most 63 characters: a namespace. */
export const isDnsLabel = (name: string): boolean => name.length <= 63 && DNS_LABEL.test(name)

/** RFC 1123 subdomain, at most 253 characters: the name of most objects. */
export const isDnsSubdomain = (name: string): boolean => name.length <= 253 && DNS_SUBDOMAIN.test(name)

/** Joins segments to a path and throws on one that is no name: callers have validated what came from outside. */
export function pathOf(...segments: readonly string[]): string {
  for (const segment of segments) {
    if (!isDnsSubdomain(segment)) throw new TypeError('a path segment is not a DNS-1123 name')
  }
  return `/${segments.join('/')}`
}
