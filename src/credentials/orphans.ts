import { inTurns } from '../core/in-turns.ts'
import { textAt } from '../core/json.ts'
import type { StoredSecret } from '../k8s/objects.ts'
import { holderOf, isAdoptable, releaseUidIn, usernameIn } from './account-secret.ts'
import { KIND_LABEL } from './application.ts'
import { orphanEvent } from './events.ts'
import type { ListedSecret, ListedSecrets } from './listed.ts'
import { mayBeKnown, readRecord } from './record.ts'
import type { SyncServices } from './sync.ts'

interface Surroundings {
  /** The UIDs of all releases that were listed. */
  readonly living: ReadonlySet<string>
  /** Whether the rules of a kind are known: nothing of any other kind is taken away. */
  readonly isServed: (kind: string) => boolean
  readonly now: number
  readonly graceMs: number
}

/**
 * Account Secrets without an owner whose release may be gone: seeds of creates that failed, and what a restore left. An
 * operator's mark keeps one out of this for ever; one with an owner is the collector's.
 */
export function orphansIn(secrets: ListedSecrets, surroundings: Surroundings): readonly ListedSecret[] {
  return [...secrets.values()].flat().filter((listed) => isOrphan(listed, surroundings))
}

function isOrphan({ secret, touchedAt }: ListedSecret, { living, isServed, now, graceMs }: Surroundings) {
  const { metadata } = secret
  if ((metadata.ownerReferences ?? []).length !== 0 || metadata.deletionTimestamp !== undefined) return false
  const uid = releaseUidIn(secret)
  return (
    uid !== undefined &&
    !living.has(uid) &&
    !isAdoptable(secret) &&
    holderOf(secret, usernameIn(secret) ?? '', uid).is === 'ours' &&
    isServed(textAt(metadata.labels, KIND_LABEL) ?? '') &&
    // A create that is under way has its seed already.
    touchedAt !== undefined &&
    now - touchedAt >= graceMs
  )
}

/** How the orphans fared: the deleted, those that somebody may know the password of, and those that failed. */
export interface OrphanReport {
  readonly deleted: number
  readonly warnings: number
  readonly failures: number
}

interface Options {
  readonly concurrency: number
  readonly signal?: AbortSignal
}

/**
 * Deletes those whose password nobody can know, the very objects that were listed, after their release was looked for
 * once more by its name. The others are an Event each.
 */
export async function sweepOrphans(
  services: SyncServices,
  orphans: readonly ListedSecret[],
  { concurrency, ...options }: Options,
): Promise<OrphanReport> {
  const report = { deleted: 0, warnings: 0, failures: 0 }
  const each = async (orphan: ListedSecret) => {
    const outcome = await sweepOrphan(services, orphan, options)
    if (outcome !== undefined) report[outcome] += 1
  }
  await inTurns(orphans, concurrency, each, options.signal)
  return report
}

async function sweepOrphan(
  { kube, deps, emit }: SyncServices,
  { secret, release: name }: ListedSecret,
  options: Pick<Options, 'signal'>,
): Promise<keyof OrphanReport | undefined> {
  const { namespace = '', name: secretName, uid, resourceVersion } = secret.metadata
  const failed = (reason: string) => {
    deps.log('warn', 'sweep_failed', { namespace, secret: secretName, failure: reason })
    return 'failures' as const
  }
  const release = await kube.getHelmRelease(namespace, name, options)
  if (!release.ok) return failed(release.failure.reason)
  if (release.value !== undefined && release.value.metadata.uid === releaseUidIn(secret)) return undefined
  if (!isUnknown(secret)) {
    emit(orphanEvent(secret))
    return 'warnings'
  }
  const deleted = await kube.deleteSecret(namespace, secretName, { uid, resourceVersion }, options)
  if (deleted.ok) {
    deps.log('info', 'account_secret', { what: 'deleted', namespace, secret: secretName })
    return 'deleted'
  }
  // Somebody has written it since, or was faster.
  const { reason } = deleted.failure
  return reason === 'kube_conflict' || reason === 'kube_absent' ? undefined : failed(reason)
}

/** Whether nobody can hold the password that works now. */
function isUnknown({ metadata }: StoredSecret): boolean {
  const record = readRecord(metadata.annotations)
  return record !== undefined && !mayBeKnown(record.origin)
}
