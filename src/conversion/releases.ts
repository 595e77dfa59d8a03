import { ok, type Result } from '../core/result.ts'
import { APPLICATION_GROUP, applicationOf, GROUP_LABEL, KIND_LABEL } from '../credentials/application.ts'
import type { CallOptions, Kube, ListOptions } from '../k8s/kube.ts'
import { listAll } from '../k8s/list-all.ts'
import type { HelmRelease, ObjectMeta } from '../k8s/objects.ts'
import type { Convertible } from './convertible.ts'
import type { ConvertedKind } from './definitions.ts'
import { recordKeyOf } from './record.ts'

/** A release of a kind that is being converted, with its key in the record. */
export interface KindRelease extends Convertible {
  readonly key: string
}

/** Of a label: no release can be of any other kind (`k8s.io/apimachinery/pkg/util/validation`, IsValidLabelValue). */
const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/

/** All releases of these kinds, kind by kind, without those that are being deleted. Fails when a list fails. */
export async function listReleases(
  { listHelmReleases }: Pick<Kube, 'listHelmReleases'>,
  kinds: readonly ConvertedKind[],
  namespace: string | undefined,
  options: CallOptions,
): Promise<Result<readonly KindRelease[]>> {
  const releases: KindRelease[] = []
  const list = (page: ListOptions) => listHelmReleases(namespace, page)
  for (const kind of kinds.filter((each) => LABEL_VALUE.test(each.kind))) {
    const labelSelector = `${GROUP_LABEL}=${APPLICATION_GROUP},${KIND_LABEL}=${kind.kind}`
    const listed = await listAll(list, { ...options, labelSelector }, (release) => releaseOf(release, kind))
    if (!listed.ok) return listed
    releases.push(...listed.value)
  }
  return ok(releases)
}

type Managed = ObjectMeta & { readonly uid: string; readonly managedFields?: unknown }

/** Without its managed fields, which are as long as all the rest. */
function releaseOf(release: HelmRelease, { rules, needsWebhook }: ConvertedKind): KindRelease | undefined {
  const application = applicationOf(release)
  if (application === undefined || release.metadata.deletionTimestamp !== undefined) return undefined
  const { managedFields: _, ...metadata }: Managed = release.metadata
  const key = recordKeyOf(metadata.namespace ?? '', metadata.name)
  return { key, release: { ...release, metadata }, application, rules, needsWebhook }
}
