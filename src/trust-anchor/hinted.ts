import { ok, type Result } from '../core/result.ts'
import { applicationOf } from '../credentials/application.ts'
import type { CallOptions, ListOptions } from '../k8s/kube.ts'
import { listAll } from '../k8s/list-all.ts'
import { isDnsLabel, isDnsSubdomain } from '../k8s/names.ts'
import { claimOf, isLive, labelledClaim, releaseOfProjection } from './claim.ts'
import { labelledOf } from './contenders.ts'
import type { Declaration } from './declaration.ts'
import { releaseFor } from './names.ts'
import { isNotServed } from './selectors-digest.ts'
import { type AnchorServices, hasOtherLegs } from './services.ts'
import { releaseOfTarget } from './target.ts'

interface About {
  readonly namespace: string
  readonly secret: string
}

type Found = Result<readonly Declaration[]>

/**
 * The declarations that something that happened to a Secret may be about: as their source, as what they publish, as one
 * that is labelled or has an operator's name. Nothing is believed of the event but the name. Fails with a `kube_*` reason.
 */
export async function declarationsAbout(
  services: AnchorServices,
  about: About,
  options: CallOptions = {},
): Promise<Found> {
  if (!isDnsLabel(about.namespace) || !isDnsSubdomain(about.secret)) return ok([])
  const all: Declaration[] = []
  for (const find of [byProjection, byLabels, byName]) {
    const found = await find(services, about, options)
    if (!found.ok) return found
    all.push(...found.value)
  }
  return ok(all)
}

async function byProjection(
  services: AnchorServices,
  { namespace, secret }: About,
  options: CallOptions,
): Promise<Found> {
  const release = releaseOfTarget(secret)
  const list = (page: ListOptions) => services.kube.listTenantProjections(namespace, page)
  const found = await listAll(list, options, (projection): Declaration | undefined => {
    const claim = claimOf(projection)
    const isSource = claim.is === 'one' && claim.source.name === secret
    const isTarget = release !== undefined && releaseOfProjection(projection) === release
    if (!isLive(projection) || !(isSource || isTarget)) return undefined
    return { leg: 'projection', namespace, name: projection.metadata.name }
  })
  return !found.ok && isNotServed(found.failure) && hasOtherLegs(services.legs) ? ok([]) : found
}

async function byLabels(
  services: AnchorServices,
  { namespace, secret: name }: About,
  options: CallOptions,
): Promise<Found> {
  if (!services.legs.labels) return ok([])
  const found = await services.kube.getSecret(namespace, name, options)
  if (!found.ok) return found
  const secret = found.value
  const claim = secret !== undefined && isLive(secret) ? labelledClaim(secret) : undefined
  const release = releaseOfTarget(name)
  const others = release === undefined ? ok([]) : await labelledOf(services, { namespace, release }, options)
  if (!others.ok) return others
  const names = new Set(others.value.map(({ metadata }) => metadata.name))
  if (claim !== undefined) names.add(name)
  return ok([...names].map((each) => ({ leg: 'label', namespace, secret: each })))
}

async function byName(
  services: AnchorServices,
  { namespace, secret }: About,
  options: CallOptions,
): Promise<Found> {
  const target = releaseOfTarget(secret)
  /** Whose Secret it would be, by the kind of the release. */
  const releases = new Map(
    [...services.legs.names].map(([kind, rule]) => [kind, releaseFor(rule, secret)] as const),
  )
  const all: Declaration[] = []
  for (const release of new Set([releases.size === 0 ? undefined : target, ...releases.values()])) {
    if (release === undefined) continue
    const kind = await kindOf(services, namespace, release, options)
    if (!kind.ok) return kind
    const isMeant = kind.value !== undefined && (release === target || releases.get(kind.value) === release)
    if (isMeant) all.push({ leg: 'name', namespace, release })
  }
  return ok(all)
}

/** The kind of a release that is an application, when the table of names has it. */
async function kindOf(
  { kube, legs }: AnchorServices,
  namespace: string,
  name: string,
  options: CallOptions,
): Promise<Result<string | undefined>> {
  const found = await kube.getHelmRelease(namespace, name, options)
  if (!found.ok) return isNotServed(found.failure) ? ok(undefined) : found
  const kind = found.value === undefined ? undefined : applicationOf(found.value)?.kind
  return ok(kind !== undefined && legs.names.has(kind) ? kind : undefined)
}
