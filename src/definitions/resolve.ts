import type { Cause, Failure } from '../core/failure.ts'
import { isObject, own, textAt } from '../core/json.ts'
import { cutBytes } from '../core/text.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import { type CredentialRules, type Declared, type SourceAnswer, usernameProblem } from './rules.ts'
import { misshapen } from './values.ts'

/** The accounts that a release declares, by username; names are not compared yet. */
export interface Declarations {
  readonly accounts: readonly Declared[]
  /** Entries that are wrong by themselves; the others stand. */
  readonly malformed: SourceAnswer['malformed']
  /** What makes the answer as a whole untrustworthy. */
  readonly causes: readonly Cause[]
  /** Of a source that failed through no fault of the release; it has a cause, too. */
  readonly failure?: Failure
  /** Every source was resolved, and every entry. */
  readonly complete: boolean
  /** Where the release takes values from that are not read, such as `Secret/cozystack-values`. */
  readonly valuesFrom: readonly string[]
}

const MAX_ACCOUNTS = 256
const MAX_SHOWN_BYTES = 80

/** The union of all sources. The same username twice is one account, the platform's when one of them is. */
export async function resolveDeclared(rules: CredentialRules, release: HelmRelease): Promise<Declarations> {
  const answers = await answersOf(rules, release)
  const found = answers.flatMap((answer) => (answer.ok ? [answer.value] : []))
  const failed = answers.flatMap((answer) => (answer.ok ? [] : [answer.cause]))

  const accounts = unite(found.flatMap((answer) => answer.accounts))
  const entries = found.flatMap((answer) => answer.malformed)
  const misnamed = accounts.flatMap(({ username }) => malformedName(username))
  const causes = accounts.length + entries.length > MAX_ACCOUNTS ? [...failed, TOO_MANY] : failed
  const wrong = new Set(misnamed.map(({ username }) => username))
  return {
    accounts: accounts.filter(({ username }) => !wrong.has(username)),
    malformed: [...entries, ...misnamed],
    causes,
    ...failureOf(answers),
    complete: causes.length === 0 && entries.length === 0 && misnamed.length === 0,
    valuesFrom: referencesOf(release),
  }
}

type Answers = Awaited<ReturnType<typeof answersOf>>

function failureOf(answers: Answers): Pick<Declarations, 'failure'> {
  const failure = answers
    .flatMap((answer) => (answer.ok ? [] : [answer.failure]))
    .find((each) => each !== undefined)
  return failure === undefined ? {} : { failure }
}

async function answersOf(
  { sources, schema }: CredentialRules,
  { metadata: { namespace = '', name, labels = {} }, spec }: HelmRelease,
): Promise<readonly Awaited<ReturnType<CredentialRules['sources'][number]['resolve']>>[]> {
  const values = own(spec, 'values') ?? {}
  if (!isObject(values)) return [misshapen('', 'a map', values)]
  const input = { values, schema, metadata: { namespace, name, labels } }
  return Promise.all(sources.map((source) => source.resolve(input)))
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

function malformedName(username: string): Declarations['malformed'] {
  const problem = usernameProblem(username)
  if (problem === undefined) return []
  const message = `the username ${JSON.stringify(cutBytes(username, MAX_SHOWN_BYTES))} ${problem}`
  return [{ username, cause: { reason: 'FieldValueInvalid', field: 'spec.values', message } }]
}

function referencesOf(release: HelmRelease): readonly string[] {
  const references = own(release.spec, 'valuesFrom')
  if (!Array.isArray(references)) return []
  return references.map(
    (reference) => `${textAt(reference, 'kind') ?? '?'}/${textAt(reference, 'name') ?? '?'}`,
  )
}
