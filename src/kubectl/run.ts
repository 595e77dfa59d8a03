import { isName } from '../client/address.ts'
import { type Answer, createClient, type Issued } from '../client/client.ts'
import type { Fetch } from '../core/deps.ts'
import { codeOf } from '../core/error-code.ts'
import { visible } from '../core/visible.ts'
import type { KubeconfigAccess, openKubeconfig } from '../k8s/node-kubeconfig.ts'
import { VERSION } from '../version.ts'
import { type Issue, parseCommandLine } from './command-line.ts'
import { EXIT, type ExitCode, outcomeOf, whatNow } from './exit-codes.ts'
import { DEFAULT_GROUP, type Verb } from './flags.ts'
import { helpOf } from './help.ts'
import { afterwards, ON_A_TERMINAL, render } from './output.ts'

/** What a command needs of its process. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly open: typeof openKubeconfig
  /** To standard output. Rejects when it could not be written. */
  readonly print: (text: string) => Promise<void>
  /** Why nothing that is printed would be seen. Undefined: it may be. */
  readonly whyUnseen: () => string | undefined
  readonly isTerminal: boolean
  /** A line to standard error. */
  readonly say: (line: string) => void
  /** From now on an interruption says this line before it ends the process. Answers how to take that back. */
  readonly whenInterrupted: (line: string) => () => void
}

/** Runs `kubectl mint` or `kubectl revoke` with these arguments, and answers the exit code. Every call is sent once. */
export async function run(verb: Verb, args: readonly string[], around: Surroundings): Promise<ExitCode> {
  const command = parseCommandLine(verb, args)
  switch (command.is) {
    case 'help':
      await around.print(helpOf(verb))
      return EXIT.done
    case 'version':
      await around.print(`kubectl-${verb} ${VERSION}\n`)
      return EXIT.done
    case 'mistake':
      return misused(verb, command.message, around)
    case 'issue':
      return issue(verb, command, around)
  }
}

function misused(verb: Verb, message: string, { say }: Surroundings): ExitCode {
  say(`error: ${visible(message)}`)
  say(`See 'kubectl ${verb} --help'.`)
  return EXIT.usage
}

async function issue(verb: Verb, asked: Issue, around: Surroundings): Promise<ExitCode> {
  const { say } = around
  const unseen = showsPassword(verb, asked) ? around.whyUnseen() : undefined
  if (unseen !== undefined)
    return misused(verb, `${unseen}: the password would be lost. Nothing was sent`, around)
  const group = asked.target.group ?? (around.env.MINTONCE_API_GROUP || DEFAULT_GROUP)
  if (!isName(group)) return misused(verb, `MINTONCE_API_GROUP: ${group} is no API group`, around)
  let access: KubeconfigAccess
  try {
    const { kubeconfig: path, ...target } = asked.target
    access = await around.open({ ...target, path, terminal: { stdin: true, stderr: true } })
  } catch (error) {
    say(`error: ${visible(wordsOf(error))}`)
    return EXIT.usage
  }
  const namespace = asked.target.namespace ?? access.namespace
  if (!isName(namespace))
    return misused(verb, `the kubeconfig: ${namespace} is no name of a namespace`, around)
  try {
    await access.authenticate()
  } catch (error) {
    say(`error: ${visible(wordsOf(error))}`)
    return codeOf(error) === 'NO_CREDENTIALS' ? EXIT.forbidden : EXIT.failed
  }
  // Until it is printed: what ends the process before that loses it.
  const relax = asked.dryRun
    ? undefined
    : around.whenInterrupted(`interrupted. ${whatNow({ verb, name: asked.name })}`)
  try {
    return await callAndTell(verb, asked, { access, group, namespace, around })
  } finally {
    relax?.()
  }
}

const showsPassword = (verb: Verb, { dryRun }: Issue): boolean => verb === 'mint' && !dryRun

async function callAndTell(verb: Verb, asked: Issue, way: Way): Promise<ExitCode> {
  const { say } = way.around
  const { access, group, namespace } = way
  const { name, dryRun } = asked
  const answer = await call(verb, asked, way)
  for (const warning of answer.warnings) say(`Warning: ${visible(warning)}`)
  if (answer.ok) return deliver(verb, asked, answer.value, way.around)
  const isPlain = access.server.startsWith('http:')
  const outcome = outcomeOf(answer.failure, { verb, name, namespace, group, dryRun, isPlain })
  for (const line of outcome.lines) say(line)
  return outcome.code
}

interface Way {
  readonly access: KubeconfigAccess
  readonly group: string
  readonly namespace: string
  readonly around: Surroundings
}

function call(
  verb: Verb,
  { name, preconditions, dryRun, timeoutMs }: Issue,
  { access, group, namespace }: Way,
): Promise<Answer<Issued>> {
  const client = createClient({
    baseUrl: new URL(access.server).origin,
    fetch: named(access.fetch, verb),
    group,
  })
  const limit = timeoutMs === undefined ? {} : { signal: AbortSignal.timeout(timeoutMs) }
  return client[verb]({ namespace, name }, { preconditions, dryRun, ...limit })
}

/** Audit logs hold it. */
const named =
  (fetch: Fetch, verb: Verb): Fetch =>
  (request) => {
    request.headers.set('User-Agent', `kubectl-${verb}/${VERSION}`)
    return fetch(request)
  }

/** From here on it is stored: what cannot be shown is lost. */
async function deliver(
  verb: Verb,
  asked: Issue,
  value: Issued,
  { print, say, isTerminal }: Surroundings,
): Promise<ExitCode> {
  const shows = showsPassword(verb, asked)
  if (shows && isTerminal) say(ON_A_TERMINAL)
  try {
    await print(render(value, verb, asked))
  } catch (error) {
    const lost = shows ? `: the password is lost. ${whatNow({ verb, name: asked.name })}` : ''
    say(`error: it is done, and could not be written (${codeOf(error) ?? 'no reason'})${lost}`)
    return shows ? EXIT.unknown : EXIT.failed
  }
  if (asked.output.as === 'text' && !asked.dryRun) say(afterwards(verb))
  return EXIT.done
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : 'it failed')
