import type { Json } from '../../src/core/json.ts'
import { servedWebhooks, wrongWebhooks } from './blocks-webhook.ts'

/** What the API server makes of a block: `schema` and `rule` (CEL) refuse it, `blind` lets it pass. */
type Guard = 'schema' | 'rule' | 'blind'

export interface WrongBlock {
  readonly why: string
  readonly block: unknown
  /** The field that the parser names. */
  readonly field: string
  readonly guard: Guard
}

export const postgres = {
  format: { kind: 'BuiltIn', name: 'scram-sha-256' },
  secretLabels: { 'cnpg.io/reload': 'true' },
  accounts: [
    { kind: 'ValuesMap', path: 'users' },
    { kind: 'Static', name: 'postgres', owner: 'platform' },
  ],
} as const satisfies Json

/** Blocks that this version serves. */
export const served: readonly (readonly [string, Json])[] = [
  ...servedWebhooks,
  ['PostgreSQL', postgres],
  ['a format without its kind', { ...postgres, format: { name: 'mysql-native' } }],
  ['an empty label', { ...postgres, secretLabels: { 'k8s.mariadb.com/watch': '' } }],
  ['no labels at all', { format: postgres.format, accounts: postgres.accounts }],
  [
    'values for the chart',
    {
      format: { name: 'sha256' },
      secretLabels: { 'reconcile.fluxcd.io/watch': 'Enabled' },
      valuesPath: '_accounts',
      accounts: [
        { kind: 'ValuesMap', path: 'users' },
        { kind: 'Static', name: 'backup', owner: 'platform' },
      ],
    },
  ],
  [
    'one account under a setting, and where its password was',
    {
      format: { name: 'plaintext' },
      accounts: [{ kind: 'Static', name: 'default', owner: 'tenant', when: 'auth.enabled' }],
      legacy: { secretName: '{release}-auth', key: 'password' },
    },
  ],
  [
    'lists of accounts',
    {
      format: postgres.format,
      accounts: [
        { kind: 'ValuesList', path: 'accounts', nameField: 'name' },
        { kind: 'ValuesList', path: 'auth.readers', owner: 'platform' },
      ],
    },
  ],
  [
    'an expression',
    {
      format: postgres.format,
      accounts: [{ kind: 'Expression', expression: "spec.accounts.map(a, {'name': a.name})" }],
    },
  ],
]

const withAccount = (account: unknown) => ({ ...postgres, accounts: [postgres.accounts[0], account] })
const withFormat = (format: unknown) => ({ ...postgres, format })
const withLabel = (key: string, value: unknown) => ({ ...postgres, secretLabels: { [key]: value } })

