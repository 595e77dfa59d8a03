import { isName } from '../client/address.ts'
import { type Answer, type Credential, createClient } from '../client/client.ts'
import { whenAborted } from '../core/time-limit.ts'
import { visible } from '../core/visible.ts'
import type { openKubeconfig } from '../k8s/node-kubeconfig.ts'
import { countNames, type Target, targetSoFar } from './command-line.ts'
import { DEFAULT_GROUP, type Flag, flagsOf, type Verb } from './flags.ts'

/** cobra's ShellCompDirective (github.com/spf13/cobra/completions.go): a bit each. */
const DEFAULT = 0
const NO_FILES = 4

export interface Completing {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly open: typeof openKubeconfig
  /** Ends the search for names. */
  readonly signal: AbortSignal
}

const PAGE = 500

/**
 * What `kubectl_complete-mint` prints: candidates for the last of `args`, with a word about each after a tab, and the line
 * that tells kubectl what the shell shall do (k8s.io/kubectl/pkg/cmd/plugin/plugin_completion.go). Never fails: no
 * candidates are an answer too.
 */
export async function completionsOf(
  verb: Verb,
  args: readonly string[],
  around: Completing,
): Promise<string> {
  const { candidates, directive } = await complete(verb, args, around)
  return [...candidates, `:${directive}`, ''].join('\n')
}

interface Completions {
  readonly candidates: readonly string[]
  readonly directive: typeof DEFAULT | typeof NO_FILES
}

const nothing: Completions = { candidates: [], directive: NO_FILES }

async function complete(verb: Verb, args: readonly string[], around: Completing): Promise<Completions> {
  const before = args.slice(0, -1)
  const word = args.at(-1) ?? ''
  const flags = flagsOf(verb)
  const [, head, tail = ''] = /^(-[a-z]|--[a-z-]+)=(.*)$/s.exec(word) ?? []
  const flag = valued(flags, head ?? before.at(-1))
  if (flag !== undefined && (head !== undefined || !before.slice(0, -1).includes('--'))) {
    return valuesOf(flag, head === undefined ? word : tail)
  }
  if (word.startsWith('-'))
    return offer(
      flags.map(({ name, help }) => [`--${name}`, help]),
      word,
    )
  const target = targetSoFar(verb, before)
  if (target === undefined || countNames(verb, before) !== 0) return nothing
  return offer(await credentials(target, around), word)
}

const valued = (flags: readonly Flag[], word = ''): Flag | undefined =>
  flags.find(
    ({ name, short, value }) =>
      value !== undefined && (word === `--${name}` || (short !== undefined && word === `-${short}`)),
  )

function valuesOf({ values = [], isFile }: Flag, word: string): Completions {
  if (isFile) return { candidates: [], directive: DEFAULT }
  return offer(
    values.map((value) => [value, undefined]),
    word,
  )
}

type Candidate = readonly [text: string, about: string | undefined]

const offer = (candidates: readonly Candidate[], word: string): Completions => ({
  candidates: candidates
    .filter(([text]) => text.startsWith(word))
    .map(([text, about]) => (about === undefined ? text : `${text}\t${visible(about)}`)),
  directive: NO_FILES,
})

/** All pages, or as many as there was time for. */
async function credentials(target: Target, around: Completing): Promise<readonly Candidate[]> {
  const found: Candidate[] = []
  try {
    await Promise.race([collect(target, around, found), whenAborted(around.signal)])
  } catch {
    // A completion has no place for an error.
  }
  return found
}

async function collect(
  { kubeconfig: path, namespace, group, ...target }: Target,
  { env, open, signal }: Completing,
  into: Candidate[],
): Promise<void> {
  const access = await open({ ...target, path })
  const client = createClient({
    baseUrl: new URL(access.server).origin,
    fetch: access.fetch,
    group: group ?? (env.MINTONCE_API_GROUP || DEFAULT_GROUP),
  })
  let page: Answer<{
    readonly metadata: { readonly continue?: string }
    readonly items: readonly Credential[]
  }>
  let next = ''
  do {
    const place = next === '' ? {} : { continue: next }
    page = await client.list(namespace ?? access.namespace, { limit: PAGE, signal, ...place })
    if (!page.ok) return
    into.push(...page.value.items.map(candidateOf).filter(([name]) => isName(name)))
    next = page.value.metadata.continue ?? ''
  } while (next !== '')
}

const candidateOf = ({ metadata, spec, status }: Credential): Candidate => [
  metadata.name,
  `${spec.application.kind} ${spec.application.name}, ${status.password.origin}`,
]
