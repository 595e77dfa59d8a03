import { ok, type Result } from '../core/result.ts'
import { applicationOf } from '../credentials/application.ts'
import { resolveDeclared } from '../definitions/resolve.ts'
import type { HelmRelease, StoredSecret } from '../k8s/objects.ts'
import { readBefore } from './before.ts'
import { type Skip, skip } from './causes.ts'
import { chartVersionOf } from './chart-version.ts'
import { clearSecret, clearValues } from './clear.ts'
import { type Conversion, convertRelease } from './convert-release.ts'
import type { Converted, Convertible } from './convertible.ts'
import type { ConvertedKind } from './definitions.ts'
import { type Known, keysLeft, notesOfKept, withoutPasswords } from './leftovers.ts'
import { notesOfRotated, platformAccounts, rotatePlatform } from './platform-passwords.ts'
import type { RecordedRelease } from './record.ts'
import type { RotationServices } from './rotate/rotator.ts'
import { dropStaleMark, isElsewhere, isOurs } from './rotate/suspension.ts'
import { aboutOf, hasSwitched, type ReadableServices, recheckHeld, stillReadable } from './switched.ts'

export interface PassServices extends RotationServices, ReadableServices {
  readonly conversionKube: RotationServices['conversionKube'] & ReadableServices['conversionKube']
}

/** A release that the hook has recorded. */
export interface JobRelease {
  readonly key: string
  readonly namespace: string
  readonly release: string
  readonly recorded: RecordedRelease
  /** Undefined when no definition says how its credentials are made. */
  readonly kind: ConvertedKind | undefined
}

export interface PassOptions {
  /** Whom records name. */
  readonly by: string
  readonly dryRun: boolean
  /** Milliseconds that may go by from now on until its passwords are rotated. */
  readonly timeoutMs: number
  /** Its accounts have not been looked at yet. */
  readonly isFirst: boolean
  /** Ends waiting. A call that has begun ends by itself. */
  readonly signal?: AbortSignal
}

/** What was done with a release; in a dry run what would be. */
export interface Jobbed extends Converted {
  /** That it is on now. */
  readonly chartVersion: string
  /** Passwords in the clear that were taken out of its values. */
  readonly passwords: number
  /** Of tenants' passwords that were deleted from the Secret from before. */
  readonly keys: readonly string[]
  readonly isSecretDeleted: boolean
  /** Usernames of platform accounts that have a new password. */
  readonly rotated: readonly string[]
  /** Usernames of those that no rotator knows. */
  readonly notRotated: readonly string[]
}

export type Pass =
  /** Nothing is left to do but what is skipped. */
  | { readonly is: 'passed'; readonly release: HelmRelease; readonly jobbed: Jobbed }
  /** Its chart has not switched. Without `jobbed` when its accounts were looked at before. */
  | { readonly is: 'waiting'; readonly release: HelmRelease; readonly jobbed: Jobbed | undefined }
  /** There is no such release any more. */
  | { readonly is: 'gone' }
  /** Nor is there this one, and another one has its name. */
  | { readonly is: 'replaced'; readonly release: HelmRelease }
  /** The signal has fired. */
  | { readonly is: 'ended' }

/**
 * One look at a release, and all that is to be done when its chart has switched: it may be cut off anywhere and done
 * again. Fails as calls do; what was written stays.
 */
export async function passRelease(
  services: PassServices,
  of: JobRelease,
  options: PassOptions,
): Promise<Result<Pass>> {
  const read = await services.kube.getHelmRelease(of.namespace, of.release)
  if (!read.ok) return read
  if (read.value === undefined) return ok({ is: 'gone' })
  if (read.value.metadata.uid !== of.recorded.uid) {
    return ok({ is: 'replaced', release: read.value })
  }
  if (read.value.metadata.deletionTimestamp !== undefined) return ok({ is: 'gone' })
  const unmarked = options.dryRun ? ok(read.value) : await dropStaleMark(services, read.value)
  return unmarked.ok ? passFound(services, of, unmarked.value, options) : unmarked
}

async function passFound(
  services: PassServices,
  of: JobRelease,
  release: HelmRelease,
  options: PassOptions,
): Promise<Result<Pass>> {
  const { by, dryRun } = options
  const nothing: Jobbed = { ...NOTHING, chartVersion: chartVersionOf(release) }
  const application = applicationOf(release)
  if (of.kind === undefined || application === undefined) {
    const skips = [skip('DefinitionMissing', aboutOf(release), of.recorded.kind)]
    return ok({ is: 'passed', release, jobbed: { ...nothing, skips } })
  }
  const isSwitched = hasSwitched(release, of.recorded)
  const waits = !isSwitched && !isElsewhere(release)
  if (waits && !options.isFirst) return ok({ is: 'waiting', release, jobbed: undefined })
  // Before the chart switches, too: it may take the passwords with it.
  const convertible: Convertible = { release, application, ...of.kind }
  const conversion = await convertRelease(services, convertible, { by, dryRun })
  if (!conversion.ok) return conversion
  const jobbed: Jobbed = { ...nothing, ...conversion.value.converted }
  if (waits) return ok({ is: 'waiting', release, jobbed })
  if (isElsewhere(release)) {
    return ok(passed(release, jobbed, skip('SuspendedElsewhere', aboutOf(release))))
  }
  const { checked } = conversion.value
  return settle(services, { ...convertible, recorded: of.recorded, checked }, jobbed, options)
}

