import { hintOf } from '../conversion/causes.ts'
import { type JobOutcome, job } from '../conversion/job.ts'
import type { JobbedRelease } from '../conversion/job-options.ts'
import { NOT_ROTATED_HINT } from '../conversion/job-tell.ts'
import { listed, wordsOfNote } from '../conversion/notes.ts'
import { createExec } from '../k8s/node-exec.ts'
import type { ConvertCommand } from './convert-command-line.ts'
import { wordsOfDefinition, wordsOfInterrupted, wordsOfUnreadable } from './convert-hook.ts'
import type { ConvertReport } from './convert-output.ts'
import type { ConvertParts } from './convert-parts.ts'
import { readDefinitions } from './definition-files.ts'

/** One command in a pod: what the client of a database needs, and a few lines of what it says. */
const EXEC = { timeoutMs: 30_000, maxBytes: 65_536 } as const

/**
 * Finishes what the hook has begun, after the charts have switched. Answers the exit code: 0 when every recorded release
 * is done, and 1 while one is left out, when the whole of it failed, or when it was told to end.
 */
export async function convertJob(parts: ConvertParts, command: ConvertCommand): Promise<0 | 1> {
  const { config, output, deps, signal } = parts
  const files = await readDefinitions({ ...parts, complain: output.complain }, command.definitions)
  if (files === undefined) return 1
  const { namespace, dryRun, concurrency, platformNamespace } = command
  const outcome = await job(
    { ...parts, platformNamespace, exec: createExec(parts.execWay, EXEC) },
    {
      files,
      hosts: config.webhookHosts,
      namespace,
      dryRun,
      concurrency,
      timeoutMs: command.deadlineSeconds * 1000,
      signal,
      onProgress: output.progress,
    },
  )
  if ('releases' in outcome) {
    const { is, releases, total, skipped } = outcome
    const left = skipped.length
    deps.log('info', 'conversion_end', { part: 'job', is, dryRun, done: releases.length, total, left })
    output.report(reportOf(outcome, command))
    // A slip would look like success. A platform without such applications is one.
    if (is === 'finished' && total + outcome.doneBefore === 0) {
      const of = namespace === undefined ? '' : ` of namespace ${namespace}`
      output.complain(`nothing${of} is recorded in namespace ${platformNamespace}: has the hook run there?`)
    }
  }
  const problem = problemOf(outcome, command)
  if (problem !== undefined) output.complain(problem)
  return problem === undefined ? 0 : 1
}

/** Why it is no success. Undefined when it is one. */
function problemOf(outcome: JobOutcome, { platformNamespace, dryRun }: ConvertCommand): string | undefined {
  switch (outcome.is) {
    case 'finished':
      return outcome.skipped.length === 0 ? undefined : wordsOfLeft(outcome, dryRun)
    case 'interrupted':
      return wordsOfInterrupted(outcome)
    case 'unreadable':
      return wordsOfUnreadable(outcome.keys, platformNamespace)
    case 'failed':
      return `could not ${outcome.what}: ${wordsOfDefinition(outcome.failure)}; what was written stays, and another run goes on from there`
  }
}

type Ended = Extract<JobOutcome, { readonly releases: unknown }>

function wordsOfLeft({ skipped }: Ended, dryRun: boolean): string {
  const count = new Set(skipped.map(({ namespace, release }) => `${namespace}/${release}`)).size
  const left = count === 1 ? '1 release' : `${count} releases`
  return dryRun
    ? `${left} would be left out`
    : `${left} left out, as a whole or in part: mend what the table says, and run the job again`
}

