import { fail, ok, type Result } from '../core/result.ts'
import type { CallOptions } from '../k8s/kube.ts'
import type { StoredSecret, TenantProjection } from '../k8s/objects.ts'
import { type Claim, claimOf, isLive, releaseOfProjection } from './claim.ts'
import { namesOf, projectionsOf } from './contenders.ts'
import { RELEASE_LABEL } from './labels.ts'
import { logWrite, publish } from './publish.ts'
import { isNotServed, type Selectors, selectorsOf } from './selectors-digest.ts'
import type { AnchorServices } from './services.ts'
import { isOwnedBy, PROJECTION_KIND, targetName } from './target.ts'
import { isReady, refused, type Verdict, verdict } from './verdict.ts'

/** A TenantProjection, and what came of it. */
export interface Judged {
  readonly projection: TenantProjection
  readonly release: string | undefined
  readonly verdict: Verdict
}

interface Named {
  readonly namespace: string
  readonly name: string
}

interface Release {
  readonly namespace: string
  readonly release: string
}

/** One look at a TenantProjection; undefined when there is none. Fails as `publish` does. */
export async function judgeProjection(
  services: AnchorServices,
  { namespace, name }: Named,
  options: CallOptions,
): Promise<Result<Judged | undefined>> {
  const found = await services.kube.getTenantProjection(namespace, name, options)
  if (!found.ok) return found
  const projection = found.value
  if (projection === undefined || !isLive(projection)) return ok(undefined)
  const release = releaseOfProjection(projection)
  const judged = (result: Verdict): Judged => ({ projection, release, verdict: result })
  if (release === undefined) {
    return ok(judged(verdict('NoRelease', `the label ${RELEASE_LABEL} names no HelmRelease`)))
  }
  const claim = claimOf(projection)
  const done = await judgeClaim(services, projection, claim, { namespace, release }, options)
  return done.ok ? ok(judged(isReady(done.value) ? withOthers(done.value, claim) : done.value)) : done
}

function judgeClaim(
  services: AnchorServices,
  projection: TenantProjection,
  claim: Claim,
  release: Release,
  options: CallOptions,
): Promise<Result<Verdict>> | Result<Verdict> {
  switch (claim.is) {
    case 'many':
      return ok(
        verdict(
          'MultipleCACertProjections',
          'spec.projections has more than one entry of type CACert: leave one of them',
        ),
      )
    case 'unreadable':
      return ok(verdict('SourceInvalid', 'spec.projections is no list of entries with a type'))
    case 'none':
      return withdraw(services, projection, release, options)
    case 'one':
      return publishClaim(services, projection, { ...release, claim }, options)
  }
}

/** What is said about entries of another type, once the CA is dealt with. */
function withOthers(done: Verdict, claim: Claim): Verdict {
  if (!('others' in claim) || !claim.others) return done
  const message = `spec.projections has an entry of a type other than CACert, which is left alone; ${done.message}`
  return { ...done, reason: 'UnsupportedProjectionType', message }
}

async function publishClaim(
  services: AnchorServices,
  projection: TenantProjection,
  { namespace, release, claim }: Release & { readonly claim: Extract<Claim, { is: 'one' }> },
  options: CallOptions,
): Promise<Result<Verdict>> {
  const { kube } = services
  const target = await kube.getSecret(namespace, targetName(release), options)
  if (!target.ok) return target
  const all = await projectionsOf(services, { namespace, release }, options)
  if (!all.ok) return all
  const self = all.value.find(({ metadata }) => metadata.uid === projection.metadata.uid)
  // It has changed since it was read, and the target was read with the old one in mind.
  if (self?.metadata.generation !== projection.metadata.generation) return fail({ reason: 'kube_conflict' })
  if (all.value.length > 1) {
    const why = `more than one TenantProjection asks for the CA of HelmRelease ${release}: ${namesOf(all.value)}; leave one of them`
    return ok(verdict('ReleaseContested', why))
  }
  const selectors = await selectorsFor(services, { namespace, release }, options)
  if (!selectors.ok) return selectors
  const owner = { ...PROJECTION_KIND, name: projection.metadata.name, uid: projection.metadata.uid }
  const { source } = claim
  return publish(
    services,
    { namespace, release, owner, source, target: target.value, selectors: selectors.value },
    options,
  )
}

async function selectorsFor(
  services: AnchorServices,
  { namespace, release }: Release,
  options: CallOptions,
): Promise<Result<Selectors>> {
  const found = await services.kube.getHelmRelease(namespace, release, options)
  if (!found.ok && !isNotServed(found.failure)) return found
  return selectorsOf(services, found.ok ? found.value : undefined, options)
}

/** It says that there is no CA any more: what it published goes, and nothing that is of anybody else. */
async function withdraw(
  services: AnchorServices,
  projection: TenantProjection,
  { namespace, release }: Release,
  options: CallOptions,
): Promise<Result<Verdict>> {
  const { kube } = services
  const { name, generation, uid } = projection.metadata
  const nothing = verdict('Projected', 'spec.projections asks for no CA: none is published')
  const target = await kube.getSecret(namespace, targetName(release), options)
  if (!target.ok) return target
  if (target.value === undefined || !isOurs(target.value, name)) return ok(nothing)
  // Read after the target: what it asks for since is not deleted.
  const again = await kube.getTenantProjection(namespace, name, options)
  if (!again.ok) return again
  const { metadata } = again.value ?? {}
  if (metadata?.uid !== uid || metadata.generation !== generation) return fail({ reason: 'kube_conflict' })
  const deleted = await kube.deleteSecret(namespace, targetName(release), target.value.metadata, options)
  if (!deleted.ok) return refused(deleted)
  logWrite(services, 'deleted', { namespace, release })
  return ok({ ...nothing, wrote: true })
}

const isOurs = (target: StoredSecret, name: string): boolean =>
  isLive(target) && isOwnedBy(target, { ...PROJECTION_KIND, name })
