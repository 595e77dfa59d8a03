const CONTROL = /\p{Cc}/u

/** The group of everybody whom somebody has vouched for; roles are bound to it. */
const AUTHENTICATED = 'system:authenticated'

/**
 * Whether a name reads the same everywhere. White space at its ends is lost in HTTP headers, and half of a surrogate
 * pair becomes U+FFFD in Go: either way one name turns into another.
 */
export const isCleanName = (name: string): boolean =>
  name === name.trim() && !CONTROL.test(name) && name.isWellFormed()

/** Kubernetes' name or group of everybody whom nobody has vouched for. */
export const isAnonymous = ({
  username,
  groups,
}: {
  readonly username: string
  readonly groups: readonly string[]
}): boolean => username === 'system:anonymous' || groups.includes('system:unauthenticated')

/** Each group once, the empty one never, and the group of all authenticated users. */
export const withAuthenticated = (groups: readonly string[]): readonly string[] => [
  ...new Set([...groups.filter((group) => group !== ''), AUTHENTICATED]),
]
