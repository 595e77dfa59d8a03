import type { Cause } from '../core/failure.ts'
import { isObject, own, textAt } from '../core/json.ts'
import { utf8 } from '../core/text.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import type { CredentialRules, Declared, SourceAnswer } from './rules.ts'

/** The accounts that a release declares, by username; names are not compared yet. */
export interface Declarations {
  readonly accounts: readonly Declared[]
  /** Entries that are wrong by themselves; the others stand. */
  readonly malformed: SourceAnswer['malformed']
  /** What makes the answer as a whole untrustworthy. */
  readonly causes: readonly Cause[]
  /** Every source was resolved, and every entry. */
  readonly complete: boolean
  /** Where the release takes values from that are not read, such as `Secret/cozystack-values`. */
  readonly valuesFrom: readonly string[]
}

const MAX_ACCOUNTS = 256
const MAX_USERNAME_BYTES = 63

/** The union of all sources. The same username twice is one account, the platform's when one of them is. */
export async function resolveDeclared(rules: CredentialRules, release: HelmRelease): Promise<Declarations> {
  const values = own(release.spec, 'values')
  const input = { values: isObject(values) ? values : {}, schema: rules.schema }
  const answers = await Promise.all(rules.sources.map((source) => source.resolve(input)))
  const found = answers.flatMap((answer) => (answer.ok ? [answer.value] : []))
  const failed = answers.flatMap((answer) => (answer.ok ? [] : [answer.cause]))

  const accounts = unite(found.flatMap((answer) => answer.accounts))
  const malformed = [
    ...found.flatMap((answer) => answer.malformed),
    ...accounts.filter(({ username }) => problemOf(username) !== undefined).map(malformedName),
  ]
  const causes = accounts.length + malformed.length > MAX_ACCOUNTS ? [...failed, TOO_MANY] : failed
  return {
    accounts: accounts.filter(({ username }) => problemOf(username) === undefined),
    malformed,
    causes,
    complete: causes.length === 0 && malformed.length === 0,
    valuesFrom: referencesOf(release),
  }
}

const TOO_MANY: Cause = {
  reason: 'FieldValueTooMany',
  field: 'spec.values',
  message: `declares more than ${MAX_ACCOUNTS} accounts`,
}

function unite(accounts: readonly Declared[]): readonly Declared[] {
  const byUsername = new Map<string, Declared>()
  for (const account of accounts) {
    if (byUsername.get(account.username)?.owner !== 'platform') byUsername.set(account.username, account)
  }
  return [...byUsername.values()]
}

function problemOf(username: string): string | undefined {
  if (!username.isWellFormed()) return 'is no well-formed Unicode'
  if (/\p{Cc}/u.test(username)) return 'holds a control character'
  if (utf8(username).length > MAX_USERNAME_BYTES) return `is longer than ${MAX_USERNAME_BYTES} bytes`
  return username === '' ? 'is empty' : undefined
}

const malformedName = ({ username }: Declared): Declarations['malformed'][number] => ({
  username,
  cause: {
    reason: 'FieldValueInvalid',
    field: 'spec.values',
    message: `the username ${JSON.stringify(username)} ${problemOf(username)}`,
  },
})

function referencesOf(release: HelmRelease): readonly string[] {
  const references = own(release.spec, 'valuesFrom')
  if (!Array.isArray(references)) return []
  return references.map(
    (reference) => `${textAt(reference, 'kind') ?? '?'}/${textAt(reference, 'name') ?? '?'}`,
  )
}
