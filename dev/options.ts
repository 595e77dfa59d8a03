import { parseArgs } from 'node:util'
import type { ClusterOptions } from '../src/cli/cluster-options.ts'

/** What stands behind the worker. */
export type Options =
  | { readonly is: 'cluster'; readonly cluster: ClusterOptions }
  | { readonly is: 'sandbox' }
  | { readonly is: 'help' }

/** The arguments after the script's name. Throws an Error that says what was not understood. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kubeconfig: { type: 'string' },
      context: { type: 'string' },
      sandbox: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const { kubeconfig: path, context, sandbox, help } = values
  if (help) return { is: 'help' }
  if (!sandbox) return { is: 'cluster', cluster: { path, context } }
  if (path === undefined && context === undefined) return { is: 'sandbox' }
  throw new Error('--sandbox takes no cluster: it is there instead of one')
}
