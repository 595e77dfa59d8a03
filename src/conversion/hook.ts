import type { Deps } from '../core/deps.ts'
import type { Failure } from '../core/failure.ts'
import { inTurns } from '../core/in-turns.ts'
import { ok, type Result } from '../core/result.ts'
import type { Kube } from '../k8s/kube.ts'
import type { KubeEvent } from '../k8s/objects.ts'
import { hintOf, skip } from './causes.ts'
import { chartVersionOf } from './chart-version.ts'
import { convertRelease, isPassing } from './convert-release.ts'
import type { Converted } from './convertible.ts'
import type { ConvertedKind } from './definitions.ts'
import { skipEvents } from './events.ts'
import { recordReleases, recordSkips } from './hook-record.ts'
import { wordsOfNote } from './notes.ts'
import type { RecordedRelease } from './record.ts'
import { type ConversionRecord, type RecordPlace, readRecord } from './record-store.ts'
import { watchRefusals } from './refusals.ts'
import { type KindRelease, listReleases } from './releases.ts'

export interface HookServices extends RecordPlace {
  readonly kube: Pick<
    Kube,
    'getSecret' | 'createSecret' | 'updateSecret' | 'listHelmReleases' | 'createEvent' | 'whoAmI'
  >
  readonly deps: Pick<Deps, 'now' | 'randomBytes' | 'log'>
  /** Resolves after so many milliseconds. */
  readonly wait: (milliseconds: number) => Promise<void>
}

export interface HookOptions {
  readonly kinds: readonly ConvertedKind[]
  /** Undefined: all. */
  readonly namespace: string | undefined
  readonly dryRun: boolean
  /** How many releases at a time. */
  readonly concurrency: number
  /** What has begun ends, and nothing more begins. */
  readonly signal?: AbortSignal
  readonly onProgress?: (done: number, total: number) => void
}

/** What became of a release. */
export interface HookedRelease extends Converted {
  readonly namespace: string
  readonly release: string
  readonly kind: string
  readonly chartVersion: string
  /** The job was done with it before: it was left alone. */
  readonly isDone: boolean
}

export type HookOutcome =
  | {
      readonly is: 'finished' | 'interrupted'
      readonly releases: readonly HookedRelease[]
      readonly total: number
    }
  /** What concerns the whole fleet: `what` could not be done. What was written stays. */
  | { readonly is: 'failed'; readonly what: string; readonly failure: Failure }
  /** Keys of the record that somebody has made unreadable: what they said must not be guessed. */
  | { readonly is: 'unreadable'; readonly keys: readonly string[] }

/**
 * Before any chart changes: records which chart version each release of these kinds is on, once, and writes the account
 * Secrets of their tenant accounts from the passwords that they have. A release that cannot be converted, as a whole or in
 * part, is named in the log, the record and an Event, and stops no other. Another run goes on where this one ended.
 */
export async function hook(services: HookServices, options: HookOptions): Promise<HookOutcome> {
  const { signal, dryRun } = options
  const call = signal === undefined ? {} : { signal }
  const self = await services.kube.whoAmI(call)
  if (!self.ok) return unbegun('ask who we are', self.failure, signal)
  const listed = await listReleases(services.kube, options.kinds, options.namespace, call)
  if (!listed.ok) return unbegun('list HelmReleases', listed.failure, signal)
  const known = await readRecord(services, call)
  if (!known.ok) return unbegun('read the record', known.failure, signal)
  const { releases: recorded, unreadable } = known.value
  if (unreadable.length > 0) return { is: 'unreadable', keys: unreadable }
  const opened = dryRun ? ok(undefined) : await recordReleases(services, listed.value, recorded, options)
  if (!opened.ok) return unbegun('write the record', opened.failure, signal)
  const { kube, always } = watchRefusals(services.kube)
  const all = { ...services, kube }
  const done = await convertAll(all, listed.value, recorded, { ...options, by: self.value })
  // Without the signal: what is known by now is worth its write.
  const written = dryRun
    ? ok(undefined)
    : await recordSkips(
        services,
        done.releases.map(({ of, hooked }) => ({ of, ...hooked })),
      )
  if (!written.ok) return failed('write the record', written.failure)
  const fatal = done.fatal ?? always()
  if (fatal !== undefined) return failed('read and write account Secrets', fatal)
  const releases = done.releases.map(({ hooked }) => hooked)
  return { is: signal?.aborted ? 'interrupted' : 'finished', releases, total: listed.value.length }
}

const failed = (what: string, failure: Failure): HookOutcome => ({ is: 'failed', what, failure })

/** A call that fails once the signal has fired was cut off by it. */
const unbegun = (what: string, failure: Failure, signal: AbortSignal | undefined): HookOutcome =>
  signal?.aborted ? { is: 'interrupted', releases: [], total: 0 } : failed(what, failure)

