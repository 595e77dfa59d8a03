import { fail, ok, type Result } from '../core/result.ts'
import type { Declarations } from '../definitions/resolve.ts'
import type { Declared } from '../definitions/rules.ts'
import { accountNameOf, type CredentialName, credentialNameOf } from './naming.ts'

/**
 * The one tenant account that a Credential's name stands for. Fails with `credential_not_found` (undeclared, or a
 * platform account: the API does not show those), `accounts_collide` (two usernames map to the name: neither is
 * served) or `account_invalid` (this entry is wrong; or a source could not be read as a whole, and then nobody knows
 * which names it would have reserved), or with the failure of a source that is not the release's fault.
 */
export function findAccount(declared: Declarations, name: CredentialName): Result<Declared> {
  const credential = credentialNameOf(name)
  const here = declared.accounts.filter(({ username }) => accountNameOf(username) === name.account)
  if (here.some(({ owner }) => owner === 'platform')) {
    return fail({ reason: 'credential_not_found', name: credential })
  }

  const malformed = declared.malformed.flatMap(({ username, cause }) =>
    username !== undefined && accountNameOf(username) === name.account ? [{ username, cause }] : [],
  )
  const usernames = [...new Set([...here, ...malformed].map(({ username }) => username))].sort()
  if (usernames.length > 1) return fail({ reason: 'accounts_collide', name: credential, usernames })

  const causes = [...malformed.map(({ cause }) => cause), ...declared.causes]
  if (declared.failure !== undefined) return fail(declared.failure)
  if (causes.length > 0) return fail({ reason: 'account_invalid', name: credential, causes })

  const account = here[0]
  if (account !== undefined) return ok(account)
  return fail({ reason: 'credential_not_found', name: credential, why: whyUndeclared(declared, name) })
}

function whyUndeclared({ valuesFrom }: Declarations, { release, account }: CredentialName): string {
  const undeclared = `HelmRelease ${JSON.stringify(release)} declares no account ${JSON.stringify(account)}`
  if (valuesFrom.length === 0) return undeclared
  return `${undeclared} in its spec.values; values that it takes from references (${valuesFrom.join(', ')}) are not read`
}