function reportOf(
  { is, releases, total, doneBefore, elsewhere, skipped }: Ended,
  { dryRun, namespace }: ConvertCommand,
): ConvertReport {
  const withHint = <T extends (typeof skipped)[number]>(each: T) => ({ ...each, hint: hintOf(each.cause) })
  return {
    json: {
      part: 'job',
      is,
      dryRun,
      total,
      doneBefore,
      elsewhere,
      releases: releases.map(({ is: found, isConverted: _isConverted, skips, notes, ...each }) => ({
        ...each,
        isGone: found === 'gone',
        skips: skips.map((skip) => ({ ...skip, hint: hintOf(skip.cause) })),
        notes: notes.map(wordsOfNote),
      })),
      skipped: skipped.map(withHint),
    },
    rows: dryRun ? plannedRows(releases) : [],
    notes: releases.flatMap((each) => notesOf(each)),
    skipped,
    summary: [
      ...summaryOf(releases, doneBefore, dryRun),
      ...(namespace === undefined
        ? []
        : [
            [
              elsewhere,
              'recorded releases of other namespaces that are not done, and were not looked at',
            ] as const,
          ]),
    ],
  }
}

function plannedRows(releases: readonly JobbedRelease[]): readonly (readonly string[])[] {
  const rows = releases.flatMap((each) => {
    const would = wouldBe(each)
    return would === '' ? [] : [[each.namespace, each.release, each.chartVersion, would]]
  })
  return rows.length === 0 ? [] : [['NAMESPACE', 'RELEASE', 'CHART', 'WOULD'], ...rows]
}

function wouldBe({ accounts, passwords, keys, isSecretDeleted, rotated }: JobbedRelease): string {
  const written = accounts.filter(({ result }) => result !== 'unchanged').length
  return [
    written > 0 ? `write ${written} account Secrets` : '',
    passwords > 0 ? `take ${passwords} passwords out of the values` : '',
    isSecretDeleted ? 'delete the Secret with the passwords' : '',
    !isSecretDeleted && keys.length > 0
      ? `delete the keys ${listed(keys)} of the Secret with the passwords`
      : '',
    rotated.length > 0 ? `rotate ${rotated.join(', ')}` : '',
  ]
    .filter((part) => part !== '')
    .join('; ')
}

const notesOf = ({ namespace, release, notes, notRotated }: JobbedRelease): readonly string[] => [
  ...notes.map((note) => `${namespace}/${release}: ${wordsOfNote(note)}`),
  ...notRotated.map(
    (username) =>
      `${namespace}/${release}: NotRotated: user ${JSON.stringify(username)}: ${NOT_ROTATED_HINT}`,
  ),
]

function summaryOf(
  releases: readonly JobbedRelease[],
  doneBefore: number,
  dryRun: boolean,
): ConvertReport['summary'] {
  const sum = (count: (each: JobbedRelease) => number) =>
    releases.reduce((total, each) => total + count(each), 0)
  const count = (is: (each: JobbedRelease) => boolean) => releases.filter(is).length
  const isLeft = ({ skips }: JobbedRelease) => skips.length > 0
  const would = dryRun ? ' (dry run: nothing was written)' : ''
  return [
    [releases.length, `recorded releases that were looked at${would}`],
    [doneBefore, 'recorded releases that were done before'],
    [
      count((each) => each.is !== 'gone' && !isLeft(each)),
      `releases that ${dryRun ? 'would be' : 'are'} done now`,
    ],
    [count(({ is }) => is === 'gone'), 'releases that do not exist any more'],
    [
      sum(({ accounts }) => accounts.filter(({ result }) => result !== 'unchanged').length),
      'account Secrets that were still missing',
    ],
    [sum(({ passwords }) => passwords), 'passwords taken out of the values of releases'],
    [sum(({ keys }) => keys.length), 'passwords of tenants deleted from the Secrets from before'],
    [count(({ isSecretDeleted }) => isSecretDeleted), 'of these Secrets deleted as a whole'],
    [sum(({ rotated }) => rotated.length), 'passwords of the platform rotated'],
    [sum(({ notRotated }) => notRotated.length), 'passwords of the platform that nobody here can rotate'],
    [count(isLeft), 'releases that were left out, or a part of them'],
  ]
}
