import { at, textsOf } from '../core/json.ts'

/** Tells the holder of a token for someone else what to ask its issuer for. */
export function askForAudience(audiences: readonly string[]): string {
  const quoted = audiences.map((audience) => JSON.stringify(audience))
  return quoted.length === 1
    ? `ask for a token with audience ${quoted[0]}`
    : `ask for a token with one of the audiences ${quoted.join(', ')}`
}

/** The same for a ServiceAccount, with the command that gets one. */
export const askForServiceAccountToken = (audiences: readonly string[]): string =>
  `${askForAudience(audiences)}: kubectl create token NAME --audience ${audiences[0]}`

/** `aud` of a claims set (RFC 7519, section 4.1.3): a text or a list of texts. */
export function audiencesOf(claims: unknown): readonly string[] {
  const audience = at(claims, 'aud')
  return typeof audience === 'string' ? [audience] : textsOf(audience)
}
