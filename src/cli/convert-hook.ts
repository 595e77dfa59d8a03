import { hintOf } from '../conversion/causes.ts'
import { type ConvertedKind, kindsToConvert } from '../conversion/definitions.ts'
import { type HookedRelease, type HookOutcome, hook } from '../conversion/hook.ts'
import { wordsOfNote } from '../conversion/notes.ts'
import type { Failure } from '../core/failure.ts'
import type { ConvertCommand } from './convert-command-line.ts'
import type { ConvertReport } from './convert-output.ts'
import type { ConvertParts } from './convert-parts.ts'
import { readDefinitions } from './definition-files.ts'
import { wordsOf } from './sweep.ts'

/**
 * Converts what exists before any chart changes. Answers the exit code: 0 also when releases were left out, which no
 * other release should wait for, and 1 for what concerns the whole fleet, or when it was told to end.
 */
export async function convertHook(parts: ConvertParts, command: ConvertCommand): Promise<0 | 1> {
  const { output, deps, signal } = parts
  const kinds = await readKinds(parts, command)
  if (kinds === undefined) return 1
  const { namespace, dryRun, concurrency, platformNamespace } = command
  const outcome = await hook(
    { ...parts, platformNamespace },
    { kinds, namespace, dryRun, concurrency, signal, onProgress: output.progress },
  )
  const problem = problemOf(outcome, command)
  if ('releases' in outcome) {
    const { is, releases, total } = outcome
    const report = reportOf(outcome, command)
    deps.log('info', 'conversion_end', { part: 'hook', is, dryRun, done: releases.length, total })
    output.report(report)
  }
  if (problem !== undefined) output.complain(problem)
  return problem === undefined ? 0 : 1
}

/** Undefined when a block cannot be read: it is said. */
async function readKinds(
  { config, kube, output: { complain }, signal, readDocuments }: ConvertParts,
  { definitions }: ConvertCommand,
): Promise<readonly ConvertedKind[] | undefined> {
  const files = await readDefinitions({ readDocuments, complain }, definitions)
  if (files === undefined) return undefined
  const inCluster = await kube.listDefinitions({ signal })
  if (!inCluster.ok) {
    // The call was cut off by whoever ends the process.
    if (signal.aborted) complain(wordsOfInterrupted({ releases: [], total: 0 }))
    else complain(`the definitions of the cluster cannot be listed: ${wordsOf(inCluster.failure)}`)
    return undefined
  }
  const kinds = kindsToConvert(files, inCluster.value, config.webhookHosts)
  if (kinds.ok) return kinds.value
  complain(wordsOfDefinition(kinds.failure))
  return undefined
}

/** What is wrong with a definition, or any other failure. */
export function wordsOfDefinition(failure: Failure): string {
  switch (failure.reason) {
    case 'definition_wrong':
      return `ApplicationDefinition ${failure.definition}: ${failure.field}: ${failure.problem}`
    case 'definitions_ambiguous':
      return `kind ${failure.kind} has more than one definition: ${failure.definitions.join(', ')}`
    default:
      return wordsOf(failure)
  }
}

interface Interrupted {
  readonly releases: readonly unknown[]
  readonly total: number
}

/** How far it has come. */
export const wordsOfInterrupted = ({ releases, total }: Interrupted): string =>
  total === 0
    ? 'interrupted before any release was looked at: run it again'
    : `interrupted after ${releases.length} of ${total} releases: run it again, and it goes on from there`

/** Keys of the record that hold no entry. */
export const wordsOfUnreadable = (keys: readonly string[], platformNamespace: string): string =>
  `the record was edited and cannot be read: ${keys.join(', ')} in namespace ${platformNamespace}; mend or delete these keys, and run it again`

/** Why it is no success. Undefined when it is one. */
function problemOf(outcome: HookOutcome, { platformNamespace }: ConvertCommand): string | undefined {
  switch (outcome.is) {
    case 'finished':
      return undefined
    case 'interrupted':
      return wordsOfInterrupted(outcome)
    case 'unreadable':
      return wordsOfUnreadable(outcome.keys, platformNamespace)
    case 'failed':
      return `could not ${outcome.what}: ${wordsOf(outcome.failure)}${hintOfFailure(outcome.failure, platformNamespace)}`
  }
}

function hintOfFailure(failure: Failure, platformNamespace: string): string {
  switch (failure.reason) {
    case 'kube_absent':
      return `: is there a namespace ${platformNamespace}?`
    case 'value_altered':
      return `: something (a mutating admission webhook?) changes the values of account Secrets, so that they check no password; exempt them, delete Secret ${failure.secret} and any other that the log names, and run it again`
    default:
      return '; what was written stays, and another run goes on from there'
  }
}

type Ended = Extract<HookOutcome, { readonly releases: unknown }>

function reportOf({ is, releases, total }: Ended, { dryRun }: ConvertCommand): ConvertReport {
  const skipped = releases.flatMap(({ namespace, release, skips }) =>
    skips.map((each) => ({ namespace, release, ...each })),
  )
  return {
    json: {
      part: 'hook',
      is,
      dryRun,
      total,
      releases: releases.map(({ skips, notes, ...each }) => ({
        ...each,
        skips: skips.map((skip) => ({ ...skip, hint: hintOf(skip.cause) })),
        notes: notes.map(wordsOfNote),
      })),
    },
    rows: dryRun ? plannedRows(releases) : [],
    notes: releases.flatMap(({ namespace, release, notes }) =>
      notes.map((note) => `${namespace}/${release}: ${wordsOfNote(note)}`),
    ),
    skipped,
    summary: summaryOf(releases, dryRun),
  }
}

function plannedRows(releases: readonly HookedRelease[]): readonly (readonly string[])[] {
  const rows = releases.flatMap(({ namespace, release, accounts }) =>
    accounts.map(({ username, secret, result }) => [namespace, release, username, secret, WOULD[result]]),
  )
  return rows.length === 0 ? [] : [['NAMESPACE', 'RELEASE', 'USER', 'SECRET', 'WOULD BE'], ...rows]
}

const WOULD = {
  converted: 'created with the value of the password from before',
  replaced: 'given the value of the password from before',
  unchanged: 'left alone',
} as const

function summaryOf(releases: readonly HookedRelease[], dryRun: boolean): ConvertReport['summary'] {
  const accounts = releases.flatMap((release) => release.accounts)
  const count = (result: string) => accounts.filter((each) => each.result === result).length
  const would = dryRun ? ' (dry run: nothing was written)' : ''
  return [
    [releases.length, `releases of the kinds to convert${would}`],
    [count('converted'), 'accounts whose password from before was converted'],
    [count('replaced'), 'seeds of which nobody knew the password that were replaced by it'],
    [count('unchanged'), 'account Secrets that were there and were left alone'],
    [releases.filter(({ isDone }) => isDone).length, 'releases that the job was done with before'],
    [
      releases.filter(({ skips }) => skips.length > 0).length,
      'releases that were left out, or a part of them',
    ],
  ]
}
