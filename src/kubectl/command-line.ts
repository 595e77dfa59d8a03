import { parseArgs } from 'node:util'
import { isName } from '../client/address.ts'
import { type Flag, flagsOf, type Verb } from './flags.ts'
import { parseTemplate, type Template } from './template.ts'

export type Command =
  | { readonly is: 'help' | 'version' }
  | { readonly is: 'mistake'; readonly message: string }
  | Issue

/** One call, as it was asked for. */
export interface Issue {
  readonly is: 'issue'
  /** `<release>.<account>`. */
  readonly name: string
  readonly target: Target
  readonly output: Output
  readonly preconditions: { readonly resourceVersion?: string; readonly uid?: string }
  readonly dryRun: boolean
  /** Undefined: no limit of ours. */
  readonly timeoutMs: number | undefined
}

/** Where, and as whom. What is undefined comes from the kubeconfig. */
export interface Target {
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly cluster: string | undefined
  readonly user: string | undefined
  readonly namespace: string | undefined
  readonly group: string | undefined
  readonly impersonate:
    | { readonly user: string; readonly groups: readonly string[]; readonly uid?: string }
    | undefined
}

export type Output =
  | { readonly as: 'text' | 'json' | 'password' }
  | { readonly as: 'env'; readonly prefix: string }
  | { readonly as: 'uri'; readonly template: Template }

/** The values of the flags, by name; the last of several counts, as for kubectl. */
type Values = ReadonlyMap<string, readonly string[]>

interface Given {
  readonly values: Values
  readonly positionals: readonly string[]
}

/** The arguments after `kubectl mint`. Nothing here ends the process: a mistake is a value too. */
export function parseCommandLine(verb: Verb, args: readonly string[]): Command {
  const given = readArgs(flagsOf(verb), args)
  if (typeof given === 'string') return { is: 'mistake', message: given }
  const { values, positionals } = given
  if (values.has('help')) return { is: 'help' }
  if (values.has('version')) return { is: 'version' }
  const message = mistakes(verb, given).find((each) => each !== undefined)
  if (message !== undefined) return { is: 'mistake', message }
  return {
    is: 'issue',
    name: nameIn(positionals[0] ?? ''),
    target: targetIn(values),
    output: outputIn(values),
    preconditions: {
      ...entry('resourceVersion', last(values, 'resource-version')),
      ...entry('uid', last(values, 'uid')),
    },
    dryRun: isDryRun(values),
    timeoutMs: timeoutIn(values),
  }
}

/** What has been typed so far, good or not: enough to look for names. */
export function targetSoFar(verb: Verb, args: readonly string[]): Target | undefined {
  const given = readArgs(flagsOf(verb), args)
  return typeof given === 'string' ? undefined : targetIn(given.values)
}

/** How many names stand between the flags. Undefined: the flags are no flags. */
export function countNames(verb: Verb, args: readonly string[]): number | undefined {
  const given = readArgs(flagsOf(verb), args)
  return typeof given === 'string' ? undefined : given.positionals.length
}

function readArgs(flags: readonly Flag[], args: readonly string[]): Given | string {
  const options = Object.fromEntries(
    flags.map(({ name, short, value }) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        multiple: true,
        ...(short === undefined ? {} : { short }),
      },
    ]),
  )
  try {
    const { values, positionals } = parseArgs({ args: plainShorts(args), options, allowPositionals: true })
    const texts = Object.entries(values).map(([name, given]) => [name, [given].flat().map(String)] as const)
    return { values: new Map(texts), positionals }
  } catch (error) {
    const message = error instanceof Error ? error.message : 'not understood'
    return missingValue(flags, message) ?? message.split(/[.\n]\s/, 1)[0] ?? ''
  }
}

/** For a flag at the end, or before another one: there it is "ambiguous" to `parseArgs`. */
function missingValue(flags: readonly Flag[], message: string): string | undefined {
  const [, said, alias = said] =
    /^Option '(-[a-z-]+)(?:, (-[a-z-]+))?.*' argument (?:missing|is ambiguous)/.exec(message) ?? []
  const flag = flags.find(({ name, short }) => alias === `--${name}` || alias === `-${short}`)
  if (flag === undefined) return undefined
  const { name, value = '', values = [value] } = flag
  return `--${name} needs a value: ${oneOf(values.map((each) => `--${name}=${each}`))}`
}

const oneOf = (texts: readonly string[]): string => texts.join(', ').replace(/, (?=[^,]*$)/, ' or ')

/** `-n=ns` is `-n ns` for kubectl (github.com/spf13/pflag), and not for `parseArgs`. */
function plainShorts(args: readonly string[]): string[] {
  const end = args.indexOf('--')
  return args.flatMap((arg, index) => {
    const isFlag = /^-[a-z]=/.test(arg) && (end < 0 || index < end)
    return isFlag ? [arg.slice(0, 2), arg.slice(3)] : [arg]
  })
}

const last = (values: Values, name: string): string | undefined => values.get(name)?.at(-1)

const entry = <K extends string>(key: K, value: string | undefined) =>
  (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: string }

