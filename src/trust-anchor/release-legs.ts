import { fail, ok, type Result } from '../core/result.ts'
import { applicationOf } from '../credentials/application.ts'
import type { CallOptions } from '../k8s/kube.ts'
import type { HelmRelease, StoredSecret } from '../k8s/objects.ts'
import { isLive, labelledClaim, type Source } from './claim.ts'
import { labelledOf, namesOf, projectionsIfServed } from './contenders.ts'
import type { Declaration } from './declaration.ts'
import { secretEvent } from './events.ts'
import { PUBLISH_RELEASE_LABEL } from './labels.ts'
import { sourceFor } from './names.ts'
import { publish } from './publish.ts'
import { isNotServed, selectorsOf } from './selectors-digest.ts'
import type { AnchorServices } from './services.ts'
import { RELEASE_KIND, targetName } from './target.ts'
import { type Verdict, verdict } from './verdict.ts'

/** What came of a declaration that stands in labels or in a name. */
export interface Spoken {
  readonly name: string | undefined
  /** The release that Events go to; undefined when there is none. */
  readonly release: HelmRelease | undefined
  readonly verdict: Verdict
}

interface Place {
  readonly namespace: string
  readonly release: HelmRelease
  readonly target: StoredSecret | undefined
}

interface Request extends Place {
  readonly source: Source
}

/** One look at a Secret and its labels; undefined when they ask for nothing. Fails as `publish` does. */
export async function judgeLabelled(
  services: AnchorServices,
  { namespace, secret: name }: Extract<Declaration, { leg: 'label' }>,
  options: CallOptions,
): Promise<Result<Spoken | undefined>> {
  if (!services.legs.labels) return ok(undefined)
  const found = await services.kube.getSecret(namespace, name, options)
  if (!found.ok) return found
  const secret = found.value
  const claim = secret !== undefined && isLive(secret) ? labelledClaim(secret) : undefined
  if (secret === undefined || claim === undefined) return ok(undefined)
  if (claim.release === undefined) {
    const why = `Secret ${name} asks to be published: its label ${PUBLISH_RELEASE_LABEL} must name a HelmRelease`
    return ok(unspoken(secret, undefined, why))
  }
  const target = await services.kube.getSecret(namespace, targetName(claim.release), options)
  if (!target.ok) return target
  const release = await livingRelease(services, namespace, claim.release, options)
  if (!release.ok) return release
  if (release.value === undefined) {
    const why = `Secret ${name} asks to be published for HelmRelease ${claim.release}, which is not there`
    return ok(unspoken(secret, claim.release, why))
  }
  const request = { namespace, release: release.value, target: target.value, uid: secret.metadata.uid }
  const done = await publishLabelled(services, request, options)
  return done.ok ? ok({ name: claim.release, release: release.value, verdict: done.value }) : done
}

const unspoken = (secret: StoredSecret, name: string | undefined, why: string): Spoken => ({
  name,
  release: undefined,
  verdict: verdict('NoRelease', why, { events: [secretEvent(secret, 'CACertNoRelease', why)] }),
})

async function publishLabelled(
  services: AnchorServices,
  { uid, ...request }: Place & Pick<StoredSecret['metadata'], 'uid'>,
  options: CallOptions,
): Promise<Result<Verdict>> {
  const place = placeOf(request)
  const stronger = await projectionsIfServed(services, place, options)
  if (!stronger.ok) return stronger
  if (stronger.value.length > 0) return ok(superseded('a TenantProjection', place.release))
  const all = await labelledOf(services, place, options)
  if (!all.ok) return all
  if (all.value.length > 1) {
    const why = `more than one Secret asks to be published for HelmRelease ${place.release}: ${namesOf(all.value)}; take the label off all but one`
    return ok(verdict('ReleaseContested', why))
  }
  // As it is now: the target was read with the one of before in mind.
  const [self] = all.value.filter(({ metadata }) => metadata.uid === uid)
  const claim = self === undefined ? undefined : labelledClaim(self)
  if (claim === undefined) return fail({ reason: 'kube_conflict' })
  return publishFor(services, { ...request, source: claim.source }, options)
}

/** One look at a release of a kind whose operator has a name for its CA; undefined when there is no such. */
export async function judgeNamed(
  services: AnchorServices,
  { namespace, release: name }: Extract<Declaration, { leg: 'name' }>,
  options: CallOptions,
): Promise<Result<Spoken | undefined>> {
  if (services.legs.names.size === 0) return ok(undefined)
  const release = await livingRelease(services, namespace, name, options)
  if (!release.ok) return release
  const rule = services.legs.names.get((release.value && applicationOf(release.value)?.kind) ?? '')
  if (release.value === undefined || rule === undefined) return ok(undefined)
  const target = await services.kube.getSecret(namespace, targetName(name), options)
  if (!target.ok) return target
  const source = { name: sourceFor(rule, name), key: rule.key }
  const request = { namespace, release: release.value, target: target.value, source }
  const done = await publishNamed(services, request, options)
  return done.ok ? ok({ name, release: release.value, verdict: done.value }) : done
}

async function publishNamed(
  services: AnchorServices,
  request: Request,
  options: CallOptions,
): Promise<Result<Verdict>> {
  const place = placeOf(request)
  const projections = await projectionsIfServed(services, place, options)
  if (!projections.ok) return projections
  if (projections.value.length > 0) return ok(superseded('a TenantProjection', place.release))
  const labelled = await labelledOf(services, place, options)
  if (!labelled.ok) return labelled
  if (labelled.value.length > 0) return ok(superseded('a labelled Secret', place.release))
  return publishFor(services, request, options)
}

const placeOf = ({ namespace, release }: Place) => ({ namespace, release: release.metadata.name })

const superseded = (by: string, release: string): Verdict =>
  verdict('Superseded', `${by} says which CA of HelmRelease ${release} is published`)

/** The owner is the release and never the source, which its operator replaces as it likes. */
async function publishFor(
  services: AnchorServices,
  { release, ...request }: Request,
  options: CallOptions,
): Promise<Result<Verdict>> {
  const { name, uid } = release.metadata
  const selectors = await selectorsOf(services, release, options)
  if (!selectors.ok) return selectors
  const owner = { ...RELEASE_KIND, name, uid }
  return publish(services, { ...request, release: name, owner, selectors: selectors.value }, options)
}

/** One that is being deleted takes what it owns along. */
async function livingRelease(
  { kube }: AnchorServices,
  namespace: string,
  name: string,
  options: CallOptions,
): Promise<Result<HelmRelease | undefined>> {
  const found = await kube.getHelmRelease(namespace, name, options)
  if (!found.ok) return isNotServed(found.failure) ? ok(undefined) : found
  return ok(found.value !== undefined && isLive(found.value) ? found.value : undefined)
}
