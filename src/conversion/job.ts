import type { Failure } from '../core/failure.ts'
import { ok } from '../core/result.ts'
import type { Skip } from './causes.ts'
import type { ConvertedKind } from './definitions.ts'
import { kindsOfRecord } from './job-kinds.ts'
import type { JobbedRelease, JobOptions, JobServices } from './job-options.ts'
import type { JobRelease } from './job-release.ts'
import { runAll } from './job-run.ts'
import { recordKeyOf, releaseOfKey } from './record.ts'
import { type ConversionRecord, readRecord } from './record-store.ts'

export type JobOutcome =
  | {
      readonly is: 'finished' | 'interrupted'
      readonly releases: readonly JobbedRelease[]
      /** That were to be looked at. */
      readonly total: number
      /** That another run was done with. */
      readonly doneBefore: number
      /** That are not done and were not to be looked at, since they are of other namespaces. */
      readonly elsewhere: number
      /** What is recorded as left out now, of releases that were not looked at too, such as those of other namespaces. */
      readonly skipped: readonly RecordedSkipOf[]
    }
  /** What concerns the whole fleet: `what` could not be done. What was written stays. */
  | { readonly is: 'failed'; readonly what: string; readonly failure: Failure }
  /** Keys of the record that somebody has made unreadable: what they said must not be guessed. */
  | { readonly is: 'unreadable'; readonly keys: readonly string[] }

interface RecordedSkipOf extends Skip {
  readonly namespace: string
  readonly release: string
}

const failed = (what: string, failure: Failure): JobOutcome => ({ is: 'failed', what, failure })

/** A call that fails once the signal has fired was cut off by it. */
const unbegun = (what: string, failure: Failure, signal: AbortSignal | undefined): JobOutcome =>
  signal?.aborted
    ? { is: 'interrupted', releases: [], total: 0, doneBefore: 0, elsewhere: 0, skipped: [] }
    : failed(what, failure)

/**
 * After the charts have switched: of every release that the hook has recorded, waits until it is on another chart version,
 * takes away what is left in the clear and rotates what tenants could read. A release that cannot be finished is named in
 * the log, the record and an Event, and stops no other. Another run goes on where this one ended.
 */
export async function job(services: JobServices, options: JobOptions): Promise<JobOutcome> {
  const { signal, dryRun } = options
  const call = signal === undefined ? {} : { signal }
  const self = await services.kube.whoAmI(call)
  if (!self.ok) return unbegun('ask who we are', self.failure, signal)
  const known = await readRecord(services, call)
  if (!known.ok) return unbegun('read the record', known.failure, signal)
  const { releases: recorded, unreadable } = known.value
  if (unreadable.length > 0) return { is: 'unreadable', keys: unreadable }
  const inCluster = await services.kube.listDefinitions(call)
  if (!inCluster.ok) return unbegun('list the definitions', inCluster.failure, signal)
  const chosen = chosenOf(recorded, options.namespace)
  const todo = chosen.filter(isOpen)
  const elsewhere = chosenOf(recorded, undefined).filter(isOpen).length - todo.length
  const recordedKinds = new Set(todo.map((each) => each.recorded.kind))
  const kinds = kindsOfRecord(recordedKinds, options.files, inCluster.value, options.hosts)
  if (!kinds.ok) return failed('read the definitions', kinds.failure)

  const run = await runAll(services, withKinds(todo, kinds.value), { ...options, by: self.value })
  if (run.fatal !== undefined) return failed(run.fatal.what, run.fatal.failure)
  const skipped = dryRun ? ok(skippedIn(run.releases)) : await recordedSkips(services, run.releases)
  if (!skipped.ok) return failed('read the record', skipped.failure)
  return {
    is: signal?.aborted ? 'interrupted' : 'finished',
    releases: run.releases,
    total: todo.length,
    doneBefore: chosen.length - todo.length,
    elsewhere,
    skipped: skipped.value,
  }
}

type Chosen = Omit<JobRelease, 'kind'>

function chosenOf(recorded: ConversionRecord['releases'], namespace: string | undefined): readonly Chosen[] {
  return [...recorded].flatMap(([key, entry]) => {
    const of = releaseOfKey(key)
    const isChosen = of !== undefined && (namespace === undefined || of.namespace === namespace)
    return isChosen ? [{ key, ...of, recorded: entry }] : []
  })
}

const isOpen = ({ recorded: { done, notRotated } }: Chosen): boolean =>
  done === undefined || notRotated !== undefined

const withKinds = (
  chosen: readonly Chosen[],
  kinds: ReadonlyMap<string, ConvertedKind>,
): readonly JobRelease[] => chosen.map((each) => ({ ...each, kind: kinds.get(each.recorded.kind) }))

const skippedIn = (releases: readonly JobbedRelease[]): readonly RecordedSkipOf[] =>
  releases.flatMap(({ namespace, release, skips }) =>
    skips.map(({ cause, message }) => ({ namespace, release, cause, message })),
  )

/**
 * As the record has it, which is short: what this run has said of a release is told in full. Without the signal: the exit
 * status depends on it.
 */
async function recordedSkips(services: JobServices, releases: readonly JobbedRelease[]) {
  const read = await readRecord(services)
  if (!read.ok) return read
  const looked = new Map(releases.map((each) => [recordKeyOf(each.namespace, each.release), each.skips]))
  return ok(
    [...read.value.releases].flatMap(([key, { skipped = [] }]) => {
      const of = releaseOfKey(key) ?? { namespace: '', release: key }
      const now = looked.get(key) ?? []
      const isSaid = ({ cause }: Skip) => now.some((each) => each.cause === cause)
      // Another run may be done with it by now.
      const all = skipped.some(isSaid) ? [...now, ...skipped.filter((each) => !isSaid(each))] : skipped
      return all.map(({ cause, message }): RecordedSkipOf => ({ ...of, cause, message }))
    }),
  )
}
