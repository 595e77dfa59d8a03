const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/
const CLUSTER_HOST = /^kubernetes\.default(\.svc(\..+)?)?\.?$/
const WELL_KNOWN = '/.well-known/openid-configuration'

/** The absolute URL that a text is, or undefined: `new URL` alone repairs white space and backslashes. */
export const urlOf = (text: string): URL | undefined =>
  /^[a-z]+:\/\/[^\s\\]+$/i.test(text) && URL.canParse(text) ? new URL(text) : undefined

/** Whether what is read from there can be trusted: https, or on this very machine when that is allowed. */
export const isSecure = ({ protocol, hostname }: URL, allowLoopbackHttp: boolean): boolean =>
  protocol === 'https:' || (allowLoopbackHttp && protocol === 'http:' && LOOPBACK.test(hostname))

/** They would be sent to whoever answers there, and a runtime's fetch refuses them. */
export const hasCredentials = ({ username, password }: URL): boolean => username !== '' || password !== ''

/** The names that kube-apiserver gives itself in a cluster, `--service-account-issuer` by default. */
export const isClusterHost = ({ hostname }: URL): boolean => CLUSTER_HOST.test(hostname)

/** Issuers with and without a slash at the end are two, and here they are alike. */
export const withoutSlash = (issuer: string): string => issuer.replace(/\/$/, '')

/** OpenID Connect Discovery 1.0, section 4.1: a slash at the end of the issuer goes before the path is added. */
export const wellKnownUrl = (issuer: string): string => `${withoutSlash(issuer)}${WELL_KNOWN}`