/** Of a release with which nothing was done. */
export const NOTHING = {
  chartVersion: '',
  accounts: [],
  skips: [],
  notes: [],
  passwords: 0,
  keys: [],
  isSecretDeleted: false,
  rotated: [],
  notRotated: [],
} as const satisfies Jobbed

const passed = (release: HelmRelease, jobbed: Jobbed, ...skips: readonly Skip[]): Pass => ({
  is: 'passed',
  release,
  jobbed: { ...jobbed, skips: [...jobbed.skips, ...skips] },
})

/** What is in the clear goes, and what tenants could read is rotated. */
async function settle(
  services: PassServices,
  of: Convertible & Pick<JobRelease, 'recorded'> & Pick<Conversion, 'checked'>,
  jobbed: Jobbed,
  options: PassOptions,
): Promise<Result<Pass>> {
  const { release, rules } = of
  const before = await readBefore(services, of, {})
  if (!before.ok) return before
  const open = await stillReadable(services, before.value, release)
  if (!open.ok) return open
  if (open.value !== undefined) return ok(passed(release, jobbed, open.value))
  const declared = await resolveDeclared(rules, release)
  const known = { ...of, kind: of.application.kind, declared, converted: namesIn(jobbed) }
  return options.dryRun
    ? ok(planned(known, before.value, jobbed))
    : clear(services, known, { jobbed, before: before.value }, options)
}

const namesIn = ({ accounts }: Jobbed): ReadonlySet<string> =>
  new Set(accounts.map(({ username }) => username))

type KnownRelease = Known & Convertible & Pick<JobRelease, 'recorded'>

const withRotated = (jobbed: Jobbed, kind: string, rotated: readonly string[]): Jobbed => ({
  ...jobbed,
  rotated,
  notes: [...jobbed.notes, ...notesOfRotated(kind, rotated)],
})

function planned(known: KnownRelease, secret: StoredSecret | undefined, jobbed: Jobbed): Pass {
  const { keys = [], isAll = false } = secret === undefined ? {} : keysLeft(secret, known)
  const { due, notRotated } = platformAccounts(isAll ? undefined : secret, known)
  const plan = {
    ...jobbed,
    notes: [...jobbed.notes, ...notesOfKept(known, secret)],
    passwords: withoutPasswords(known.rules, known.release, known.converted).length,
    keys,
    isSecretDeleted: isAll,
    notRotated,
  }
  return passed(known.release, withRotated(plan, known.kind, due))
}

async function clear(
  services: PassServices,
  known: KnownRelease,
  { jobbed, before }: { readonly jobbed: Jobbed; readonly before: StoredSecret | undefined },
  options: PassOptions,
): Promise<Result<Pass>> {
  const { release, rules } = known
  const passwords = await clearValues(services, known, release)
  if (!passwords.ok) return passwords
  if (passwords.value === undefined) return ok({ is: 'gone' })
  const cleared = await clearSecret(services, before, (secret) => keysLeft(secret, known))
  if (!cleared.ok) return cleared
  const { keys, isDeleted, secret } = cleared.value
  const { rotatable, notRotated } = platformAccounts(secret, known)
  const notes = [...jobbed.notes, ...notesOfKept(known, secret)]
  const done = { ...jobbed, notes, passwords: passwords.value, keys, isSecretDeleted: isDeleted, notRotated }
  if (rotatable.length === 0 && !isOurs(release)) return ok(passed(release, done))
  const { signal, timeoutMs } = options
  const patience = { deadline: services.deps.now() + timeoutMs, ...(signal && { signal }) }
  const checked = { recorded: known.recorded, secretName: rules.legacy.secretName(release.metadata.name) }
  const recheck = (held: HelmRelease) => recheckHeld(services, held, checked)
  const rotated = await rotatePlatform(services, { ...known, recheck }, rotatable, patience)
  if (!rotated.ok) return rotated
  switch (rotated.value.is) {
    case 'rotated':
      return ok(passed(release, withRotated(done, known.kind, rotated.value.usernames)))
    case 'skipped':
      return ok(passed(release, done, rotated.value.skip))
    default:
      return ok({ is: rotated.value.is })
  }
}
