import { isObject, own, textAt } from '../core/json.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import { isSuspended } from './application.ts'

/**
 * Whether Helm has ever applied the release: `status.history` of `helm.toolkit.fluxcd.io/v2` holds a snapshot of each
 * Helm release that was made, failed ones too, and is empty until the first. Also what else only an applied release has
 * counts: a revision, and condition `Ready` or `Released` that is true; a history that is no list may be one of another
 * version. Where in doubt it was deployed, and nothing is seeded.
 */
export function wasDeployed({ status }: HelmRelease): boolean {
  const history = own(status, 'history') ?? []
  const isTrue = (type: string) => textAt(conditionOf(status, type), 'status') === 'True'
  return (
    !Array.isArray(history) ||
    history.length > 0 ||
    Number(own(status, 'lastReleaseRevision') ?? 0) > 0 ||
    isTrue('Ready') ||
    isTrue('Released')
  )
}

/**
 * Whether the release as it stands has been applied, so that nothing waits for what it no longer declares. All of these:
 *
 * - not suspended: Flux does nothing for it, and its status speaks of what was before;
 * - `status.observedGeneration` is `metadata.generation`: helm-controller sets it when it has dealt with that very spec;
 * - condition `Ready` is `True`, and of that generation where it says so: the last Helm action succeeded;
 * - condition `Reconciling` is not `True`: no other action is under way (kstatus, `sigs.k8s.io/cli-utils/pkg/kstatus`).
 */
export function hasLanded(release: HelmRelease): boolean {
  const { metadata, status } = release
  const { generation } = metadata
  if (isSuspended(release) || generation === undefined) return false
  if (own(status, 'observedGeneration') !== generation) return false
  const ready = conditionOf(status, 'Ready')
  const isCurrent = (own(ready, 'observedGeneration') ?? generation) === generation
  return (
    textAt(ready, 'status') === 'True' &&
    isCurrent &&
    textAt(conditionOf(status, 'Reconciling'), 'status') !== 'True'
  )
}

function conditionOf(status: HelmRelease['status'], type: string): unknown {
  const conditions = own(status, 'conditions')
  return Array.isArray(conditions) ? conditions.find((each) => textAt(each, 'type') === type) : undefined
}

/** Whether the release takes a value from this Secret, or may: Flux would fail without it. */
export function takesValuesFrom({ spec }: HelmRelease, secretName: string): boolean {
  const references = own(spec, 'valuesFrom') ?? []
  if (!Array.isArray(references)) return true
  return references.some(
    (each) => isObject(each) && textAt(each, 'kind') === 'Secret' && textAt(each, 'name') === secretName,
  )
}

/** What the platform gives every release: settings of the cluster and of the tenant, under keys that tenants cannot set. */
const PLATFORM_VALUES = 'cozystack-values'

/**
 * Whether the release takes values from somewhere that is not read, so that it may declare accounts that nobody here
 * sees. The account Secrets themselves are values that we write.
 */
export function takesUnreadValues({ metadata, spec }: HelmRelease): boolean {
  const references = own(spec, 'valuesFrom') ?? []
  if (!Array.isArray(references)) return true
  return references.some((each) => {
    const name = textAt(each, 'name') ?? ''
    const isOurs = name.startsWith(`${metadata.name}.`) && name.endsWith('.account')
    const isPlatform = name === PLATFORM_VALUES && own(each, 'targetPath') === undefined
    return !(textAt(each, 'kind') === 'Secret' && (isOurs || isPlatform))
  })
}
