import type { Cause } from '../core/failure.ts'
import { isObject, own } from '../core/json.ts'
import { cutBytes } from '../core/text.ts'
import type { Declarations } from '../definitions/resolve.ts'
import type { CredentialRules, Entry } from '../definitions/rules.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import { type NameProblem, nameAccounts } from './declared.ts'

/**
 * Something wrong in what a release declares, in the words of whoever wrote the application. About no username when it
 * is about a source as a whole.
 */
export type Problem = NameProblem

/** A key of a map may be as long as an object. */
const MAX_FIELD_BYTES = 160
const MAX_MESSAGE_BYTES = 400

/** Where people have written accounts; nothing for values of another shape than a source reads. */
export function entriesOf({ sources, schema }: CredentialRules, { spec }: HelmRelease): readonly Entry[] {
  const values = own(spec, 'values') ?? {}
  return isObject(values) ? sources.flatMap((source) => source.entries?.({ values, schema }) ?? []) : []
}

/** The field of an entry in the application, whose `spec` the platform keeps as the `spec.values` of the release. */
export const fieldOf = ({ within, key }: Entry): string =>
  cutBytes(`spec.${within}[${JSON.stringify(key)}]`, MAX_FIELD_BYTES)

/** All that is wrong with what a release declares. */
export function problemsOf(
  rules: CredentialRules,
  declared: Declarations,
  release: HelmRelease,
): readonly Problem[] {
  const places = new Map<string, string>()
  for (const entry of entriesOf(rules, release)) {
    if (!places.has(entry.username)) places.set(entry.username, fieldOf(entry))
  }
  const { problems } = nameAccounts(declared, release.metadata.name)
  return [
    ...declared.causes.map((cause) => ({ usernames: [], cause: asWritten(cause) })),
    ...problems.map(({ usernames, cause }) => {
      const place = usernames.map((username) => places.get(username)).find((field) => field !== undefined)
      return { usernames, cause: asWritten(cause, place) }
    }),
  ]
}

function asWritten({ reason, message, field = 'spec.values' }: Cause, place?: string): Cause {
  const written = field.startsWith('spec.values') ? `spec${field.slice('spec.values'.length)}` : field
  return {
    reason,
    message: cutBytes(message, MAX_MESSAGE_BYTES),
    field: place ?? cutBytes(written, MAX_FIELD_BYTES),
  }
}

/** One that is about no username more than another was. */
const covers = (old: Problem, problem: Problem): boolean =>
  problem.usernames.length === 0
    ? old.usernames.length === 0 && old.cause.field === problem.cause.field
    : problem.usernames.every((username) => old.usernames.includes(username))

/** The problems that a write brings, and those that were there before it: nobody is held up by what they found. */
export function ratchet(
  problems: readonly Problem[],
  before: readonly Problem[],
): { readonly introduced: readonly Problem[]; readonly found: readonly Problem[] } {
  const isOld = (problem: Problem) => before.some((old) => covers(old, problem))
  return {
    introduced: problems.filter((problem) => !isOld(problem)),
    found: problems.filter(isOld),
  }
}

/** As it is said in a line. */
export const said = ({ field, message }: Cause): string =>
  field === undefined ? message : `${field}: ${message}`
