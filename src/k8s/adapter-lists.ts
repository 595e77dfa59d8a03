import { isObject, type Json, own, textAt } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import { type Caller, type KubeResult, MAX_LIST_BYTES, senseless } from './call.ts'
import type { ListOptions, Page } from './kube.ts'
import { pathOf } from './names.ts'
import type { ApplicationDefinition, HelmRelease, StoredSecret } from './objects.ts'

const PAGE_SIZE = '500'
/** A server whose pages never end must not hold a mint for ever. */
const MAX_PAGES = 100

/** One page of a namespace's Secrets, or of all. Fails with `kube_expired` when the `continue` token is too old. */
export async function listSecrets(
  call: Caller,
  namespace: string | undefined,
  options: ListOptions,
): Promise<KubeResult<Page<StoredSecret>>> {
  const path =
    namespace === undefined
      ? pathOf('api', 'v1', 'secrets')
      : pathOf('api', 'v1', 'namespaces', namespace, 'secrets')
  const page = await listPage(call, {
    path,
    what: 'list Secrets',
    kind: 'SecretList',
    ...listCallOf(options),
  })
  if (!page.ok) return page
  // The items of a list carry neither kind nor apiVersion.
  const items = page.value.items.map((item) => ({ ...item, apiVersion: 'v1', kind: 'Secret' }))
  return ok({ ...page.value, items: items as unknown as readonly StoredSecret[] })
}

/** The same of HelmReleases. */
export async function listHelmReleases(
  call: Caller,
  namespace: string | undefined,
  options: ListOptions,
): Promise<KubeResult<Page<HelmRelease>>> {
  const group = ['apis', 'helm.toolkit.fluxcd.io', 'v2']
  const path =
    namespace === undefined
      ? pathOf(...group, 'helmreleases')
      : pathOf(...group, 'namespaces', namespace, 'helmreleases')
  const what = 'list HelmReleases'
  const page = await listPage(call, { path, what, kind: 'HelmReleaseList', ...listCallOf(options) })
  if (!page.ok) return page
  return ok({ ...page.value, items: page.value.items.map(releaseOf) })
}

export const listCallOf = ({ signal, limit, labelSelector, fieldSelector, continue: next }: ListOptions) => ({
  signal,
  query: { labelSelector, fieldSelector, limit: limit?.toString(), continue: next },
})

/** The CRD asks for no `spec`. */
export function releaseOf(item: Json): HelmRelease {
  const spec = own(item, 'spec')
  return { ...item, spec: isObject(spec) ? spec : {} } as unknown as HelmRelease
}

/**
 * All definitions, page by page. One failed page fails the list: a definition that is not seen would be a kind without
 * rules. When the list expires under way (410) it is started again, once, rather than continued with the token for an
 * inconsistent list that the answer offers.
 */
export async function listDefinitions(
  call: Caller,
  signal: AbortSignal | undefined,
): Promise<KubeResult<readonly ApplicationDefinition[]>> {
  const first = await listAllDefinitions(call, signal)
  return !first.ok && first.failure.reason === 'kube_expired' ? listAllDefinitions(call, signal) : first
}

async function listAllDefinitions(
  call: Caller,
  signal: AbortSignal | undefined,
): Promise<KubeResult<readonly ApplicationDefinition[]>> {
  const path = pathOf('apis', 'cozystack.io', 'v1alpha1', 'applicationdefinitions')
  const what = 'list ApplicationDefinitions'
  const found: ApplicationDefinition[] = []
  let next: string | undefined
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const query = { limit: PAGE_SIZE, continue: next }
    const page = await listPage(call, { path, query, what, kind: 'ApplicationDefinitionList', signal })
    if (!page.ok) return page
    found.push(...page.value.items.map(definitionOf))
    next = page.value.continue
    if (next === undefined) return ok(found)
  }
  return fail(senseless(what))
}

/** One without a `spec` declares nothing; it must not hide the others. */
function definitionOf(item: Json): ApplicationDefinition {
  const spec = own(item, 'spec')
  return { ...item, spec: isObject(spec) ? spec : {} } as unknown as ApplicationDefinition
}

interface ListCall {
  readonly path: string
  readonly query: Readonly<Record<string, string | undefined>>
  readonly what: string
  readonly kind: string
  readonly signal: AbortSignal | undefined
}

/** One page of any list. Fails with `kube_expired` when the `continue` token is too old. */
export async function listPage(call: Caller, { kind, ...list }: ListCall): Promise<KubeResult<Page<Json>>> {
  const answer = await call({ method: 'GET', maxBytes: MAX_LIST_BYTES, ...list })
  if (!answer.ok) return answer
  // An empty list of a typed resource has `items: null` in some releases.
  const items = own(answer.value, 'items') ?? []
  if (textAt(answer.value, 'kind') !== kind || !Array.isArray(items) || !items.every(isStored)) {
    return fail(senseless(list.what))
  }
  const next = textAt(answer.value, 'metadata', 'continue') || undefined
  const resourceVersion = textAt(answer.value, 'metadata', 'resourceVersion') ?? ''
  return ok({ items, resourceVersion, ...(next === undefined ? {} : { continue: next }) })
}

function isStored(item: unknown): item is Json {
  const metadata = own(item, 'metadata')
  return !!textAt(metadata, 'name') && !!textAt(metadata, 'uid') && !!textAt(metadata, 'resourceVersion')
}
