import { describe, expect, test } from 'vitest'
import { type Issue, parseCommandLine } from '../../src/kubectl/command-line.ts'

const NAME = 'postgres-orders.web'

function issue(...args: readonly string[]): Issue {
  const command = parseCommandLine('mint', args)
  if (command.is !== 'issue') throw new Error(`no call: ${JSON.stringify(command)}`)
  return command
}

const mistake = (verb: 'mint' | 'revoke', ...args: readonly string[]): string => {
  const command = parseCommandLine(verb, args)
  return command.is === 'mistake' ? command.message : `none: ${command.is}`
}

const NOWHERE = {
  kubeconfig: undefined,
  context: undefined,
  cluster: undefined,
  user: undefined,
  namespace: undefined,
  group: undefined,
  impersonate: undefined,
}

test('a name alone takes everything from the kubeconfig', () => {
  expect(issue(NAME)).toEqual({
    is: 'issue',
    name: NAME,
    target: NOWHERE,
    output: { as: 'text' },
    preconditions: {},
    dryRun: false,
    timeoutMs: undefined,
  })
})

// github.com/spf13/pflag, "Command line flag syntax".
test.each([
  [['-n', 'acme', NAME]],
  [[NAME, '-n', 'acme']],
  [['-nacme', NAME]],
  [['-n=acme', NAME]],
  [['--namespace', 'acme', NAME]],
  [[NAME, '--namespace=acme']],
  [['-n', 'other', '-n', 'acme', NAME]],
  [['-n', 'acme', '--', NAME]],
])('the namespace is read from %j as kubectl reads it', (args) => {
  expect(issue(...args)).toMatchObject({ name: NAME, target: { ...NOWHERE, namespace: 'acme' } })
})

test('where and as whom', () => {
  const { target } = issue(
    ...['--kubeconfig=/k', '--context=c', '--cluster=d', '--user=u', '--group=example.org'],
    ...['--as=jane', '--as-group=a', '--as-group', 'b,c', '--as-uid=7', NAME],
  )
  expect(target).toEqual({
    kubeconfig: '/k',
    context: 'c',
    cluster: 'd',
    user: 'u',
    namespace: undefined,
    group: 'example.org',
    impersonate: { user: 'jane', groups: ['a', 'b,c'], uid: '7' },
  })
})

test.each([[`credential/${NAME}`], [`credentials/${NAME}`], [`credential.credentials.cozystack.io/${NAME}`]])(
  '%s is how `kubectl get -o name` calls it',
  (name) => {
    expect(issue(name).name).toBe(NAME)
  },
)

test('preconditions and a dry run', () => {
  expect(issue(NAME, '--resource-version', '7', '--uid', 'u', '--dry-run=server')).toMatchObject({
    preconditions: { resourceVersion: '7', uid: 'u' },
    dryRun: true,
  })
  expect(issue(NAME, '--dry-run=none').dryRun).toBe(false)
})

test.each([
  ['-o json', { as: 'json' }],
  ['-o=password', { as: 'password' }],
  ['-ojson', { as: 'json' }],
  ['--output env', { as: 'env', prefix: 'DB_' }],
  ['-o env --prefix PG', { as: 'env', prefix: 'PG' }],
  [
    '-o uri --template {password}',
    { as: 'uri', template: [{ text: '' }, { value: 'password' }, { text: '' }] },
  ],
])('%s', (args, output) => {
  expect(issue(NAME, ...args.split(' ')).output).toEqual(output)
})

// k8s.io/client-go/tools/clientcmd/helpers.go, ParseTimeout; time.ParseDuration of Go.
test.each([
  ['0', undefined],
  ['0s', undefined],
  ['30', 30_000],
  ['1.5s', 1500],
  ['500ms', 500],
  ['1m30s', 90_000],
  ['2h', 7_200_000],
  ['9999h', 2 ** 31 - 1],
])('--request-timeout %s', (given, timeoutMs) => {
  expect(issue(NAME, '--request-timeout', given).timeoutMs).toBe(timeoutMs)
})

test.each([['--help'], ['-h'], ['nonsense --help']])('%s asks for help, whatever else is said', (args) => {
  expect(parseCommandLine('mint', args.split(' '))).toEqual({ is: 'help' })
})

