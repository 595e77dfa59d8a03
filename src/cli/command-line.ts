import { parseArgs } from 'node:util'
import { isDnsLabel } from '../k8s/names.ts'
import type { ClusterOptions } from './cluster-options.ts'
import { type ConvertCommand, parseConvert } from './convert-command-line.ts'

export type Command =
  | { readonly is: 'help' | 'version' | 'demo' }
  /** Without a cluster: the sandbox for `dev`, and for `sweep` the one that the process is a pod of. */
  | { readonly is: 'dev' | 'sweep'; readonly cluster: ClusterOptions | undefined }
  | ({ readonly is: 'adopt' } & AdoptCommand)
  | ({ readonly is: 'convert' } & ConvertCommand)
  | {
      readonly is: 'definition-check'
      readonly files: readonly string[]
      /** A file with HelmReleases. */
      readonly release: string | undefined
    }
  | { readonly is: 'mistake'; readonly message: string }

export interface AdoptCommand {
  readonly cluster: ClusterOptions
  /** Undefined: that of the context, unless it is all of them. */
  readonly namespace: string | undefined
  readonly allNamespaces: boolean
  readonly release: string | undefined
  readonly dryRun: boolean
  readonly output: 'table' | 'json'
}

const COMMANDS = ['demo', 'dev', 'sweep', 'adopt', 'definition'] as const
type Name = (typeof COMMANDS)[number]

const ONLY_ADOPT = {
  namespace: { type: 'string', short: 'n' },
  'all-namespaces': { type: 'boolean', short: 'A' },
  release: { type: 'string' },
  'dry-run': { type: 'boolean' },
  output: { type: 'string', short: 'o' },
} as const

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
  kubeconfig: { type: 'boolean' },
  context: { type: 'string' },
  ...ONLY_ADOPT,
} as const

type Given = ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>>

/** The arguments after the program's name. Nothing here ends the process: a mistake is a value too. */
export function parseCommandLine(args: readonly string[]): Command {
  if (args[0] === 'convert') return parseConvert(splitKubeconfig(args.slice(1)))
  let given: Given
  try {
    given = parseArgs({ args: splitKubeconfig(args), options: OPTIONS, allowPositionals: true, strict: true })
  } catch (error) {
    return mistake(error instanceof Error ? (error.message.split('. ', 1)[0] ?? '') : 'not understood')
  }
  const { values, positionals } = given
  const [name, ...rest] = positionals
  if (values.help || (name === undefined && !values.version)) return { is: 'help' }
  if (values.version) return { is: 'version' }
  const known = COMMANDS.find((each) => each === name)
  return known === undefined ? mistake(`there is no command "${name}"`) : commandOf(known, rest, values)
}

function commandOf(name: Name, rest: readonly string[], values: Given['values']): Command {
  const { kubeconfig, context } = values
  const isCluster = kubeconfig !== undefined || context !== undefined
  if (name === 'demo' && isCluster) return mistake('demo runs in a sandbox only: dev takes a kubeconfig')
  if (name === 'definition') return definitionOf(rest, values)
  const [path, ...more] = kubeconfig ? rest : [undefined, ...rest]
  if (more.length > 0) return mistake(`${name} does not know what "${more[0]}" is`)
  if (name === 'adopt') return adoptOf({ path, context }, values)
  const stray = Object.keys(ONLY_ADOPT).find((option) => Object.hasOwn(values, option))
  if (stray !== undefined) return mistake(`${name} does not know --${stray}: it is for adopt`)
  if (name === 'demo') return { is: 'demo' }
  return { is: name, cluster: isCluster ? { path, context } : undefined }
}

function definitionOf([verb, ...files]: readonly string[], values: Given['values']): Command {
  if (verb !== 'check')
    return mistake('definition can only be asked to check: mintonce definition check FILE...')
  const stray = Object.keys(values).find((option) => option !== 'release')
  if (stray !== undefined) return mistake(`definition check does not know --${stray}`)
  if (files.length === 0) return mistake('definition check needs a file')
  return { is: 'definition-check', files, release: values.release }
}

function adoptOf(cluster: ClusterOptions, values: Given['values']): Command {
  const { namespace, release, output = 'table', 'all-namespaces': allNamespaces = false } = values
  if (namespace !== undefined && allNamespaces) return mistake('adopt takes --namespace or --all-namespaces')
  for (const name of [namespace, release]) {
    if (name !== undefined && !isDnsLabel(name)) return mistake(`adopt: "${name}" is no name`)
  }
  if (output !== 'table' && output !== 'json') return mistake('adopt prints as -o table or -o json')
  const dryRun = values['dry-run'] ?? false
  return { is: 'adopt', cluster, namespace, allNamespaces, release, dryRun, output }
}

const mistake = (message: string): Command => ({ is: 'mistake', message })

/** The path is optional, which `parseArgs` knows no word for: `--kubeconfig` is a flag, and the path stands after it. */
const splitKubeconfig = (args: readonly string[]): string[] =>
  args.flatMap((arg) =>
    arg.startsWith('--kubeconfig=') ? ['--kubeconfig', arg.slice('--kubeconfig='.length)] : [arg],
  )
