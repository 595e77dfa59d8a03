import type { Json } from '../../src/core/json.ts'
import type { Webhooks } from '../../src/definitions/webhook.ts'
import type { WrongBlock } from './blocks.ts'

/** Webhooks that may be named here, and that nobody asks. */
export const CALLED: Webhooks = {
  hosts: ['.svc', 'hash.example'],
  ask: async () => ({ ok: false, why: 'nobody is asked' }),
}

/** What stands for a certificate where nobody is known by it. */
const caBundle = btoa('-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n')
const service = { namespace: 'cozy-system', name: 'hashes' }
const clientConfig = { service, caBundle }
const users = { kind: 'ValuesMap', path: 'users' }

const hashing = (webhook: unknown, more: object = {}): Json => ({
  format: { kind: 'Webhook', name: 'ldap', webhook },
  accounts: [users],
  ...more,
})
const knowing = (webhook: unknown, more: object = {}): Json => ({
  format: { name: 'sha256' },
  accounts: [{ kind: 'Webhook', webhook, ...more }],
})

export const servedWebhooks: readonly (readonly [string, Json])[] = [
  ['a webhook that hashes', hashing({ clientConfig })],
  [
    'a webhook that hashes, for values',
    hashing({ clientConfig, timeoutSeconds: 10 }, { valuesPath: '_accounts' }),
  ],
  [
    'a webhook that stores passwords',
    hashing({
      clientConfig: { service: { ...service, port: 8443, path: '/v1/ldap' } },
      storesPlaintext: true,
    }),
  ],
  [
    'a webhook outside of the cluster',
    hashing({ clientConfig: { url: 'https://hash.example:8443/v1', caBundle } }),
  ],
  [
    'a webhook that knows the accounts',
    knowing({ clientConfig, timeoutSeconds: 1, values: ['users', 'auth.on'] }),
  ],
  ['a webhook that is sent nothing', knowing({ clientConfig, values: [] })],
]

/** The same mistakes in both places. */
const mistakes: readonly (readonly [
  why: string,
  webhook: unknown,
  field: string,
  guard: WrongBlock['guard'],
])[] = [
  ['that is a URL', 'https://hash.example', '', 'schema'],
  ['without an address', {}, '.clientConfig', 'schema'],
  ['without a clientConfig that is one', { clientConfig: 'x' }, '.clientConfig', 'schema'],
  ['that is nowhere', { clientConfig: {} }, '.clientConfig', 'rule'],
  [
    'that is in two places',
    { clientConfig: { service, url: 'https://hash.example' } },
    '.clientConfig',
    'rule',
  ],
  ['with an unknown field', { clientConfig, retries: 3 }, '.retries', 'blind'],
  [
    'that is not verified',
    { clientConfig: { ...clientConfig, insecure: true } },
    '.clientConfig.insecure',
    'blind',
  ],
  ['in the clear', { clientConfig: { url: 'http://hash.example' } }, '.clientConfig.url', 'schema'],
  ['with a user', { clientConfig: { url: 'https://a:b@hash.example' } }, '.clientConfig.url', 'schema'],
  ['with a query', { clientConfig: { url: 'https://hash.example/?a=b' } }, '.clientConfig.url', 'schema'],
  [
    'at a metadata address',
    { clientConfig: { url: 'https://169.254.169.254/' } },
    '.clientConfig.url',
    'blind',
  ],
  [
    'at a host that is not allowed',
    { clientConfig: { url: 'https://other.example/' } },
    '.clientConfig.url',
    'blind',
  ],
  [
    'without a namespace',
    { clientConfig: { service: { name: 'a' } } },
    '.clientConfig.service.namespace',
    'schema',
  ],
  [
    'whose Service is no name',
    { clientConfig: { service: { ...service, name: 'a.b' } } },
    '.clientConfig.service.name',
    'schema',
  ],
  [
    'at port 0',
    { clientConfig: { service: { ...service, port: 0 } } },
    '.clientConfig.service.port',
    'schema',
  ],
  [
    'at no path',
    { clientConfig: { service: { ...service, path: 'v1' } } },
    '.clientConfig.service.path',
    'schema',
  ],
  [
    'at a path that climbs',
    { clientConfig: { service: { ...service, path: '/a/../b' } } },
    '.clientConfig.service.path',
    'blind',
  ],
  [
    'on another protocol',
    { clientConfig: { service: { ...service, scheme: 'http' } } },
    '.clientConfig.service.scheme',
    'blind',
  ],
  [
    'that no authority vouches for',
    { clientConfig: { service, caBundle: '' } },
    '.clientConfig.caBundle',
    'schema',
  ],
  [
    'with authorities that are none',
    { clientConfig: { service, caBundle: 'cGVt' } },
    '.clientConfig.caBundle',
    'blind',
  ],
  ['that may take 11 seconds', { clientConfig, timeoutSeconds: 11 }, '.timeoutSeconds', 'schema'],
  ['that may take no time', { clientConfig, timeoutSeconds: 0 }, '.timeoutSeconds', 'schema'],
  ['that may take half a second', { clientConfig, timeoutSeconds: 0.5 }, '.timeoutSeconds', 'schema'],
]

