import { isDnsSubdomain } from '../k8s/names.ts'

/** `<release>.<account>`: what a Credential is called. */
export interface CredentialName {
  readonly release: string
  readonly account: string
}

const SECRET_SUFFIX = '.account'
const PLAIN = /^[a-z0-9-]*$/

/**
 * The account's part of a name: the username in ASCII lower case, every code point outside `[a-z0-9-]` replaced by
 * `-`. Not injective: whoever uses it compares the names of all accounts of a release.
 */
export const accountNameOf = (username: string): string =>
  PLAIN.test(username)
    ? username
    : username.replace(/[A-Z]/g, (letter) => letter.toLowerCase()).replace(/[^a-z0-9-]/gu, '-')

export const credentialNameOf = ({ release, account }: CredentialName): string => `${release}.${account}`

export const secretNameOf = (name: CredentialName): string => `${credentialNameOf(name)}${SECRET_SUFFIX}`

/** Splits at the first dot: a release has none. Undefined for what cannot be the name of a Credential. */
export function parseCredentialName(name: string): CredentialName | undefined {
  const dot = name.indexOf('.')
  if (dot < 1 || !isDnsSubdomain(`${name}${SECRET_SUFFIX}`)) return undefined
  return { release: name.slice(0, dot), account: name.slice(dot + 1) }
}

/** The Credential that an account Secret's name stands for; undefined for the name of another Secret. */
export function credentialOfSecret(secretName: string): CredentialName | undefined {
  if (!secretName.endsWith(SECRET_SUFFIX)) return undefined
  return parseCredentialName(secretName.slice(0, -SECRET_SUFFIX.length))
}
