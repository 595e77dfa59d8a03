/** CloudEvents as Knative's sources send them (`knative.dev/eventing/pkg/adapter/apiserver`). */

export const reference = {
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  namespace: 'tenant-acme',
  name: 'postgres-orders',
} as const

interface Named {
  readonly type?: string
  readonly namespace?: string
  readonly name?: string
  readonly kind?: string
}

/** One of an ApiServerSource in reference mode, attributes in headers. */
export function binary({
  type = 'dev.knative.apiserver.ref.update',
  namespace = reference.namespace,
  name = reference.name,
  kind = reference.kind,
}: Named): { readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  return {
    headers: {
      'ce-specversion': '1.0',
      'ce-type': type,
      'ce-source': 'https://10.96.0.1:443',
      'ce-subject': `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases/${name}`,
      'ce-id': '6f7b2f3a-0c6b-4d0e-9a53-d6b1b4f2d6f1',
      'ce-time': '2026-10-02T09:14:07.123456Z',
      'ce-kind': kind,
      'ce-apiversion': 'helm.toolkit.fluxcd.io/v2',
      'ce-name': name,
      'ce-namespace': namespace,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ ...reference, kind, namespace, name }),
  }
}

/** The same in one JSON object. */
export const structured = (type: string, more: object): object => ({
  specversion: '1.0',
  id: '1',
  source: 'https://10.96.0.1:443',
  type,
  ...more,
})
