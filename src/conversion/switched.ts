import { textAt } from '../core/json.ts'
import { ok, type Result } from '../core/result.ts'
import { isSuspended } from '../credentials/application.ts'
import { hasLanded } from '../credentials/release-state.ts'
import type { ConversionKube } from '../k8s/conversion-kube.ts'
import type { Kube, ListOptions } from '../k8s/kube.ts'
import { listAll } from '../k8s/list-all.ts'
import type { ApplicationDefinition, HelmRelease, StoredSecret } from '../k8s/objects.ts'
import { type Skip, skip } from './causes.ts'
import { chartVersionOf } from './chart-version.ts'
import type { RecordedRelease } from './record.ts'
import type { Unfit } from './rotate/finish.ts'
import { isOurs } from './rotate/suspension.ts'
import { readableBy } from './tenant-readable.ts'

export interface ReadableServices {
  readonly conversionKube: Pick<ConversionKube, 'listRoles'>
  /** All of the cluster, of some seconds ago at most. */
  readonly definitions: () => Promise<Result<readonly ApplicationDefinition[]>>
}

export const aboutOf = ({ metadata }: HelmRelease): string => `release ${JSON.stringify(metadata.name)}`

/**
 * Whether its chart is another one than the recorded one. A release that had none when it was recorded may be on the chart
 * from before by now. One that is suspended by us had switched before.
 */
export const hasSwitched = (
  release: HelmRelease,
  { chartVersion }: Pick<RecordedRelease, 'chartVersion'>,
): boolean =>
  chartVersion !== '' &&
  chartVersionOf(release) !== chartVersion &&
  (hasLanded(release) || (isSuspended(release) && isOurs(release)))

/** Of a release that has not switched in time. */
export const notSwitched = (
  release: HelmRelease,
  { chartVersion }: Pick<RecordedRelease, 'chartVersion'>,
): Skip & { readonly cause: 'NotSwitched' } =>
  skip(
    'NotSwitched',
    aboutOf(release),
    chartVersion === ''
      ? `recorded before Flux had tried a chart, now ${nowOf(release)}: run the hook while it is on the old chart, or write that version into its entry`
      : `recorded ${chartVersion}, now ${nowOf(release)}`,
  )

const nowOf = (release: HelmRelease): string => `${named(chartVersionOf(release))}${readyOf(release)}`

const named = (version: string): string => (version === '' ? 'none' : version)

function readyOf({ status }: HelmRelease): string {
  const conditions = status?.conditions
  const ready = Array.isArray(conditions)
    ? conditions.find((each) => textAt(each, 'type') === 'Ready')
    : undefined
  return textAt(ready, 'status') === 'True' ? '' : ', not Ready'
}

/** Why what is written into the Secret of a release would be read by tenants. Undefined when they cannot, or it is not there. */
export async function stillReadable(
  { conversionKube, definitions }: ReadableServices,
  secret: StoredSecret | undefined,
  release: HelmRelease,
): Promise<Result<Unfit | undefined>> {
  if (secret === undefined) return ok(undefined)
  const defined = await definitions()
  if (!defined.ok) return defined
  const { namespace = '' } = release.metadata
  const list = (page: ListOptions) => conversionKube.listRoles(namespace, page)
  const roles = await listAll(list, {}, (role) => role)
  if (!roles.ok) return roles
  const by = readableBy(secret, release, { definitions: defined.value, roles: roles.value })
  const about = `Secret ${JSON.stringify(secret.metadata.name)}`
  return ok(by === undefined ? undefined : skip('StillTenantReadable', about, by))
}

/**
 * The same once more of a release that is held: it may have waited for long until Flux let it go, and charts, definitions
 * and Roles change meanwhile. Answers why it must not be given a new password.
 */
export async function recheckHeld(
  services: ReadableServices & { readonly kube: Pick<Kube, 'getSecret'> },
  held: HelmRelease,
  { recorded, secretName }: { readonly recorded: RecordedRelease; readonly secretName: string },
): Promise<Result<Unfit | undefined>> {
  if (!hasSwitched(held, recorded)) return ok(notSwitched(held, recorded))
  const read = await services.kube.getSecret(held.metadata.namespace ?? '', secretName)
  return read.ok ? stillReadable(services, read.value, held) : read
}
