/** Of the built-in formats that the example tenant has no engine for: a kind of application each. */
const KINDS = [
  ['RabbitMQ', 'rabbitmq-sha256'],
  ['RedisAcl', 'redis-acl'],
  ['MySQL', 'caching_sha2_password'],
  ['WebApr1', 'apr1'],
  ['WebBcrypt', 'bcrypt'],
  ['WebSha512', 'sha512-crypt'],
] as const

export const formatDefinitions = (): readonly object[] =>
  KINDS.map(([kind, format]) => {
    const singular = kind.toLowerCase()
    return {
      apiVersion: 'cozystack.io/v1alpha1',
      kind: 'ApplicationDefinition',
      metadata: { name: singular },
      spec: {
        application: { kind, plural: `${singular}s`, singular, openAPISchema: '{}' },
        release: {
          prefix: `${singular}-`,
          chartRef: { kind: 'ExternalArtifact', name: `cozystack-${singular}`, namespace: 'cozy-system' },
        },
        credentials: { format: { name: format }, accounts: [{ kind: 'ValuesMap', path: 'users' }] },
      },
    }
  })
