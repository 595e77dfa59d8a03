import type { Cause } from '../core/failure.ts'
import type { Declarations } from '../definitions/resolve.ts'
import { isDnsSubdomain } from '../k8s/names.ts'
import { accountNameOf, type CredentialName, secretNameOf } from './naming.ts'

/** A tenant account whose name is its own: the one for which there is to be an account Secret. */
export interface NamedAccount {
  readonly username: string
  readonly name: CredentialName
  readonly secretName: string
}

export interface NamedAccounts {
  readonly accounts: readonly NamedAccount[]
  /** Usernames that get no account Secret, each with why, in the words of somebody who wrote them. */
  readonly problems: readonly NameProblem[]
}

export interface NameProblem {
  /** Those that it is about, sorted. */
  readonly usernames: readonly string[]
  readonly cause: Cause
}

/**
 * The tenant accounts of a release by the names of their Credentials. A username that maps to no valid name, to
 * another's name, or to a platform account's is a problem of its own, and so is an entry that is malformed; the
 * others stand.
 */
export function nameAccounts(declared: Declarations, release: string): NamedAccounts {
  const malformed = new Set(declared.malformed.flatMap(({ username }) => username ?? []))
  const usernames = [...new Set([...declared.accounts.map(({ username }) => username), ...malformed])]
  const platform = new Set(
    declared.accounts.filter(({ owner }) => owner === 'platform').map(({ username }) => username),
  )
  const accounts: NamedAccount[] = []
  const problems: NameProblem[] = declared.malformed.map(({ username, cause }) => ({
    usernames: username === undefined ? [] : [username],
    cause,
  }))
  for (const [account, holders] of Map.groupBy(usernames, accountNameOf)) {
    const name = { release, account }
    const [username = ''] = holders
    if (holders.every((each) => platform.has(each))) continue
    if (holders.length === 1 && malformed.has(username)) continue
    const secretName = secretNameOf(name)
    if (holders.length === 1 && isDnsSubdomain(secretName)) {
      accounts.push({ username, name, secretName })
      continue
    }
    const sorted = holders.toSorted()
    const message = problemOf(
      name,
      sorted,
      holders.some((each) => platform.has(each)),
    )
    problems.push({
      usernames: sorted,
      cause: { reason: 'FieldValueInvalid', field: 'spec.values', message },
    })
  }
  return { accounts, problems }
}

/** Of one name, several usernames or one that makes no valid name. */
function problemOf(name: CredentialName, usernames: readonly string[], hasPlatform: boolean): string {
  const named = usernames.map((username) => JSON.stringify(username)).join(' and ')
  if (usernames.length > 1) {
    return hasPlatform
      ? `the usernames ${named} map to one account name, ${JSON.stringify(name.account)}, which is an account of the platform: rename the one that is yours`
      : `the usernames ${named} map to one account name, ${JSON.stringify(name.account)}: rename one of them`
  }
  return `the username ${named} makes no valid name: ${JSON.stringify(secretNameOf(name))} must be at most 253 characters, each part beginning and ending with a letter or digit`
}