describe('a mistake is named', () => {
  test.each([
    ['no name', [], /credential is missing: RELEASE\.ACCOUNT/],
    ['two names', [NAME, 'x.y'], /"x\.y" is one too many/],
    ['an empty name', [''], /"" is no RELEASE\.ACCOUNT/],
    ['no account', ['postgres-orders'], /"postgres-orders" is no RELEASE\.ACCOUNT/],
    ['capitals', ['Orders.web'], /"Orders\.web" is no RELEASE\.ACCOUNT in lower case/],
    ['another path', ['../secrets.x'], /no RELEASE\.ACCOUNT/],
    ['another kind', ['secret/a.b'], /no RELEASE\.ACCOUNT/],
    ['an unknown flag', [NAME, '--all'], /Unknown option '--all'$/],
    ['a flag without its value', [NAME, '-n'], /^--namespace needs a value: --namespace=NAME$/],
    ['a flag before another', ['-n', '-o', 'json', NAME], /^--namespace needs a value: --namespace=NAME$/],
    ['a long one before another', ['--as', '--uid=u', NAME], /^--as needs a value: --as=USER$/],
    ['no output', [NAME, '-o'], /^--output needs a value: --output=json, --output=env, .* or --output=uri$/],
    ['no output before a flag', [NAME, '-o', '-n', 'a'], /^--output needs a value: --output=json, /],
    ['a bare dry run', [NAME, '--dry-run'], /^--dry-run needs a value: --dry-run=none or --dry-run=server$/],
    ['a bare dry run before a flag', [NAME, '--dry-run', '-n', 'a'], /or --dry-run=server$/],
    ['a bare dry run before the name', ['--dry-run', NAME], /--dry-run is none or server, not "postgres/],
    ['a value for a flag that has none', [NAME, '--version=1'], /'--version' does not take an argument$/],
    ['a person of spaces', [NAME, '--as', ' '], /^--as is empty$/],
    ['a namespace that is none', [NAME, '-n', 'a.b'], /"a\.b" is no name of a namespace/],
    ['a group that is none', [NAME, '--group', 'a/b'], /"a\/b" is no API group/],
    ['an unknown output', [NAME, '-o', 'yaml'], /--output is json, env, password or uri, not "yaml"/],
    ['another dry run', [NAME, '--dry-run=client'], /--dry-run is none or server, not "client"/],
    [
      'a dry run without a word',
      ['--dry-run', NAME],
      /--dry-run is none or server, not "postgres-orders\.web"/,
    ],
    ['nothing to print', [NAME, '--dry-run=server', '-o', 'password'], /dry run shows no password/],
    ['a URI without a template', [NAME, '-o', 'uri'], /-o uri needs --template 'postgresql:\/\/\{username\}/],
    ['a template without a URI', [NAME, '--template', '{password}'], /--template goes with -o uri/],
    ['an unknown placeholder', [NAME, '-o', 'uri', '--template', '{password}@{host}'], /knows no \{host\}/],
    ['a lost password', [NAME, '-o', 'uri', '--template', 'x:{username}'], /no \{password\}/],
    ['a prefix for nothing', [NAME, '--prefix', 'X'], /--prefix goes with -o env/],
    ['a prefix that would be a command', [NAME, '-o', 'env', '--prefix', 'X;rm '], /begins no name/],
    ['a group without a user', [NAME, '--as-group', 'admins'], /--as-group goes with --as/],
    ['a header of their own', [NAME, '--as', 'a\r\nX: y'], /--as has a control character/],
    ['a time that is none', [NAME, '--request-timeout', 'soon'], /--request-timeout is a time/],
    ['a negative time', [NAME, '--request-timeout=-1s'], /--request-timeout is a time/],
  ])('%s', (_what, args, message) => {
    expect(mistake('mint', ...args)).toMatch(message)
  })

  // "$NAMESPACE" of a script that never set it.
  test.each(['namespace', 'resource-version', 'uid', 'as', 'context', 'kubeconfig', 'group'])(
    'an empty --%s, which would ask for more than was meant',
    (flag) => {
      expect(mistake('mint', NAME, `--${flag}`, '')).toBe(`--${flag} is empty`)
    },
  )

  test.each([
    ['-o', 'password'],
    ['--template', '{password}'],
    ['--prefix', 'X'],
  ])('a revoke has no password: %s %s', (...args) => {
    expect(mistake('revoke', NAME, ...args)).toMatch(/--output is json, not "password"|Unknown option/)
  })
})
