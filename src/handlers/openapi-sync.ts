import { failuresOf, IGNORED, idIn, NAMESPACE, type Operation, type Parameter } from './openapi-operations.ts'
import { API_VERSION, type Services } from './services.ts'

/** Unlike a mint they may have done a part, and may be sent again. */
const FAILURES = {
  ...failuresOf([400, 401, 403, 413, 415, 'default']),
  409: 'Something stands in the way. A part may have been done.',
  429: 'The Kubernetes API is overloaded. A part may have been done.',
  500: 'A mistake of the platform.',
  503: 'The Kubernetes API or an issuer of tokens did not answer. A part may have been done.',
  504: 'The time was over. A part may have been done.',
}

/** Every call that brings something in step, as `handlers/sync.ts` and `handlers/projection-sync.ts` answer them. */
export const syncOperationsOf = ({
  group,
  anchors,
}: Pick<Services, 'group' | 'anchors'>): readonly Operation[] => [
  releaseSync(group),
  ...(anchors === undefined ? [] : [projectionSync(group)]),
]

const releaseSync = (group: string): Operation => ({
  ...syncOf(group, 'helmreleases', 'HelmReleaseSync'),
  description:
    'Bring the credentials of an application in step with what it declares, now: make those that are missing before its ' +
    'first deployment, with passwords that nobody has seen, and take away those that are no longer declared. Idempotent. ' +
    'Needs update on the application, too.',
  parameters: [
    NAMESPACE,
    nameOf('The name of the HelmRelease of the application, such as postgres-orders.'),
    ...IGNORED,
  ],
  success: {
    code: 200,
    description:
      'In step. details.causes counts what was done, each by its reason: Created, Adopted, Marked (seen as no longer ' +
      'declared), Deleted, and Warnings, each of which is an Event of the HelmRelease.',
    kind: 'Status',
  },
  failures: {
    404: 'There is no such HelmRelease, it is no application, or its kind has no minted credentials.',
    ...FAILURES,
  },
})

const projectionSync = (group: string): Operation => ({
  ...syncOf(group, 'tenantprojections', 'TenantProjectionSync'),
  description:
    'Publish the CA that a TenantProjection of internal.cozystack.io declares, without its key, now. Idempotent. For the ' +
    'platform itself: no tenant may call it.',
  parameters: [NAMESPACE, nameOf('The name of the TenantProjection.'), ...IGNORED],
  success: {
    code: 200,
    description:
      'Looked at. details.causes has one entry, whose reason and message are those of the condition Ready of the ' +
      'TenantProjection: Projected, or why the CA is not published.',
    kind: 'Status',
  },
  failures: { 404: 'There is no such TenantProjection.', ...FAILURES },
})

const syncOf = (group: string, resource: string, what: string) =>
  ({
    path: `/apis/${group}/${API_VERSION}/namespaces/{namespace}/${resource}/{name}/sync`,
    method: 'post',
    id: idIn(group, 'create', what),
    action: 'post',
    subject: { group: '', version: 'v1', kind: 'Status' },
  }) as const

const nameOf = (description: string): Parameter => ({
  in: 'path',
  name: 'name',
  description,
  type: 'string',
})
