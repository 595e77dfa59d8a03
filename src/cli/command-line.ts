import { parseArgs } from 'node:util'

export type Command =
  | { readonly is: 'help' | 'version' | 'demo' }
  | { readonly is: 'dev'; readonly cluster: ClusterOptions | undefined }
  | { readonly is: 'mistake'; readonly message: string }

/** Which cluster a command is about. Both undefined: the one that kubectl would take. */
export interface ClusterOptions {
  readonly path: string | undefined
  readonly context: string | undefined
}

const COMMANDS = ['demo', 'dev'] as const
type Name = (typeof COMMANDS)[number]

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
  kubeconfig: { type: 'boolean' },
  context: { type: 'string' },
} as const

type Given = ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>>

/** The arguments after the program's name. Nothing here ends the process: a mistake is a value too. */
export function parseCommandLine(args: readonly string[]): Command {
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

function commandOf(name: Name, rest: readonly string[], { kubeconfig, context }: Given['values']): Command {
  const isCluster = kubeconfig !== undefined || context !== undefined
  if (name === 'demo' && isCluster) return mistake('demo runs in a sandbox only: dev takes a kubeconfig')
  const [path, ...more] = kubeconfig ? rest : [undefined, ...rest]
  if (more.length > 0) return mistake(`${name} does not know what "${more[0]}" is`)
  if (name === 'demo') return { is: 'demo' }
  return { is: 'dev', cluster: isCluster ? { path, context } : undefined }
}

const mistake = (message: string): Command => ({ is: 'mistake', message })

/** The path is optional, which `parseArgs` knows no word for: `--kubeconfig` is a flag, and the path stands after it. */
const splitKubeconfig = (args: readonly string[]): string[] =>
  args.flatMap((arg) =>
    arg.startsWith('--kubeconfig=') ? ['--kubeconfig', arg.slice('--kubeconfig='.length)] : [arg],
  )
