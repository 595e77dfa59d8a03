import { parseArgs } from 'node:util'
import { isDnsLabel } from '../k8s/names.ts'
import type { ClusterOptions } from './cluster-options.ts'

const PARTS = ['hook', 'job'] as const

/** What both parts of a conversion are told. */
export interface ConvertCommand {
  readonly part: (typeof PARTS)[number]
  /** Undefined: the cluster that the process is a pod of. */
  readonly cluster: ClusterOptions | undefined
  /** Files with ApplicationDefinitions. The hook needs one, the job none. */
  readonly definitions: readonly string[]
  /** Where the record is kept. */
  readonly platformNamespace: string
  /** Only the releases in it. Undefined: all. */
  readonly namespace: string | undefined
  readonly dryRun: boolean
  readonly output: 'table' | 'json'
  /** How many releases at a time. */
  readonly concurrency: number
  /** How long the job waits for each release. */
  readonly deadlineSeconds: number
}

type Parsed =
  | ({ readonly is: 'convert' } & ConvertCommand)
  | { readonly is: 'help' }
  | { readonly is: 'mistake'; readonly message: string }

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  kubeconfig: { type: 'boolean' },
  context: { type: 'string' },
  definitions: { type: 'string', multiple: true },
  'platform-namespace': { type: 'string' },
  namespace: { type: 'string', short: 'n' },
  'dry-run': { type: 'boolean' },
  output: { type: 'string', short: 'o' },
  concurrency: { type: 'string' },
  deadline: { type: 'string' },
} as const

interface WholeOption {
  readonly fallback: number
  readonly max: number
}

const CONCURRENCY: WholeOption = { fallback: 8, max: 64 }
/** An upgrade may take ten minutes by the platform's default. */
const DEADLINE_SECONDS: WholeOption = { fallback: 900, max: 86_400 }

const mistake = (message: string): Parsed => ({ is: 'mistake', message })

/** The arguments after `convert`, with `--kubeconfig=PATH` as two. A mistake is a value too. */
export function parseConvert(args: readonly string[]): Parsed {
  let given: ReturnType<typeof read>
  try {
    given = read(args)
  } catch (error) {
    return mistake(error instanceof Error ? (error.message.split('. ', 1)[0] ?? '') : 'not understood')
  }
  const { values, tokens } = given
  if (values.help) return { is: 'help' }
  const after = tokens.find((token) => token.kind === 'option' && token.name === 'kubeconfig')
  const texts = tokens.filter((token) => token.kind === 'positional')
  const path = texts.find(({ index }) => index - 1 === after?.index)
  const [name, ...files] = texts.filter((each) => each !== path).map(({ value }) => value)
  const part = PARTS.find((each) => each === name)
  if (part === undefined) return mistake('convert has two parts: mintonce convert hook, mintonce convert job')
  const isCluster = values.kubeconfig === true || values.context !== undefined
  const cluster = isCluster ? { path: path?.value, context: values.context } : undefined
  return convertOf(part, cluster, files, values)
}

const read = (args: readonly string[]) =>
  parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true, tokens: true })

type Values = ReturnType<typeof read>['values']

function convertOf(
  part: ConvertCommand['part'],
  cluster: ClusterOptions | undefined,
  files: readonly string[],
  values: Values,
): Parsed {
  const { namespace, output = 'table', definitions = [], 'platform-namespace': platform } = values
  const wrong = (message: string) => mistake(`convert ${part} ${message}`)
  const problem = problemWith(part, files, values)
  if (problem !== undefined) return wrong(problem)
  if (platform === undefined) return wrong('needs --platform-namespace NAMESPACE')
  for (const name of [platform, namespace]) {
    if (name !== undefined && !isDnsLabel(name)) return mistake(`convert ${part}: "${name}" is no name`)
  }
  if (output !== 'table' && output !== 'json') return wrong('prints as -o table or -o json')
  const concurrency = wholeOf(values.concurrency, CONCURRENCY)
  if (concurrency === undefined) return wrong(`takes a --concurrency from 1 to ${CONCURRENCY.max}`)
  const deadlineSeconds = wholeOf(values.deadline, DEADLINE_SECONDS)
  if (deadlineSeconds === undefined) return wrong(`takes a --deadline from 1 to ${DEADLINE_SECONDS.max}`)
  return {
    is: 'convert',
    part,
    cluster,
    definitions: [...definitions, ...files],
    platformNamespace: platform,
    namespace,
    dryRun: values['dry-run'] ?? false,
    output,
    concurrency,
    deadlineSeconds,
  }
}

/** What only one of the parts takes. Files may stand one after the other, as a shell writes them out. */
function problemWith(
  part: ConvertCommand['part'],
  [stray]: readonly string[],
  { definitions = [], deadline }: Values,
): string | undefined {
  if (definitions.length === 0 && stray !== undefined) return `does not know what "${stray}" is`
  if (part !== 'hook') return undefined
  if (definitions.length === 0) return 'needs --definitions FILE'
  return deadline === undefined ? undefined : 'does not know --deadline'
}

/** Undefined for what is no whole number from 1. */
function wholeOf(text: string | undefined, { fallback, max }: WholeOption): number | undefined {
  if (text === undefined) return fallback
  const number = /^\d+$/.test(text) ? Number(text) : 0
  return number >= 1 && number <= max ? number : undefined
}
