import type { Deps } from '../core/deps.ts'
import type { Result } from '../core/result.ts'
import { toTimestamp } from '../core/text.ts'
import { isHookCause, type Skip } from './causes.ts'
import type { JobRelease } from './job-release.ts'
import { type RecordedRelease, withSkips } from './record.ts'
import { changeRecord, type EntryChange, type RecordPlace } from './record-store.ts'

interface Services extends RecordPlace {
  readonly deps: Pick<Deps, 'now'>
}

/** What became of a release. */
export interface JobResult {
  /** `gone`: there is no such release any more. */
  readonly is: 'looked' | 'gone'
  readonly skips: readonly Skip[]
  readonly notRotated: readonly string[]
  /** What the hook had left out was tried again: only what is left out now counts. */
  readonly isConverted: boolean
}

/** Many releases are recorded by one write. */
export function recordResults(
  services: Services,
  results: readonly { readonly of: JobRelease; readonly result: JobResult }[],
): Promise<Result<undefined>> {
  const at = toTimestamp(services.deps.now())
  const changes = new Map<string, EntryChange>()
  for (const { of, result } of results) {
    // Somebody may have recorded another release of this name meanwhile.
    changes.set(of.key, (current) =>
      current?.uid === of.recorded.uid ? entryOf(current, result, at) : current,
    )
  }
  return changeRecord(services, changes)
}

function entryOf(current: RecordedRelease, result: JobResult, at: string): RecordedRelease | undefined {
  const { is, skips, notRotated, isConverted } = result
  if (is === 'gone') return undefined
  const { done: _done, notRotated: _before, skipped = [], ...rest } = current
  const kept = isConverted ? [] : skipped.filter(({ cause }) => isHookCause(cause))
  const entry = withSkips(rest, skips, at, kept)
  return {
    ...entry,
    ...(entry.skipped === undefined ? { done: current.done ?? at } : {}),
    ...(notRotated.length === 0 ? {} : { notRotated }),
  }
}
