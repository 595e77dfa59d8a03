import { isObject, own } from '../core/json.ts'
import { type NamedAccount, type NameProblem, nameAccounts } from '../credentials/declared.ts'
import { takesUnreadValues } from '../credentials/release-state.ts'
import { said } from '../credentials/written.ts'
import { type Declarations, resolveDeclared } from '../definitions/resolve.ts'
import { type CredentialRules, usernameProblem } from '../definitions/rules.ts'
import { isDnsLabel } from '../k8s/names.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import { type CauseName, type Skip, skip } from './causes.ts'
import type { ConvertedKind } from './definitions.ts'

/** The tenant accounts of a release that can be converted, and what cannot. */
interface AccountsOf {
  readonly accounts: readonly NamedAccount[]
  readonly skips: readonly Skip[]
}

const NO_LABEL = 'its name has a dot, or is longer than 63 bytes'

/**
 * No account of a release whose accounts are not all known: one that nobody sees might be of the platform. Else those
 * with names of their own; the others are left out one by one.
 */
export async function accountsOf(
  { rules, needsWebhook }: Pick<ConvertedKind, 'rules' | 'needsWebhook'>,
  release: HelmRelease,
): Promise<AccountsOf> {
  const { name } = release.metadata
  const about = `release ${JSON.stringify(name)}`
  // A Credential is split at the first dot.
  if (!isDnsLabel(name)) return { accounts: [], skips: [skip('NameInvalid', about, NO_LABEL)] }
  if (needsWebhook) return { accounts: [], skips: [skip('WebhookNeeded', about)] }
  const declared = await resolveDeclared(rules, release)
  if (declared.causes.length > 0) {
    const why = declared.causes.map(said).join('; ')
    return { accounts: [], skips: [skip('ValuesUnreadable', about, why)] }
  }
  const { accounts, problems } = nameAccounts(declared, name)
  const reserved = await reservedIn(rules, release)
  return {
    accounts,
    skips: [
      ...(takesUnreadValues(release) ? [unread(about, declared)] : []),
      ...problems.map((problem) => skipOf(problem, declared)),
      ...reserved.map((username) => skip('NameReserved', `user ${JSON.stringify(username)}`)),
    ],
  }
}

/** Accounts may stand where nobody here looks. Those that are seen are converted all the same. */
const unread = (about: string, { valuesFrom }: Declarations): Skip =>
  skip('ValuesUnreadable', about, `it takes values from ${valuesFrom.join(', ')}`)

function skipOf({ usernames, cause }: NameProblem, declared: Declarations): Skip {
  const name = causeOf(usernames, declared)
  return { cause: name, message: said(cause) }
}

function causeOf(usernames: readonly string[], { accounts }: Declarations): CauseName {
  const [username] = usernames
  if (username === undefined) return 'ValuesUnreadable'
  const isPlatform = (each: string) =>
    accounts.some((account) => account.username === each && account.owner === 'platform')
  if (usernames.some(isPlatform)) return 'NameReserved'
  if (usernames.length > 1) return 'NamesCollide'
  const isDeclared = accounts.some((account) => account.username === username)
  return isDeclared || usernameProblem(username) !== undefined ? 'NameInvalid' : 'ValuesUnreadable'
}

/** Usernames that the tenant has given to accounts of the platform: there the platform's one counts. */
async function reservedIn(
  { sources, schema }: CredentialRules,
  { metadata: { namespace = '', name, labels = {} }, spec }: HelmRelease,
): Promise<readonly string[]> {
  const values = own(spec, 'values') ?? {}
  if (!isObject(values)) return []
  const input = { values, schema, metadata: { namespace, name, labels } }
  const answers = await Promise.all(sources.map((source) => source.resolve(input)))
  const all = answers.flatMap((answer) => (answer.ok ? answer.value.accounts : []))
  const usernamesOf = (owner: string) =>
    new Set(all.filter((account) => account.owner === owner).map(({ username }) => username))
  const platform = usernamesOf('platform')
  return [...usernamesOf('tenant')].filter((username) => platform.has(username))
}
