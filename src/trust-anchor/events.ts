import { toTimestamp } from '../core/text.ts'
import { regardingRelease, regardingSecret } from '../credentials/events.ts'
import type { HelmRelease, KubeEvent, StoredSecret } from '../k8s/objects.ts'
import type { Publishable, Refused } from './certificates.ts'
import { few } from './few.ts'
import { targetName } from './target.ts'
import { isReady, type Verdict } from './verdict.ts'

/** A warning about a Secret, for as long as it is so. */
export const secretEvent = ({ metadata }: StoredSecret, reason: string, note: string): KubeEvent => ({
  type: 'Warning',
  reason,
  action: 'Publish',
  note,
  isStanding: true,
  regarding: regardingSecret(metadata),
})

/** Why a source is refused; undefined for a blank one, which its operator is going to fill. */
export function refusedEvent(source: StoredSecret, key: string, refused: Refused): KubeEvent | undefined {
  const place = `key ${key} of Secret ${source.metadata.name}`
  switch (refused.is) {
    case 'blank':
      return undefined
    case 'private-key':
      return secretEvent(
        source,
        'CACertPrivateKeyRefused',
        `${place} holds a private key and is not published: name a key that holds the CA's certificate alone`,
      )
    case 'invalid':
      return secretEvent(source, 'CACertInvalid', `${place} is not published: ${refused.why}`)
  }
}

/** What is published all the same, and does not do what it is meant for. By their places: they hold anybody's text. */
export function certificateEvents(
  source: StoredSecret,
  key: string,
  certificates: Publishable['certificates'],
  now: number,
): readonly KubeEvent[] {
  const place = `of key ${key} of Secret ${source.metadata.name}`
  const counted = certificates.map((facts, index) => ({ ...facts, number: index + 1 }))
  const expired = counted
    .filter(({ notAfterMs }) => notAfterMs < now)
    .map(({ number, notAfterMs }) => `${number} (${timeOf(notAfterMs)})`)
  const early = counted
    .filter(({ notBeforeMs }) => notBeforeMs > now)
    .map(({ number, notBeforeMs }) => `${number} (${timeOf(notBeforeMs)})`)
  const warn = (reason: string, note: string) => secretEvent(source, reason, note)
  return [
    ...(expired.length > 0
      ? [
          warn(
            'CACertExpired',
            `published, but clients refuse what has expired: certificate ${few(expired)} ${place}; renew the CA, or take it out`,
          ),
        ]
      : []),
    ...(early.length > 0
      ? [
          warn(
            'CACertNotYetValid',
            `published, but not valid yet: certificate ${few(early)} ${place}; look at the clock of whoever issued it`,
          ),
        ]
      : []),
    ...(certificates.some(({ isAuthority }) => isAuthority)
      ? []
      : [
          warn(
            'CACertNotAuthority',
            `published, but no certificate ${place} is a CA's: many clients trust only a CA as an anchor`,
          ),
        ]),
  ]
}

/** A certificate's dates may be further off than a `Date` reaches. */
const LIMIT_MS = 8.64e15
const timeOf = (milliseconds: number): string =>
  Math.abs(milliseconds) <= LIMIT_MS ? toTimestamp(milliseconds) : 'out of reach'

/** Of legs without a status: what it would say. Nothing is said where nothing is wrong and nothing happened. */
export function releaseEvent(
  release: HelmRelease,
  done: Verdict,
  leg: 'label' | 'name',
): KubeEvent | undefined {
  const regarding = regardingRelease(release)
  const { reason, message: note, wrote } = done
  if (isReady(done))
    return wrote
      ? { type: 'Normal', reason: 'CACertProjected', action: 'Publish', note, regarding }
      : undefined
  if (SILENT.has(reason) || (leg === 'name' && reason === 'SourceNotFound')) return undefined
  return { type: 'Warning', reason: `CACert${reason}`, action: 'Publish', note, isStanding: true, regarding }
}

/** Another leg speaks, or it passes by itself. A row of the table of names is for every release, with TLS or without. */
const SILENT: ReadonlySet<Verdict['reason']> = new Set<Verdict['reason']>([
  'Superseded',
  'ProjectionTerminating',
])

/** Something stands where the projection goes. */
export const collisionEvent = (occupant: StoredSecret): KubeEvent =>
  secretEvent(
    occupant,
    'CACertSecretCollision',
    `Secret ${occupant.metadata.name} holds the name under which a CA is to be published and is left alone: it is not of this declaration; delete it or move it`,
  )

export const stuckEvent = (target: StoredSecret): KubeEvent =>
  secretEvent(
    target,
    'CACertProjectionImmutable',
    `Secret ${target.metadata.name} is immutable and no longer holds what is to be published: delete it, and it is written anew`,
  )

export const occupiedEvent = (secret: StoredSecret): KubeEvent =>
  secretEvent(
    secret,
    'CACertCanonicalNameOccupied',
    `Secret ${secret.metadata.name} has the name of what tenants read and holds a private key, or a keystore that may have one in it: whoever makes it must use another name`,
  )

export const contractEvent = (secret: StoredSecret, deviations: readonly string[]): KubeEvent =>
  secretEvent(
    secret,
    'CACertCanonicalNameContract',
    `Secret ${secret.metadata.name} counts as published as it is, and is not what ${targetName('<release>')} should be: ${deviations.join('; and ')}`,
  )
