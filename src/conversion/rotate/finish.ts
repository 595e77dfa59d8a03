import { ok, type Result } from '../../core/result.ts'
import type { HelmRelease } from '../../k8s/objects.ts'
import type { Ended } from './look.ts'
import { dropPending, type Pending } from './pending.ts'
import { holds, missingIn } from './rotated.ts'
import type { Patience, ReleaseTarget, RotationServices, Rotator } from './rotator.ts'
import { isStillHeld, lift } from './suspension.ts'
import { upgrade } from './upgrade.ts'

/** An account whose password somebody could read, and how it is changed. */
export interface DueAccount {
  readonly username: string
  /** Of the Secret that its readers read. */
  readonly key: string
  readonly rotator: Rotator
}

/** Why a release must not get new passwords now, by its cause and in words. */
export interface Unfit {
  readonly cause: 'NotSwitched' | 'StillTenantReadable'
  readonly message: string
}

export interface RotationOf extends ReleaseTarget {
  /** Of the HelmRelease. */
  readonly uid: string
  /** The Secret that the readers of the passwords read. */
  readonly secretName: string
  readonly accounts: readonly DueAccount[]
  /** Asked when the release is held, before anything new is made. Undefined when it may go on. */
  readonly recheck: (held: HelmRelease) => Promise<Result<Unfit | undefined>>
}

export type Rotated =
  /** Every account has a password that no tenant could read; these got it now. */
  | { readonly is: 'rotated'; readonly usernames: readonly string[] }
  /** Somebody else has suspended the release. */
  | { readonly is: 'elsewhere' }
  /** What hinders it, in words without a password. What is pending is kept, and a next run goes on with it. */
  | { readonly is: 'hindered'; readonly why: string }
  /** The second look at it, while it was held, said so. */
  | { readonly is: 'unfit'; readonly unfit: Unfit }
  | Ended

/** Undefined: the release was resumed meanwhile, and it begins anew. */
export type Round = Result<Rotated | undefined>

interface Begun {
  readonly pending: Pending
  /** The release when it was held. */
  readonly held: HelmRelease
}

/** What the engine and the Secret have is safe when no upgrade can have begun before the Secret had it. */
export async function finish(
  services: RotationServices,
  of: RotationOf,
  { pending, held }: Begun,
  patience: Patience,
): Promise<Round> {
  const read = await services.kube.getHelmRelease(of.namespace, of.release)
  if (!read.ok) return read
  if (read.value === undefined) return ok({ is: 'gone' })
  if (!isStillHeld(read.value, held)) return ok(undefined)
  const usernames = pending.accounts.map(({ username }) => username)
  const isByUpgrade = of.accounts.some(
    ({ username, rotator }) => rotator.by === 'upgrade' && usernames.includes(username),
  )
  if (isByUpgrade) {
    const upgraded = await upgradeTo(services, of, { pending, held: read.value }, patience)
    if (upgraded !== 'upgraded') return upgraded
  }
  const dropped = await dropPending(services, pending)
  if (!dropped.ok) return dropped
  const lifted = await lift(services, of)
  return lifted.ok ? ok({ is: 'rotated', usernames }) : lifted
}

/** The chart takes the passwords from the Secret, and must leave them there. */
async function upgradeTo(
  services: RotationServices,
  of: RotationOf,
  { pending, held }: Begun,
  patience: Patience,
): Promise<Round | 'upgraded'> {
  const upgraded = await upgrade(services, of, held, patience)
  if (!upgraded.ok || upgraded.value === undefined) return upgraded as Round
  if (upgraded.value !== 'upgraded') return ok(upgraded.value)
  const kept = await services.kube.getSecret(of.namespace, of.secretName)
  if (!kept.ok) return kept
  const secret = kept.value
  const isKept = secret !== undefined && missingIn(secret, pending).every((each) => holds(secret, each))
  return isKept
    ? 'upgraded'
    : ok({ is: 'hindered', why: `its chart has written Secret ${of.secretName} over` })
}