export const wrongWebhooks: readonly WrongBlock[] = [
  ...mistakes.flatMap(([why, webhook, field, guard]): readonly WrongBlock[] => [
    { why: `has a format webhook ${why}`, block: hashing(webhook), field: `.format.webhook${field}`, guard },
    {
      why: `has a source webhook ${why}`,
      block: knowing(webhook),
      field: `.accounts[0].webhook${field}`,
      guard,
    },
  ]),
  {
    why: 'has a webhook format without a webhook',
    block: { format: { kind: 'Webhook', name: 'ldap' }, accounts: [users] },
    field: '.format.webhook',
    guard: 'rule',
  },
  {
    why: 'has a webhook format without a name',
    block: { format: { kind: 'Webhook', webhook: { clientConfig } }, accounts: [users] },
    field: '.format.name',
    guard: 'schema',
  },
  {
    why: 'has a built-in format with a webhook',
    block: { format: { name: 'sha256', webhook: { clientConfig } }, accounts: [users] },
    field: '.format.webhook',
    guard: 'rule',
  },
  {
    why: 'has a webhook format that may hold passwords, as texts',
    block: hashing({ clientConfig, storesPlaintext: 'yes' }),
    field: '.format.webhook.storesPlaintext',
    guard: 'schema',
  },
  {
    why: 'puts passwords of a webhook into values',
    block: hashing({ clientConfig, storesPlaintext: true }, { valuesPath: '_accounts' }),
    field: '.valuesPath',
    guard: 'rule',
  },
  {
    why: 'sends values to a webhook format',
    block: hashing({ clientConfig, values: ['users'] }),
    field: '.format.webhook.values',
    guard: 'blind',
  },
  {
    why: 'has a source that stores passwords',
    block: knowing({ clientConfig, storesPlaintext: true }),
    field: '.accounts[0].webhook.storesPlaintext',
    guard: 'blind',
  },
  {
    why: 'sends values by an index',
    block: knowing({ clientConfig, values: ['users[0]'] }),
    field: '.accounts[0].webhook.values',
    guard: 'schema',
  },
  {
    why: 'sends all values',
    block: knowing({ clientConfig, values: '*' }),
    field: '.accounts[0].webhook.values',
    guard: 'schema',
  },
  {
    why: 'has a source webhook with an owner',
    block: knowing({ clientConfig }, { owner: 'platform' }),
    field: '.accounts[0].owner',
    guard: 'rule',
  },
  {
    why: 'has a source webhook that is not there',
    block: { format: { name: 'sha256' }, accounts: [{ kind: 'Webhook' }] },
    field: '.accounts[0].webhook',
    guard: 'rule',
  },
]
