/** What `dev` prints: lines to paste into a shell. */
interface Invitation {
  readonly origin: string
  readonly group: string
  readonly audiences: readonly string[]
  /** The cluster that is served. Undefined: the sandbox. */
  readonly cluster: { readonly context: string; readonly server: string } | undefined
}

/** The sandbox with its fixed tokens, ready to be called. */
export function invitationOf({ origin, group, audiences, cluster }: Invitation): string {
  const api = (namespace: string) => `${origin}/apis/${group}/v1alpha1/namespaces/${namespace}/credentials`
  if (cluster === undefined) {
    return [
      `The sandbox is served on ${origin}. It protects nothing: its tokens are fixed.`,
      '',
      `API=${api('tenant-acme')}`,
      ...callsOf('tenant-admin', 'postgres-orders.web'),
      '',
      'Other credentials: postgres-orders.report, mariadb-shop.app, clickhouse-events.etl, redis-cache.default',
      'Other tokens: tenant-viewer (may look), pipeline (a ServiceAccount that may mint), stranger (may nothing)',
      '',
    ].join('\n')
  }
  return [
    `Served on ${origin}: context ${cluster.context} (${cluster.server}), with the rights of that context.`,
    '',
    'NAMESPACE=your-namespace',
    `API=${api('$NAMESPACE')}`,
    `TOKEN=$(kubectl --context ${cluster.context} -n $NAMESPACE create token default --audience ${audiences[0]})`,
    ...callsOf('$TOKEN', 'RELEASE.ACCOUNT'),
    '',
  ].join('\n')
}

function callsOf(token: string, credential: string): readonly string[] {
  const curl = `curl -H "Authorization: Bearer ${token}"`
  return [
    `${curl} $API`,
    `${curl} -X POST $API/${credential}/mint`,
    `${curl} $API/${credential}`,
    `${curl} -X POST $API/${credential}/revoke`,
  ]
}
