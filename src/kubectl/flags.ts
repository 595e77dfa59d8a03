/** As the aggregation layer serves it. */
export const DEFAULT_GROUP = 'credentials.cozystack.io'

/** What the plug-ins do, by the name of the subresource that they call. */
export type Verb = 'mint' | 'revoke'

export interface Flag {
  readonly name: string
  readonly short?: string
  /** How its value is called in the help. Undefined: it has none. */
  readonly value?: string
  /** All values that there are. */
  readonly values?: readonly string[]
  readonly isFile?: true
  readonly isRepeatable?: true
  readonly help: string
}

const flagsOfMint: readonly Flag[] = [
  {
    name: 'output',
    short: 'o',
    value: 'FORMAT',
    values: ['json', 'env', 'password', 'uri'],
    help: 'json (as it came), env (two lines for a shell), password (just that), uri',
  },
  {
    name: 'template',
    value: 'TEXT',
    help: 'for -o uri: text with {username} and {password}, each percent-encoded',
  },
  { name: 'prefix', value: 'NAME', help: 'for -o env: how the two names begin (default DB_)' },
]

const flagsOfRevoke: readonly Flag[] = [
  { name: 'output', short: 'o', value: 'FORMAT', values: ['json'], help: 'json (as it came)' },
]

/** With kubectl's names and meanings, where kubectl has them. */
const sharedFlags: readonly Flag[] = [
  { name: 'namespace', short: 'n', value: 'NAME', help: "the application's (default: the context's)" },
  { name: 'context', value: 'NAME', help: 'of the kubeconfig, other than the current one' },
  { name: 'kubeconfig', value: 'PATH', isFile: true, help: 'default: $KUBECONFIG, then ~/.kube/config' },
  { name: 'cluster', value: 'NAME', help: "of the kubeconfig, other than the context's" },
  { name: 'user', value: 'NAME', help: "of the kubeconfig, other than the context's" },
  { name: 'as', value: 'USER', help: 'whom to impersonate' },
  { name: 'as-group', value: 'GROUP', isRepeatable: true, help: 'with --as; may be repeated' },
  { name: 'as-uid', value: 'UID', help: 'with --as' },
  { name: 'resource-version', value: 'VERSION', help: 'only when the credential still has this one' },
  { name: 'uid', value: 'UID', help: 'only when the credential still has this one' },
  {
    name: 'dry-run',
    value: 'HOW',
    values: ['none', 'server'],
    help: 'server: check everything, change nothing',
  },
  {
    name: 'request-timeout',
    value: 'TIME',
    help: 'for the answer: 30, 30s, 1m (default 0: as long as it takes)',
  },
  {
    name: 'group',
    value: 'NAME',
    help: `API group (default: $MINTONCE_API_GROUP, then ${DEFAULT_GROUP})`,
  },
  { name: 'help', short: 'h', help: 'this page' },
  { name: 'version', help: 'of this command' },
]

/** Every flag of a command, in the order of its help. */
export const flagsOf = (verb: Verb): readonly Flag[] => [
  ...(verb === 'mint' ? flagsOfMint : flagsOfRevoke),
  ...sharedFlags,
]
