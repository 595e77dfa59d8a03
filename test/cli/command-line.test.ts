import { expect, test } from 'vitest'
import { parseCommandLine } from '../../src/cli/command-line.ts'

const dev = (path?: string, context?: string) => ({ is: 'dev', cluster: { path, context } })
const adopt = (more: object = {}) => ({
  is: 'adopt',
  cluster: { path: undefined, context: undefined },
  namespace: undefined,
  allNamespaces: false,
  release: undefined,
  dryRun: false,
  output: 'table',
  ...more,
})

test.each([
  ['', { is: 'help' }],
  ['--help', { is: 'help' }],
  ['demo -h', { is: 'help' }],
  ['--version', { is: 'version' }],
  ['demo', { is: 'demo' }],
  ['dev', { is: 'dev', cluster: undefined }],
  ['dev --kubeconfig', dev()],
  ['dev --kubeconfig /a/config', dev('/a/config')],
  ['dev --kubeconfig=/a/config', dev('/a/config')],
  ['dev --kubeconfig --context kind', dev(undefined, 'kind')],
  ['dev --kubeconfig /a/config --context kind', dev('/a/config', 'kind')],
  ['dev --context kind', dev(undefined, 'kind')],
  ['sweep', { is: 'sweep', cluster: undefined }],
  ['sweep --kubeconfig /a/config', { is: 'sweep', cluster: { path: '/a/config', context: undefined } }],
  ['adopt', adopt()],
  [
    'adopt -n tenant-acme --release postgres-orders',
    adopt({ namespace: 'tenant-acme', release: 'postgres-orders' }),
  ],
  ['adopt -A --dry-run -o json', adopt({ allNamespaces: true, dryRun: true, output: 'json' })],
  ['definition check a.yaml', { is: 'definition-check', files: ['a.yaml'], release: undefined }],
  [
    'definition check a.yaml b.yaml --release r.yaml',
    { is: 'definition-check', files: ['a.yaml', 'b.yaml'], release: 'r.yaml' },
  ],
  ['adopt --kubeconfig /a --context kind', adopt({ cluster: { path: '/a', context: 'kind' } })],
])('"mintonce %s" is understood', (line, expected) => {
  expect(parseCommandLine(line.split(' ').filter((word) => word !== ''))).toEqual(expected)
})

test.each([
  ['dmeo', 'there is no command "dmeo"'],
  ['dev --prot 1', "Unknown option '--prot'"],
  ['dev --context', "Option '--context <value>' argument missing"],
  ['dev /a/config', 'dev does not know what "/a/config" is'],
  ['dev --kubeconfig /a /b', 'dev does not know what "/b" is'],
  ['demo now', 'demo does not know what "now" is'],
  ['adopt -n a -A', 'adopt takes --namespace or --all-namespaces'],
  ['adopt --namespace=', 'adopt: "" is no name'],
  ['adopt -n ../kube-system', 'adopt: "../kube-system" is no name'],
  ['adopt --release=postgres-orders.web', 'adopt: "postgres-orders.web" is no name'],
  ['adopt -o yaml', 'adopt prints as -o table or -o json'],
  ['adopt postgres-orders', 'adopt does not know what "postgres-orders" is'],
  ['definition', 'definition can only be asked to check: mintonce definition check FILE...'],
  ['definition check', 'definition check needs a file'],
  ['definition check a.yaml --dry-run', 'definition check does not know --dry-run'],
  ['definition check a.yaml --kubeconfig', 'definition check does not know --kubeconfig'],
  ['sweep --dry-run', 'sweep does not know --dry-run: it is for adopt'],
  ['dev -n tenant-acme', 'dev does not know --namespace: it is for adopt'],
  ['demo --kubeconfig', 'demo runs in a sandbox only: dev takes a kubeconfig'],
])('"mintonce %s" is a mistake that is named', (line, message) => {
  expect(parseCommandLine(line.split(' '))).toEqual({ is: 'mistake', message })
})