/** Also as `kubectl get credentials -o name` prints it. */
const nameIn = (given: string): string => given.replace(/^credentials?(\.[a-z0-9.-]+)?\//, '')

function targetIn(values: Values): Target {
  const user = last(values, 'as')
  return {
    kubeconfig: last(values, 'kubeconfig'),
    context: last(values, 'context'),
    cluster: last(values, 'cluster'),
    user: last(values, 'user'),
    namespace: last(values, 'namespace'),
    group: last(values, 'group'),
    impersonate:
      user === undefined
        ? undefined
        : { user, groups: values.get('as-group') ?? [], ...entry('uid', last(values, 'as-uid')) },
  }
}

function outputIn(values: Values): Output {
  const as = last(values, 'output')
  const template = parseTemplate(last(values, 'template') ?? '')
  if (as === 'uri' && typeof template !== 'string') return { as, template }
  if (as === 'env') return { as, prefix: last(values, 'prefix') ?? 'DB_' }
  return { as: as === 'json' || as === 'password' ? as : 'text' }
}

const isDryRun = (values: Values): boolean => last(values, 'dry-run') === 'server'

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
/** What a timer can wait (`setTimeout` of Node): about 24 days. */
const LONGEST_MS = 2 ** 31 - 1

/** Seconds, or Go's durations, as `--request-timeout` of kubectl is read; `NaN` for anything else. */
function timeoutIn(values: Values): number | undefined {
  const given = last(values, 'request-timeout') ?? '0'
  const parts = [...given.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)]
  const isDuration = parts.length > 0 && parts.map(([part]) => part).join('') === given
  if (!isDuration && !/^\d+$/.test(given)) return Number.NaN
  const milliseconds = isDuration
    ? parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNITS_MS[unit] ?? 0), 0)
    : Number(given) * 1000
  return milliseconds === 0 ? undefined : Math.min(Math.ceil(milliseconds), LONGEST_MS)
}

/** In the order in which they are told; the first one is. */
const mistakes = (verb: Verb, { values, positionals }: Given): readonly (string | undefined)[] => [
  // An unset variable in a script must not widen what is asked for: no namespace, no precondition.
  // Spaces are nothing in a header: nobody would be impersonated.
  ...[...values].map(([name, given]) =>
    given.some((text) => !text.trim()) ? `--${name} is empty` : undefined,
  ),
  ...flagsOf(verb).map((flag) => wrongValue(flag, last(values, flag.name))),
  wrongName(positionals),
  wrongNamespace(last(values, 'namespace')),
  wrongOutput(values),
  wrongImpersonation(values),
  wrongGroup(last(values, 'group')),
  Number.isNaN(timeoutIn(values)) ? '--request-timeout is a time: 30, 30s, 1m30s' : undefined,
]

function wrongName([name, ...more]: readonly string[]): string | undefined {
  if (name === undefined) return 'a credential is missing: RELEASE.ACCOUNT, postgres-orders.web for example'
  if (more.length > 0) return `one credential at a time: ${JSON.stringify(more[0])} is one too many`
  const isCredential = isName(nameIn(name)) && nameIn(name).includes('.')
  return isCredential ? undefined : `${JSON.stringify(name)} is no RELEASE.ACCOUNT in lower case`
}

const wrongValue = ({ name, values }: Flag, given: string | undefined): string | undefined =>
  values === undefined || given === undefined || values.includes(given)
    ? undefined
    : `--${name} is ${oneOf(values)}, not ${JSON.stringify(given)}`

const wrongNamespace = (namespace: string | undefined): string | undefined =>
  namespace === undefined || (isName(namespace) && !namespace.includes('.'))
    ? undefined
    : `${JSON.stringify(namespace)} is no name of a namespace`

const wrongGroup = (group: string | undefined): string | undefined =>
  group === undefined || isName(group) ? undefined : `${JSON.stringify(group)} is no API group`

function wrongOutput(values: Values): string | undefined {
  const as = last(values, 'output')
  const template = last(values, 'template')
  const prefix = last(values, 'prefix')
  if (template !== undefined && as !== 'uri') return '--template goes with -o uri'
  if (prefix !== undefined && as !== 'env') return '--prefix goes with -o env'
  if (prefix !== undefined && !/^[A-Za-z_][A-Za-z0-9_]*$/.test(prefix)) {
    return `--prefix ${JSON.stringify(prefix)} begins no name of a variable`
  }
  if (isDryRun(values) && as !== undefined && as !== 'json') {
    return `a dry run shows no password: -o ${as} has nothing to print`
  }
  if (as !== 'uri') return undefined
  if (template === undefined)
    return "-o uri needs --template 'postgresql://{username}:{password}@host:5432/db'"
  const parsed = parseTemplate(template)
  return typeof parsed === 'string' ? `--template: ${parsed}` : undefined
}

/** Nothing that ends a header's line (RFC 9110, section 5.5). Without `--as` client-go refuses the other two as well. */
function wrongImpersonation(values: Values): string | undefined {
  const flags = ['as', 'as-group', 'as-uid']
  const broken = flags.find((name) => values.get(name)?.some((text) => /\p{Cc}/u.test(text)))
  if (broken !== undefined) return `--${broken} has a control character`
  const lonely = flags.find((name) => values.has(name) && !values.has('as'))
  return lonely === undefined ? undefined : `--${lonely} goes with --as`
}
