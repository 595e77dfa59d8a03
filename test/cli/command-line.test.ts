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

const convert = (more: object = {}) => ({
  is: 'convert',
  part: 'hook',
  cluster: undefined,
  definitions: ['a.yaml'],
  platformNamespace: 'cozy-system',
  namespace: undefined,
  dryRun: false,
  output: 'table',
  concurrency: 8,
  deadlineSeconds: 900,
  ...more,
})
const HOOK = 'convert hook --platform-namespace cozy-system'

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
  ['convert -h', { is: 'help' }],
  [`${HOOK} --definitions a.yaml`, convert()],
  [`${HOOK} --definitions a.yaml b.yaml`, convert({ definitions: ['a.yaml', 'b.yaml'] })],
  [`${HOOK} --definitions=- --definitions b.yaml`, convert({ definitions: ['-', 'b.yaml'] })],
  [
    `${HOOK} --definitions a.yaml -n tenant-acme --dry-run -o json --concurrency 32`,
    convert({ namespace: 'tenant-acme', dryRun: true, output: 'json', concurrency: 32 }),
  ],
  [
    `${HOOK} --kubeconfig /a/config --definitions a.yaml`,
    convert({ cluster: { path: '/a/config', context: undefined } }),
  ],
  [
    `${HOOK} --kubeconfig=/a/config --context kind --definitions a.yaml`,
    convert({ cluster: { path: '/a/config', context: 'kind' } }),
  ],
  [
    `${HOOK} --definitions a.yaml --kubeconfig`,
    convert({ cluster: { path: undefined, context: undefined } }),
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
  ['convert', 'convert has two parts: mintonce convert hook, mintonce convert job'],
  ['convert back', 'convert has two parts: mintonce convert hook, mintonce convert job'],
  [HOOK, 'convert hook needs --definitions FILE'],
  [`${HOOK} a.yaml`, 'convert hook does not know what "a.yaml" is'],
  ['convert hook --definitions a.yaml', 'convert hook needs --platform-namespace NAMESPACE'],
  ['convert hook --definitions a.yaml --platform-namespace ../x', 'convert hook: "../x" is no name'],
  [`${HOOK} --definitions a.yaml -n tenant.acme`, 'convert hook: "tenant.acme" is no name'],
  [`${HOOK} --definitions a.yaml -o yaml`, 'convert hook prints as -o table or -o json'],
  [`${HOOK} --definitions a.yaml --concurrency 0`, 'convert hook takes a --concurrency from 1 to 64'],
  [`${HOOK} --definitions a.yaml --concurrency many`, 'convert hook takes a --concurrency from 1 to 64'],
  [`${HOOK} --definitions a.yaml --deadline 5`, 'convert hook does not know --deadline'],
  [`${HOOK} --definitions a.yaml --release x`, "Unknown option '--release'"],
  ['sweep --dry-run', 'sweep does not know --dry-run: it is for adopt'],
  ['dev -n tenant-acme', 'dev does not know --namespace: it is for adopt'],
  ['demo --kubeconfig', 'demo runs in a sandbox only: dev takes a kubeconfig'],
])('"mintonce %s" is a mistake that is named', (line, message) => {
  expect(parseCommandLine(line.split(' '))).toEqual({ is: 'mistake', message })
})
