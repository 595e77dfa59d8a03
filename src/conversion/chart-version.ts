import { own, textAt } from '../core/json.ts'
import type { HelmRelease } from '../k8s/objects.ts'
import { cutJson } from './record.ts'

/** A chart's version has no limit of its own; the record has. */
const MAX_BYTES = 128

/**
 * The chart version that a release is on: that of its newest Helm release, or of the last that was tried
 * (`status.history[0].chartVersion` and `status.lastAttemptedRevision` of `helm.toolkit.fluxcd.io/v2`). Empty when Flux
 * has never tried one.
 */
export function chartVersionOf({ status }: Pick<HelmRelease, 'status'>): string {
  const history = own(status, 'history')
  const [newest] = Array.isArray(history) ? history : []
  const version = textAt(newest, 'chartVersion') || textAt(status, 'lastAttemptedRevision') || ''
  return cutJson(version, MAX_BYTES)
}
