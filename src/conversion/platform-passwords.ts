import { own, textAt } from '../core/json.ts'
import { ok, type Result } from '../core/result.ts'
import type { Declarations } from '../definitions/resolve.ts'
import type { CredentialRules } from '../definitions/rules.ts'
import type { HelmRelease, StoredSecret } from '../k8s/objects.ts'
import { type Skip, skip } from './causes.ts'
import type { Note } from './notes.ts'
import type { DueAccount, RotationOf } from './rotate/finish.ts'
import { rotatorOf } from './rotate/index.ts'
import { rotate } from './rotate/rotate.ts'
import { rotatedIn } from './rotate/rotated.ts'
import type { Patience, RotationServices } from './rotate/rotator.ts'

/** The accounts of the platform in a Secret that tenants could read. */
interface PlatformOf {
  readonly release: HelmRelease
  readonly rules: Pick<CredentialRules, 'legacy'>
  /** Of the application. */
  readonly kind: string
  readonly declared: Declarations
}

interface PlatformAccounts {
  /** Those that somebody here can rotate, whether it is done already or not. */
  readonly rotatable: readonly DueAccount[]
  /** Usernames of those of them that still have the password that tenants could read. */
  readonly due: readonly string[]
  /** Usernames of the others that have it. */
  readonly notRotated: readonly string[]
}

/** Whoever has rotated one by hand says so by the mark that a rotation leaves on the Secret. */
export function platformAccounts(
  secret: StoredSecret | undefined,
  { rules, kind, declared }: PlatformOf,
): PlatformAccounts {
  const rotated = secret === undefined ? undefined : rotatedIn(secret)
  const isDue = (username: string) =>
    Boolean(textAt(own(secret, 'data'), rules.legacy.key(username))) && rotated?.has(username) !== true
  const usernames = declared.accounts
    .filter(({ owner }) => owner === 'platform')
    .map(({ username }) => username)
  const rotatable = usernames.flatMap((username) => {
    const rotator = rotatorOf(kind, username)
    return rotator === undefined ? [] : [{ username, key: rules.legacy.key(username), rotator }]
  })
  const isRotatable = (username: string) => rotatable.some((each) => each.username === username)
  return {
    rotatable,
    due: usernames.filter((username) => isRotatable(username) && isDue(username)),
    notRotated: usernames.filter((username) => !isRotatable(username) && isDue(username)),
  }
}

/** What who runs these engines must know when they have been rotated. */
export const notesOfRotated = (kind: string, usernames: readonly string[]): readonly Note[] =>
  usernames.flatMap((username) => {
    const rotator = rotatorOf(kind, username)
    return rotator?.by === 'exec' ? [{ is: 'Restarts', username, what: rotator.after }] : []
  })

/** `gone`: there is no such release any more. `ended`: the signal has fired. */
export type PlatformRotated =
  | { readonly is: 'rotated'; readonly usernames: readonly string[] }
  | { readonly is: 'skipped'; readonly skip: Skip }
  | { readonly is: 'gone' | 'ended' }

/** Rotates them, and goes on with what another run has begun; a suspension of ours is lifted in any case. Fails as calls do. */
export async function rotatePlatform(
  services: RotationServices,
  { release, rules, recheck }: PlatformOf & Pick<RotationOf, 'recheck'>,
  accounts: readonly DueAccount[],
  patience: Patience,
): Promise<Result<PlatformRotated>> {
  const { namespace = '', name, uid } = release.metadata
  const of = { namespace, release: name, uid, secretName: rules.legacy.secretName(name), accounts, recheck }
  const rotated = await rotate(services, of, patience)
  if (!rotated.ok) return rotated
  const about = `release ${JSON.stringify(name)}`
  const skipped = (skip: Skip) => ok({ is: 'skipped', skip } as const)
  switch (rotated.value.is) {
    case 'elsewhere':
      return skipped(skip('SuspendedElsewhere', about))
    case 'unfit':
      return skipped(rotated.value.unfit)
    case 'hindered':
      return skipped(skip('RotationFailed', about, rotated.value.why))
    case 'late':
      return skipped(skip('RotationFailed', about, 'it was not Ready in time'))
    default:
      return ok(rotated.value)
  }
}
