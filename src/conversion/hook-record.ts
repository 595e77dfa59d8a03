import type { Deps } from '../core/deps.ts'
import { inTurns } from '../core/in-turns.ts'
import { isSameJson } from '../core/json.ts'
import { type Failed, ok, type Result } from '../core/result.ts'
import { toTimestamp } from '../core/text.ts'
import type { CallOptions } from '../k8s/kube.ts'
import { isHookCause, type Skip } from './causes.ts'
import { chartVersionOf } from './chart-version.ts'
import type { ConvertServices } from './convertible.ts'
import { isOfSwitchedChart } from './new-release.ts'
import { isRecordKey, type RecordedRelease, recordedOnce, shortSkips, withSkips } from './record.ts'
import { type ConversionRecord, changeRecord, type EntryChange, type RecordPlace } from './record-store.ts'
import type { KindRelease } from './releases.ts'

interface Services extends RecordPlace {
  readonly deps: Pick<Deps, 'now'>
}

interface RecordOptions {
  readonly concurrency: number
  readonly signal?: AbortSignal
}

/**
 * Records which chart version each release is on, unless that is recorded already. Before anything else is written: it
 * must be known when the charts have switched. One that is of a chart that has switched is not recorded: what stands there
 * of an earlier release of its name is taken out.
 */
export async function recordReleases(
  services: Services & ConvertServices,
  releases: readonly KindRelease[],
  recorded: ConversionRecord['releases'],
  { concurrency, signal }: RecordOptions,
): Promise<Result<undefined>> {
  const call: CallOptions = signal === undefined ? {} : { signal }
  const at = toTimestamp(services.deps.now())
  // One of no valid key would spoil the write for all of them.
  const todo = releases.filter(({ key, release }) => {
    const entry = recorded.get(key)
    return isRecordKey(key) && (entry?.uid !== release.metadata.uid || entry.chartVersion === '')
  })
  const unseen = todo.filter(({ key, release }) => recorded.get(key)?.uid !== release.metadata.uid)
  const switched = await switchedOf(services, unseen, { concurrency, call })
  if (!switched.ok) return switched
  const changes = new Map<string, EntryChange>()
  for (const of of todo) {
    const { uid } = of.release.metadata
    const seen = { uid, kind: of.application.kind, chartVersion: chartVersionOf(of.release), at }
    const isNew = switched.value.has(of)
    changes.set(of.key, (current) => (isNew ? ofThis(current, uid) : recordedOnce(current, seen)))
  }
  return changes.size === 0 ? ok(undefined) : changeRecord(services, changes, call)
}

/** Fails when our credentials are refused. */
async function switchedOf(
  services: ConvertServices,
  releases: readonly KindRelease[],
  { concurrency, call }: { readonly concurrency: number; readonly call: CallOptions },
): Promise<Result<ReadonlySet<KindRelease>>> {
  const switched = new Set<KindRelease>()
  let failed: Failed | undefined
  const each = async (of: KindRelease) => {
    if (failed !== undefined) return
    const found = await isOfSwitchedChart(services, of, call)
    if (!found.ok) failed = found
    else if (found.value) switched.add(of)
  }
  await inTurns(releases, concurrency, each, call.signal)
  return failed ?? ok(switched)
}

const ofThis = (current: RecordedRelease | undefined, uid: string): RecordedRelease | undefined =>
  current?.uid === uid ? current : undefined

interface Left {
  readonly of: KindRelease
  readonly skips: readonly Skip[]
  readonly isDone: boolean
}

/** Records what the hook has left out, by one write for all of them. */
export async function recordSkips(services: Services, releases: readonly Left[]): Promise<Result<undefined>> {
  const at = toTimestamp(services.deps.now())
  const changes = new Map<string, EntryChange>()
  for (const { of, skips, isDone } of releases) {
    if (!isDone) changes.set(of.key, (current) => leftOut(current, of, skips, at))
  }
  return changes.size === 0 ? ok(undefined) : changeRecord(services, changes)
}

/** What the job has left out stays until the job says otherwise. */
function leftOut(
  current: RecordedRelease | undefined,
  { release }: KindRelease,
  skips: readonly Skip[],
  at: string,
): RecordedRelease | undefined {
  if (current?.uid !== release.metadata.uid) return current
  const { skipped = [] } = current
  const ofHook = skipped.filter(({ cause }) => isHookCause(cause))
  const isSame = isSameJson(
    ofHook.map(({ cause, message }) => ({ cause, message })),
    shortSkips(skips),
  )
  const ofJob = skipped.filter(({ cause }) => !isHookCause(cause))
  return isSame ? current : withSkips(current, skips, at, ofJob)
}