type Recorded = ConversionRecord['releases']

interface Hooked {
  readonly of: KindRelease
  readonly hooked: HookedRelease
}

interface All {
  readonly releases: readonly Hooked[]
  /** What would be the same for every other release. */
  readonly fatal: Failure | undefined
}

async function convertAll(
  services: HookServices,
  releases: readonly KindRelease[],
  recorded: Recorded,
  { concurrency, signal, onProgress, ...options }: HookOptions & { readonly by: string },
): Promise<All> {
  const done = new Map<KindRelease, Hooked>()
  const stop = new AbortController()
  const stops = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal])
  let fatal: Failure | undefined
  const each = async (of: KindRelease) => {
    const converted = await convertOne(services, of, recorded.get(of.key), options)
    if (converted.ok) {
      done.set(of, { of, hooked: converted.value })
      await tell(services, of, converted.value, options.dryRun)
    } else {
      fatal = converted.failure
      stop.abort()
      const { namespace = '', name } = of.release.metadata
      const secret = 'secret' in fatal ? { secret: fatal.secret } : {}
      services.deps.log('error', 'conversion_failed', {
        namespace,
        release: name,
        reason: fatal.reason,
        ...secret,
      })
    }
    onProgress?.(done.size, releases.length)
  }
  await inTurns(releases, concurrency, each, stops)
  return { releases: releases.flatMap((of) => done.get(of) ?? []), fatal }
}

const MAX_TRIES = 4
const FIRST_WAIT_MS = 500

/** Fails only with what concerns every release. */
async function convertOne(
  services: HookServices,
  of: KindRelease,
  recorded: RecordedRelease | undefined,
  options: { readonly by: string; readonly dryRun: boolean },
  tries = 1,
): Promise<Result<HookedRelease>> {
  const { namespace = '', name, uid } = of.release.metadata
  const { kind } = of.application
  const about = { namespace, release: name, kind, chartVersion: chartVersionOf(of.release) }
  const nothing: Converted = { accounts: [], skips: [], notes: [] }
  if (recorded?.uid === uid && recorded.done !== undefined) {
    return ok({ ...about, ...nothing, isDone: true })
  }
  const converted = await convertRelease(services, of, options)
  if (converted.ok) return ok({ ...about, ...converted.value.converted, isDone: false })
  const { failure } = converted
  if (isPassing(failure) && tries < MAX_TRIES) {
    await services.wait(waitAfter(failure, tries))
    return convertOne(services, of, recorded, options, tries + 1)
  }
  if (isOfFleet(failure)) return converted
  const skips = [skip('ReadFailed', `release ${JSON.stringify(name)}`, failure.reason)]
  return ok({ ...about, ...nothing, skips, isDone: false })
}

/** Our own credentials, or something that changes what we write: the same for every other release. */
const isOfFleet = ({ reason }: Failure): boolean =>
  reason === 'kube_unauthenticated' || reason === 'value_altered'

const waitAfter = (failure: Failure, tries: number): number =>
  failure.reason === 'kube_overloaded' && failure.retryAfterSeconds !== undefined
    ? failure.retryAfterSeconds * 1000
    : FIRST_WAIT_MS * 2 ** (tries - 1)

/** In the log, and by Events, of which a lost one is said again by the next run. */
async function tell(
  { kube, deps }: HookServices,
  { release }: KindRelease,
  { namespace, release: name, kind, isDone, ...hooked }: HookedRelease,
  dryRun: boolean,
): Promise<void> {
  const about = { namespace, release: name, kind }
  const count = (result: string) => hooked.accounts.filter((each) => each.result === result).length
  deps.log('info', 'conversion_release', {
    ...about,
    ...(isDone ? { isDone } : {}),
    converted: count('converted'),
    replaced: count('replaced'),
    unchanged: count('unchanged'),
    skipped: hooked.skips.length,
    dryRun,
  })
  for (const note of hooked.notes) deps.log('warn', 'conversion_note', { ...about, note: wordsOfNote(note) })
  for (const { cause, message } of hooked.skips) {
    deps.log('warn', 'conversion_skipped', { ...about, cause, message, hint: hintOf(cause) })
  }
  if (dryRun) return
  for (const event of skipEvents(release, hooked.skips)) await sendEvent(kube, deps, event)
}

/** One try: what is so is said again by the next run. */
export async function sendEvent(
  { createEvent }: Pick<Kube, 'createEvent'>,
  { now, log }: Pick<Deps, 'now' | 'log'>,
  event: KubeEvent,
): Promise<void> {
  const sent = await createEvent(event, now())
  if (!sent.ok) log('warn', 'event_lost', { reason: event.reason, failure: sent.failure.reason })
}
