import { textAt } from '../core/json.ts'
import { ok, type Result } from '../core/result.ts'
import { fromBase64 } from '../core/text.ts'
import type { CallOptions } from '../k8s/kube.ts'
import { isDnsSubdomain } from '../k8s/names.ts'
import type { KubeEvent, StoredSecret } from '../k8s/objects.ts'
import { judgeCanonical } from './canonical.ts'
import type { Publishable } from './certificates.ts'
import type { Source } from './claim.ts'
import { certificateEvents, collisionEvent, refusedEvent, stuckEvent } from './events.ts'
import { isDataKey } from './names.ts'
import type { Selectors } from './selectors-digest.ts'
import type { AnchorServices } from './services.ts'
import {
  type Desired,
  hasSelectors,
  healed,
  isLeftOver,
  isOwnedBy,
  isStuck,
  newTarget,
  type Owner,
  targetName,
} from './target.ts'
import { refused, type Verdict, verdict } from './verdict.ts'

/** One CA that is to be published. */
export interface Wanted {
  readonly namespace: string
  readonly release: string
  readonly owner: Owner
  readonly source: Source
  /** What stands in its place, read before the source was: whoever wrote a newer one since makes this write a conflict. */
  readonly target: StoredSecret | undefined
  readonly selectors: Selectors
}

/**
 * The one way by which anything is published, whoever declared it. Fails with a `kube_*` reason: with `kube_conflict`,
 * `kube_exists` or `kube_absent` when somebody else was there first, and all has to be read again.
 */
export async function publish(
  services: AnchorServices,
  wanted: Wanted,
  options: CallOptions,
): Promise<Result<Verdict>> {
  const { namespace, release, source, target } = wanted
  if (!isDnsSubdomain(source.name))
    return ok(verdict('SourceInvalid', 'the name of the source is no name of a Secret'))
  if (!isDataKey(source.key))
    return ok(verdict('SourceInvalid', 'the key of the source is no key of a Secret'))
  const missing = () => verdict('SourceNotFound', `there is no Secret ${source.name} yet`)
  if (source.name === targetName(release)) {
    return ok(target === undefined ? missing() : await judgeCanonical(target))
  }
  const found = await services.kube.getSecret(namespace, source.name, options)
  if (!found.ok) return found
  if (found.value === undefined) return ok(missing())
  const read = await readSource(services, found.value, source.key)
  if ('reason' in read) return ok(read)
  const desired: Desired = {
    ...wanted,
    source: source.name,
    pem: read.pem,
    selectors: wanted.selectors.digest,
  }
  const { again } = wanted.selectors
  const place = { target, events: read.events, count: read.certificates.length, again }
  return write(services, desired, place, options)
}

type Readable = Publishable & { readonly events: readonly KubeEvent[] }

/** Looks at one key and no other. */
async function readSource(
  { deps }: AnchorServices,
  secret: StoredSecret,
  key: string,
): Promise<Verdict | Readable> {
  const { name } = secret.metadata
  const value = textAt(secret.data, key)
  if (value === undefined) return verdict('SourceNotReady', `Secret ${name} has no key ${key} yet`)
  // Loaded when there is something to read: no mint waits for X.509.
  const { publishable } = await import('./certificates.ts')
  const read = await publishable(fromBase64(value) ?? new Uint8Array())
  if (read.ok) {
    const events = certificateEvents(secret, key, read.value.certificates, deps.now())
    return { ...read.value, events }
  }
  const event = refusedEvent(secret, key, read.failure)
  if (event === undefined) return verdict('SourceNotReady', `key ${key} of Secret ${name} is empty`)
  return verdict('SourceRejected', `${event.note}; what is published already stays`, { events: [event] })
}

interface Place {
  readonly target: StoredSecret | undefined
  readonly events: readonly KubeEvent[]
  /** Of certificates. */
  readonly count: number
  readonly again: Selectors['again']
}

/** Of every write of a projection: what was done to which. */
export const logWrite = (
  { deps }: Pick<AnchorServices, 'deps'>,
  what: 'created' | 'updated' | 'deleted',
  { namespace, release }: Pick<Wanted, 'namespace' | 'release'>,
): void => deps.log('info', 'anchor_secret', { what, namespace, secret: targetName(release) })

async function write(
  services: AnchorServices,
  desired: Desired,
  { target, events, count, again }: Place,
  options: CallOptions,
): Promise<Result<Verdict>> {
  const { kube } = services
  const name = targetName(desired.release)
  const many = `${count} ${count === 1 ? 'certificate' : 'certificates'}`
  const done = (wrote: boolean) =>
    verdict('Projected', `${many} of Secret ${desired.source} published as Secret ${name}`, { wrote, events })
  const written = (what: 'created' | 'updated') => {
    logWrite(services, what, desired)
    return ok(done(true))
  }
  if (target === undefined) {
    const created = await kube.createSecret(newTarget(desired), options)
    return created.ok ? written('created') : refused(created, events)
  }
  if (!isOwnedBy(target, desired.owner) && !isLeftOver(target, desired.release)) {
    const why = `Secret ${name} is there and not of this declaration: it is left alone; delete it or move it`
    return ok(verdict('ProjectionCollision', why, { events: [...events, collisionEvent(target)] }))
  }
  if (target.metadata.deletionTimestamp !== undefined) {
    return ok(
      verdict('ProjectionTerminating', `Secret ${name} is being deleted; then it is written anew`, {
        events,
      }),
    )
  }
  const fresh = await withFreshSelectors(target, desired, again)
  if (!fresh.ok) return fresh
  const next = healed(target, fresh.value)
  if (next === undefined) return ok(done(false))
  if (isStuck(target, next)) {
    const why = `Secret ${name} is immutable and holds something else: delete it, and it is written anew`
    return ok(verdict('ProjectionImmutable', why, { events: [...events, stuckEvent(target)] }))
  }
  const updated = await kube.updateSecret(next, options)
  return updated.ok ? written('updated') : refused(updated, events)
}

/**
 * Replicas keep definitions for a while, each from another moment: a digest that is not the one on the target is
 * written by what they say now, or two replicas would write theirs in turn.
 */
async function withFreshSelectors(
  target: StoredSecret,
  desired: Desired,
  again: Selectors['again'],
): Promise<Result<Desired>> {
  if (hasSelectors(target, desired.selectors)) return ok(desired)
  const selectors = await again()
  return selectors.ok ? ok({ ...desired, selectors: selectors.value }) : selectors
}
