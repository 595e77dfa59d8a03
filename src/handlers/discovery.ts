import type { Failure } from '../core/failure.ts'
import type { HttpAnswer } from '../core/http.ts'
import { statusOf } from './answer.ts'
import { type Conversion, choose } from './media-type.ts'
import { answerDocument, lazily, plainRoute } from './public-document.ts'
import { API_VERSION, type Exchange, type Services } from './services.ts'

type Group = Pick<Services, 'group'>
type Listed = Pick<Services, 'group' | 'anchors'>

/** `metav1.APIResource`, as it is listed. */
interface Resource {
  readonly name: string
  readonly singularName: string
  readonly kind: string
  /** Of the kind, when it is not one of ours. */
  readonly kindVersion?: { readonly group: string; readonly version: string }
  /** What is implemented and nothing else: controllers go and delete whatever says that it can be deleted. */
  readonly verbs: readonly string[]
}

/** No short name, no category: `kubectl get all` is no place for them, and short names clash across groups. */
const CREDENTIALS: readonly Resource[] = [
  { name: 'credentials', singularName: 'credential', kind: 'Credential', verbs: ['get', 'list'] },
  { name: 'credentials/mint', singularName: '', kind: 'CredentialRequest', verbs: ['create'] },
  { name: 'credentials/revoke', singularName: '', kind: 'CredentialRequest', verbs: ['create'] },
  syncOf('helmreleases'),
]

function syncOf(resource: string): Resource {
  const kindVersion = { group: '', version: 'v1' }
  return { name: `${resource}/sync`, singularName: '', kind: 'Status', kindVersion, verbs: ['create'] }
}

const resourcesOf = ({ anchors }: Listed): readonly Resource[] =>
  anchors === undefined ? CREDENTIALS : [...CREDENTIALS, syncOf('tenantprojections')]

/** `apidiscovery.k8s.io/v2` (KEP-3352). Its v2beta1 is gone from kube-apiserver, and was never served here. */
const AGGREGATED: Conversion<'aggregated'> = {
  representation: 'aggregated',
  as: 'APIGroupDiscoveryList',
  group: 'apidiscovery.k8s.io',
  version: 'v2',
}

/** As `k8s.io/apiserver/pkg/endpoints/handlers/responsewriters` writes it; clients compare the parameters. */
const AGGREGATED_TYPE = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

const ROOT: Failure = { reason: 'not_acceptable', served: ['application/json', AGGREGATED_TYPE] }

/** `GET /apis`: everything in one document for those who ask for that, else the groups. */
export function groupsRoute(services: Listed) {
  const { group } = services
  const groups = lazily(() => ({ kind: 'APIGroupList', apiVersion: 'v1', groups: [nameAndVersions(group)] }))
  const aggregated = lazily(() => aggregatedOf(group, resourcesOf(services)))
  return async (exchange: Exchange): Promise<HttpAnswer> => {
    const chosen = choose<'plain' | 'aggregated'>(exchange.request.headers.get('Accept'), 'plain', [
      AGGREGATED,
    ])
    if (chosen === undefined) return statusOf(ROOT, group)
    if (chosen === 'plain') return answerDocument(exchange, await groups())
    return answerDocument(exchange, await aggregated(), { 'Content-Type': AGGREGATED_TYPE })
  }
}

/** `GET /apis/{group}`. */
export const groupRoute = ({ group }: Group) =>
  plainRoute(group, () => ({ kind: 'APIGroup', apiVersion: 'v1', ...nameAndVersions(group) }))

/** `GET /apis/{group}/{version}`. The aggregator also takes its 200 for a sign of health. */
export function resourcesRoute(services: Listed) {
  const { group } = services
  return plainRoute(group, () => ({
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: `${group}/${API_VERSION}`,
    // Group and version are this list's own: named again for aggregators that take over each resource as it is.
    resources: resourcesOf(services).map((resource) => ({
      name: resource.name,
      singularName: resource.singularName,
      namespaced: true,
      ...kindOf(group, resource),
      verbs: resource.verbs,
    })),
  }))
}

const kindOf = (group: string, { kind, kindVersion }: Pick<Resource, 'kind' | 'kindVersion'>) => ({
  ...(kindVersion ?? { group, version: API_VERSION }),
  kind,
})

function nameAndVersions(group: string) {
  const version = { groupVersion: `${group}/${API_VERSION}`, version: API_VERSION }
  return { name: group, versions: [version], preferredVersion: version }
}

/** As `k8s.io/apiserver/pkg/endpoints/installer.go` lists a resource of which only a part is served: clients leave it out. */
const UNSERVED = {
  responseKind: { group: '', version: '', kind: '' },
  scope: 'Namespaced',
  singularResource: '',
  verbs: [],
}

function servedOf(group: string, name: string): object {
  const served = CREDENTIALS.find((each) => each.name === name)
  if (served === undefined) return UNSERVED
  return {
    responseKind: kindOf(group, served),
    scope: 'Namespaced',
    singularResource: served.singularName,
    verbs: served.verbs,
  }
}

function aggregatedOf(group: string, all: readonly Resource[]): unknown {
  const names = new Set(all.map(({ name }) => name.split('/', 1)[0] ?? ''))
  const resources = [...names].map((name) => ({
    resource: name,
    ...servedOf(group, name),
    subresources: all
      .filter((each) => each.name.startsWith(`${name}/`))
      .map((each) => ({
        subresource: each.name.slice(name.length + 1),
        responseKind: kindOf(group, each),
        // What is answered with a kind of its own is asked for with the same.
        ...(each.kindVersion === undefined ? { acceptedTypes: [kindOf(group, each)] } : {}),
        verbs: each.verbs,
      })),
  }))
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: [
      {
        metadata: { name: group },
        versions: [{ version: API_VERSION, resources, freshness: 'Current' }],
      },
    ],
  }
}
