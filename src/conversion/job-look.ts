import type { Failure } from '../core/failure.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import { type Skip, skip } from './causes.ts'
import { isPassing } from './convert-release.ts'
import type { JobResult } from './job-record.ts'
import {
  type Jobbed,
  type JobRelease,
  NOTHING,
  type Pass,
  type PassOptions,
  type PassServices,
  passRelease,
} from './job-release.ts'
import { pendingNameOf } from './rotate/pending.ts'
import { isOurs, lift } from './rotate/suspension.ts'
import { aboutOf, notSwitched } from './switched.ts'

export type LookServices = PassServices

/** A release that is to be looked at, and what earlier looks have found. */
export interface Look {
  readonly of: JobRelease
  /** Milliseconds since the epoch; from the first look on. */
  readonly deadline?: number
  /** What was done with its accounts before its chart switched. */
  readonly jobbed?: Jobbed
  /** Looks in which a call has failed. */
  readonly tries: number
}

/** What became of a release. */
export interface Looked extends JobResult, Jobbed {}

type Next =
  | { readonly is: 'again'; readonly look: Look }
  | { readonly is: 'looked'; readonly looked: Looked; readonly release: HelmRelease | undefined }
  /** The signal has fired. */
  | { readonly is: 'ended' }
  /** Our own credentials: it would be the same for every other release. */
  | { readonly is: 'fatal'; readonly failure: Failure }

/** Looks of one release in which a call may fail in a way that passes. */
const MAX_TRIES = 4

/** One look at a release. It is looked at again until its deadline, and then told what it is. A dry run waits for nothing. */
export async function lookAt(
  services: LookServices,
  look: Look,
  options: Omit<PassOptions, 'isFirst'>,
): Promise<Next> {
  const { of, deadline = services.deps.now() + options.timeoutMs } = look
  const isLast = options.dryRun || services.deps.now() >= deadline
  const passed = await passRelease(services, of, { ...options, isFirst: look.jobbed === undefined })
  if (passed.ok) return nextOf(services, { ...look, deadline }, passed.value, { ...options, isLast })
  const { failure } = passed
  if (failure.reason === 'kube_unauthenticated') return { is: 'fatal', failure }
  const tries = look.tries + 1
  const mayPass = isPassing(failure) || failure.reason === 'kube_conflict'
  if (mayPass && tries < MAX_TRIES && !isLast) return { is: 'again', look: { ...look, deadline, tries } }
  const jobbed = look.jobbed ?? NOTHING
  const skips = [...jobbed.skips, skipOf(failure, of)]
  return lookedAt({ ...jobbed, skips }, { isConverted: look.jobbed !== undefined })
}

type LookOptions = Omit<PassOptions, 'isFirst'> & { readonly isLast: boolean }

async function nextOf(
  services: LookServices,
  look: Look,
  pass: Pass,
  { isLast, dryRun }: LookOptions,
): Promise<Next> {
  switch (pass.is) {
    case 'ended':
      return { is: 'ended' }
    case 'gone':
      return withoutRelease(services, look.of, 'that is gone')
    case 'replaced':
      return replaced(services, look.of, pass.release)
    case 'waiting': {
      const jobbed = pass.jobbed ?? look.jobbed ?? NOTHING
      if (!isLast) return { is: 'again', look: { ...look, jobbed } }
      await resume(services, pass.release, dryRun)
      const skips = [...jobbed.skips, notSwitched(pass.release, look.of.recorded)]
      return lookedAt({ ...jobbed, skips }, { isConverted: true, release: pass.release })
    }
    case 'passed': {
      const { release, jobbed } = pass
      if (jobbed.skips.length > 0) await resume(services, release, dryRun)
      const isConverted = jobbed.skips.every(({ cause }) => cause !== 'DefinitionMissing')
      return lookedAt(jobbed, { isConverted, release })
    }
  }
}

/** What is to become of the other one nobody has said: it was not there when the hook ran. */
async function replaced(services: LookServices, of: JobRelease, release: HelmRelease): Promise<Next> {
  const next = await withoutRelease(services, of, 'that another one has replaced')
  const isGone = next.is === 'looked' && next.looked.is === 'gone'
  const skips = [skip('ReleaseReplaced', aboutOf(release))]
  return isGone ? lookedAt({ ...NOTHING, skips }, { isConverted: true, release }) : next
}

/**
 * Its engine may live on: Flux uninstalls nothing of a release that was suspended when it was deleted
 * (helm-controller, `internal/controller/helmrelease_controller.go`, reconcileDelete), and another release may have its
 * volumes. What is pending may then be its only password.
 */
async function withoutRelease(
  { kube, platformNamespace }: LookServices,
  of: JobRelease,
  which: string,
): Promise<Next> {
  const { uid } = of.recorded
  const { namespace, release: name } = of
  const pending = pendingNameOf(uid)
  const read = await kube.getSecret(platformNamespace, pending)
  if (read.ok && read.value === undefined) return gone()
  // Its name first: records cut what is long.
  const about = `Secret ${pending} of a release ${JSON.stringify(name)} ${which}`
  const left = read.ok ? skip('RotationAbandoned', about) : skipOf(read.failure, of)
  const release: HelmRelease = { metadata: { namespace, name, uid }, spec: {} }
  return lookedAt({ ...NOTHING, skips: [left] }, { isConverted: true, release })
}

/** A suspension that a run of ours has left behind must not last, whatever hinders the rest. Best effort. */
async function resume(services: LookServices, release: HelmRelease, dryRun: boolean): Promise<void> {
  const { namespace = '', name } = release.metadata
  if (!dryRun && isOurs(release)) await lift(services, { namespace, release: name })
}

const gone = (): Next => ({
  is: 'looked',
  looked: { ...NOTHING, is: 'gone', isConverted: true },
  release: undefined,
})

const lookedAt = (
  jobbed: Jobbed,
  { isConverted, release }: { readonly isConverted: boolean; readonly release?: HelmRelease },
): Next => ({ is: 'looked', looked: { ...jobbed, is: 'looked', isConverted }, release })

/** In our own words: what was called, and how it failed. */
function skipOf(failure: Failure, { release }: JobRelease): Skip {
  const call = 'call' in failure ? failure.call : ''
  const why = call === '' ? failure.reason : `${failure.reason} (${call})`
  const about = `release ${JSON.stringify(release)}`
  if (call.includes('exec')) return skip('RotationFailed', about, why)
  return skip(/^(get|list) /.test(call) ? 'ReadFailed' : 'WriteRefused', about, why)
}
