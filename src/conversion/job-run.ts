import type { Failure } from '../core/failure.ts'
import { inTurns } from '../core/in-turns.ts'
import type { Kube } from '../k8s/kube.ts'
import { type Look, type Looked, type LookServices, lookAt } from './job-look.ts'
import type { JobbedRelease, JobOptions, JobServices } from './job-options.ts'
import { recordResults } from './job-record.ts'
import type { JobRelease, PassServices } from './job-release.ts'
import { tellResult } from './job-tell.ts'

interface Run {
  readonly releases: readonly JobbedRelease[]
  readonly fatal: Fatal | undefined
}

interface Fatal {
  readonly what: string
  readonly failure: Failure
}

interface RunOptions extends JobOptions {
  /** Whom records name. */
  readonly by: string
}

/** Between two looks at those that wait for their charts: at most 50 reads a second, however many they are. */
const pollMs = (releases: number): number => Math.max(5_000, 20 * releases)
/** By one write: etcd keeps a copy of the whole record for each. */
const RECORDED_AT_ONCE = 25

/** Looks at all releases, in rounds: one whose chart does not switch holds up no other. */
export async function runAll(
  services: JobServices,
  releases: readonly JobRelease[],
  options: RunOptions,
): Promise<Run> {
  const stop = new AbortController()
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal])
  const ledger = createLedger(services, options, releases.length)
  const looking: LookServices = { ...services, definitions: recentDefinitions(services) }
  let fatal: Fatal | undefined
  const end = (problem: Fatal | undefined) => {
    fatal ??= problem
    if (fatal !== undefined) stop.abort()
  }

  let left: readonly Look[] = releases.map((of) => ({ of, tries: 0 }))
  while (left.length > 0 && !signal.aborted) {
    const again: Look[] = []
    const each = async (look: Look) => {
      const next = await lookAt(looking, look, { ...options, signal })
      if (next.is === 'again') again.push(next.look)
      if (next.is === 'fatal') end({ what: 'call the Kubernetes API', failure: next.failure })
      if (next.is !== 'looked') return
      await tellResult(services, look.of, next, options.dryRun)
      end(await ledger.add(look.of, next.looked))
    }
    await inTurns(left, options.concurrency, each, signal)
    end(await ledger.write())
    left = again
    if (left.length > 0 && !signal.aborted) await services.wait(pollMs(left.length), signal)
  }
  return { releases: releases.flatMap((of) => ledger.find(of) ?? []), fatal }
}

/** Results, recorded some at a time. A run that is killed before loses what no next run will miss. */
function createLedger(services: JobServices, { dryRun, onProgress }: RunOptions, total: number) {
  const done = new Map<JobRelease, JobbedRelease>()
  const unwritten: { readonly of: JobRelease; readonly result: Looked }[] = []
  const write = async (): Promise<Fatal | undefined> => {
    const batch = unwritten.splice(0)
    if (batch.length === 0 || dryRun) return undefined
    // Without the signal: what is known by now is worth its write.
    const written = await recordResults(services, batch)
    return written.ok ? undefined : { what: 'write the record', failure: written.failure }
  }
  return {
    write,
    find: (of: JobRelease) => done.get(of),
    add: async (of: JobRelease, result: Looked): Promise<Fatal | undefined> => {
      const { namespace, release, recorded } = of
      done.set(of, { namespace, release, kind: recorded.kind, ...result })
      unwritten.push({ of, result })
      const written = unwritten.length < RECORDED_AT_ONCE ? undefined : await write()
      onProgress?.(done.size, total)
      return written
    },
  }
}

const DEFINITIONS_AGE_MS = 15_000

/** They are long, and change with the charts. */
function recentDefinitions({ kube, deps }: JobServices): PassServices['definitions'] {
  let kept: { readonly at: number; readonly listed: ReturnType<Kube['listDefinitions']> } | undefined
  return async () => {
    if (kept === undefined || deps.now() - kept.at > DEFINITIONS_AGE_MS) {
      kept = { at: deps.now(), listed: kube.listDefinitions() }
    }
    const listed = await kept.listed
    if (!listed.ok) kept = undefined
    return listed
  }
}