export const wrong: readonly WrongBlock[] = [
  ...wrongWebhooks,
  { why: 'is a list', block: [], field: '', guard: 'schema' },
  { why: 'has an unknown field', block: { ...postgres, acounts: [] }, field: '.acounts', guard: 'blind' },
  { why: 'uses the reserved status', block: { ...postgres, status: {} }, field: '.status', guard: 'rule' },

  { why: 'has no format', block: { accounts: postgres.accounts }, field: '.format', guard: 'schema' },
  { why: 'names a format only', block: withFormat('sha256'), field: '.format', guard: 'schema' },
  { why: 'has a format without a name', block: withFormat({}), field: '.format.name', guard: 'schema' },
  { why: 'has an unknown format', block: withFormat({ name: 'md5' }), field: '.format.name', guard: 'blind' },
  {
    why: 'spells a format in capitals',
    block: withFormat({ name: 'SHA256' }),
    field: '.format.name',
    guard: 'blind',
  },
  {
    why: 'names a property of every object as its format',
    block: withFormat({ name: 'constructor' }),
    field: '.format.name',
    guard: 'blind',
  },
  {
    why: 'has a format of an unknown kind',
    block: withFormat({ kind: 'Script', name: 'sha256' }),
    field: '.format.kind',
    guard: 'schema',
  },
  {
    why: 'gives a format an option that it does not have',
    block: withFormat({ name: 'sha256', rounds: 5000 }),
    field: '.format.rounds',
    guard: 'blind',
  },

  {
    why: 'has labels in a list',
    block: { ...postgres, secretLabels: [] },
    field: '.secretLabels',
    guard: 'schema',
  },
  {
    why: 'has a label with a boolean',
    block: withLabel('cnpg.io/reload', true),
    field: '.secretLabels["cnpg.io/reload"]',
    guard: 'schema',
  },
  {
    why: 'has a label with a blank in it',
    block: withLabel('cnpg.io/reload', 'on off'),
    field: '.secretLabels["cnpg.io/reload"]',
    guard: 'schema',
  },
  {
    why: 'has a label of 64 characters',
    block: withLabel('cnpg.io/reload', 'a'.repeat(64)),
    field: '.secretLabels["cnpg.io/reload"]',
    guard: 'schema',
  },
  {
    why: 'has a label without a name',
    block: withLabel('a.io/', ''),
    field: '.secretLabels["a.io/"]',
    guard: 'blind',
  },
  ...[
    'internal.cozystack.io/tenantresource',
    'apps.cozystack.io/user-secret',
    'credentials.cozystack.io/account',
    'helm.toolkit.fluxcd.io/name',
    'kubernetes.io/x',
    'app.kubernetes.io/instance',
    'k8s.io/x',
    'node.k8s.io/x',
  ].map(
    (label): WrongBlock => ({
      why: `has the label ${label}`,
      block: withLabel(label, 'true'),
      field: `.secretLabels["${label}"]`,
      guard: 'blind',
    }),
  ),

  {
    why: 'has values where a tenant can set them',
    block: { ...postgres, valuesPath: 'accounts' },
    field: '.valuesPath',
    guard: 'schema',
  },
  ...['', '_a.', '_a..b', '_a[0]', '_a b', '_a\n', 5].map(
    (valuesPath): WrongBlock => ({
      why: `has ${JSON.stringify(valuesPath)} for a path`,
      block: { ...postgres, valuesPath },
      field: '.valuesPath',
      guard: 'schema',
    }),
  ),
  {
    why: 'puts values that Helm would not take as they are into values',
    block: { ...postgres, format: { name: 'redis-acl' }, valuesPath: '_accounts' },
    field: '.valuesPath',
    guard: 'rule',
  },
  {
    why: 'puts passwords into values',
    block: { ...postgres, format: { name: 'plaintext' }, valuesPath: '_accounts' },
    field: '.valuesPath',
    guard: 'rule',
  },

  { why: 'has no accounts', block: { format: postgres.format }, field: '.accounts', guard: 'schema' },
  {
    why: 'has an empty list of accounts',
    block: { ...postgres, accounts: [] },
    field: '.accounts',
    guard: 'schema',
  },
  {
    why: 'has accounts in a map',
    block: { ...postgres, accounts: { kind: 'Static', name: 'app' } },
    field: '.accounts',
    guard: 'schema',
  },
  { why: 'has a bare name for a source', block: withAccount('app'), field: '.accounts[1]', guard: 'schema' },
  {
    why: 'has a source without a kind',
    block: withAccount({ name: 'a' }),
    field: '.accounts[1].kind',
    guard: 'schema',
  },
  {
    why: 'has a source of an unknown kind',
    block: withAccount({ kind: 'static', name: 'app' }),
    field: '.accounts[1].kind',
    guard: 'schema',
  },
  {
    why: 'misspells the owner',
    block: withAccount({ kind: 'Static', name: 'root', onwer: 'platform' }),
    field: '.accounts[1].onwer',
    guard: 'blind',
  },
  {
    why: 'has an unknown owner',
    block: withAccount({ kind: 'Static', name: 'root', owner: 'Platform' }),
    field: '.accounts[1].owner',
    guard: 'schema',
  },
  {
    why: 'has a map with an unknown owner',
    block: withAccount({ kind: 'ValuesMap', path: 'users', owner: 'us' }),
    field: '.accounts[1].owner',
    guard: 'schema',
  },
  {
    why: 'has a nameless account',
    block: withAccount({ kind: 'Static' }),
    field: '.accounts[1].name',
    guard: 'rule',
  },
  ...['', 'a'.repeat(64), 7].map(
    (name): WrongBlock => ({
      why: `has an account called ${JSON.stringify(name)}`,
      block: withAccount({ kind: 'Static', name }),
      field: '.accounts[1].name',
      guard: 'schema',
    }),
  ),
  {
    why: 'has an account with a line break in its name',
    block: withAccount({ kind: 'Static', name: 'a\nb' }),
    field: '.accounts[1].name',
    guard: 'blind',
  },
  {
    why: 'has a condition that is no path',
    block: withAccount({ kind: 'Static', name: 'app', when: 'a == b' }),
    field: '.accounts[1].when',
    guard: 'schema',
  },
  {
    why: 'has a condition that is a value',
    block: withAccount({ kind: 'Static', name: 'app', when: true }),
    field: '.accounts[1].when',
    guard: 'schema',
  },
  {
    why: 'gives a static account a path',
    block: withAccount({ kind: 'Static', name: 'app', path: 'users' }),
    field: '.accounts[1].path',
    guard: 'rule',
  },
  {
    why: 'has a map nowhere',
    block: withAccount({ kind: 'ValuesMap' }),
    field: '.accounts[1].path',
    guard: 'rule',
  },
  {
    why: 'has a map at an index',
    block: withAccount({ kind: 'ValuesMap', path: 'users[0]' }),
    field: '.accounts[1].path',
    guard: 'schema',
  },
  {
    why: 'has a map under a condition',
    block: withAccount({ kind: 'ValuesMap', path: 'users', when: 'enabled' }),
    field: '.accounts[1].when',
    guard: 'rule',
  },
  {
    why: 'has a list nowhere',
    block: withAccount({ kind: 'ValuesList', nameField: 'name' }),
    field: '.accounts[1].path',
    guard: 'rule',
  },
  ...['', 7].map(
    (nameField): WrongBlock => ({
      why: `has a list with usernames in the field ${JSON.stringify(nameField)}`,
      block: withAccount({ kind: 'ValuesList', path: 'accounts', nameField }),
      field: '.accounts[1].nameField',
      guard: 'schema',
    }),
  ),
  {
    why: 'has a map with a field for the username',
    block: withAccount({ kind: 'ValuesMap', path: 'users', nameField: 'name' }),
    field: '.accounts[1].nameField',
    guard: 'rule',
  },
  {
    why: 'has an expression that says nothing',
    block: withAccount({ kind: 'Expression' }),
    field: '.accounts[1].expression',
    guard: 'rule',
  },
  ...['', ['app']].map(
    (expression): WrongBlock => ({
      why: `has ${JSON.stringify(expression)} for an expression`,
      block: withAccount({ kind: 'Expression', expression }),
      field: '.accounts[1].expression',
      guard: 'schema',
    }),
  ),
  {
    why: 'has an expression that is longer than any need be',
    block: withAccount({ kind: 'Expression', expression: `['${'a'.repeat(4093)}']` }),
    field: '.accounts[1].expression',
    guard: 'schema',
  },
  {
    why: 'has an expression with an owner beside it',
    block: withAccount({ kind: 'Expression', expression: "['app']", owner: 'platform' }),
    field: '.accounts[1].owner',
    guard: 'rule',
  },

  { why: 'has a legacy name only', block: { ...postgres, legacy: 'old' }, field: '.legacy', guard: 'schema' },
  {
    why: 'has a legacy Secret under another placeholder',
    block: { ...postgres, legacy: { secretName: '{name}-auth' } },
    field: '.legacy.secretName',
    guard: 'blind',
  },
  {
    why: 'has a legacy Secret with capitals',
    block: { ...postgres, legacy: { secretName: 'Auth' } },
    field: '.legacy.secretName',
    guard: 'schema',
  },
  {
    why: 'has a legacy key that no Secret can have',
    block: { ...postgres, legacy: { key: 'pass word' } },
    field: '.legacy.key',
    guard: 'schema',
  },
  {
    why: 'has an unknown field about the past',
    block: { ...postgres, legacy: { user: 'root' } },
    field: '.legacy.user',
    guard: 'blind',
  },
]
