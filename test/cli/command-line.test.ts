import { expect, test } from 'vitest'
import { parseCommandLine } from '../../src/cli/command-line.ts'

const dev = (path?: string, context?: string) => ({ is: 'dev', cluster: { path, context } })

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
  ['demo --kubeconfig', 'demo runs in a sandbox only: dev takes a kubeconfig'],
])('"mintonce %s" is a mistake that is named', (line, message) => {
  expect(parseCommandLine(line.split(' '))).toEqual({ is: 'mistake', message })
})
