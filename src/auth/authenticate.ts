import type { HeaderFields } from '../core/http.ts'
import { ok, type Result } from '../core/result.ts'
import type { Authenticator, Caller, Presented } from './authenticator.ts'
import { refuse } from './refuse.ts'

/**
 * Asks one authenticator after the other who is calling. The first that knows, or refuses, has the last word. Fails
 * with `unauthenticated` when nobody knows: there is no anonymous caller.
 */
export const createAuthenticate =
  (authenticators: readonly Authenticator[]) =>
  async (presented: Presented): Promise<Result<Caller>> => {
    for (const { name, authenticate } of authenticators) {
      const asked = await authenticate(presented)
      if (!asked.ok) return asked
      if (asked.value === undefined) continue
      // An access review about nobody in a mighty group is allowed.
      return asked.value.username === '' ? refuse(`${name}: an empty username`) : ok(asked.value)
    }
    return refuse(presented.token === undefined ? 'no credentials' : 'nobody knows the token')
  }

/** RFC 9110, section 11.1: the scheme in any case. A token is visible ASCII; a comma is where headers were joined. */
const BEARER = /^bearer +([!-+\--~]+)$/i

/**
 * The bearer token of a request (RFC 6750, section 2.1), or none when it has no Authorization header. A header of
 * another kind is `refused`: its sender believes to have said who they are.
 */
export function presentedBy(headers: HeaderFields): Pick<Presented, 'token' | 'refused'> {
  const header = headers.get('Authorization')
  if (header === null) return { token: undefined }
  const token = BEARER.exec(header.trim())?.[1]
  if (token !== undefined) return { token }
  const why = header.includes(',')
    ? 'more than one Authorization header, or a comma in it'
    : 'the Authorization header is no bearer token'
  return { token: undefined, refused: refuse(why, 'send one header "Authorization: Bearer TOKEN"') }
}

/** Ends the search when there is an Authorization header that nobody could read. */
export const authorizationHeader: Authenticator = {
  name: 'authorization-header',
  authenticate: async ({ refused }) => refused ?? ok(undefined),
}
