import { isObject, own } from '../../core/json.ts'
import type { Program } from '../cel/program.ts'
import type { List } from '../cel/values.ts'
import type { BoundSource, Declared, ResolveInput, SourceAnswer } from '../rules.ts'
import { ownerOf } from './owner.ts'
import type { ParsedSource, SourceKind } from './source.ts'

/** What an expression sees: the release's values, and its name, namespace and labels. */
const VARIABLES = ['spec', 'metadata']

const MAX_SOURCE = 4096

type Compiled = { readonly ok: true; readonly program: Program } | Extract<List, { ok: false }>

/**
 * `{kind: Expression, expression: "spec.accounts.map(a, {'name': a.name})"}`: what a CEL expression returns, a list of
 * usernames or of `{name, username?, owner?}`. An expression that does not compile is `definition_wrong`; one that fails
 * for a release, or returns anything else, fails the source as a whole: half an answer would look like accounts that
 * are gone. The library is loaded for the first expression that is asked, and an expression compiled once.
 */
export const expression: SourceKind = {
  kind: 'Expression',
  fields: ['expression'],
  parse(entry, at, { definition }): ParsedSource {
    const field = `${at}.expression`
    const source = own(entry, 'expression')
    if (typeof source !== 'string' || source === '') {
      return { ok: false, field, problem: 'must be a CEL expression, such as ["app"]' }
    }
    if (source.length > MAX_SOURCE)
      return { ok: false, field, problem: `is longer than ${MAX_SOURCE} characters` }
    let compiled: Promise<Compiled> | undefined
    const compile = () => {
      compiled ??= compileLazily(source)
      return compiled
    }
    const failed = (problem: string) => {
      const message = `ApplicationDefinition ${JSON.stringify(definition)}: the expression ${problem}`
      return { ok: false, cause: { reason: 'FieldValueInvalid', field, message } } as const
    }
    const resolve: BoundSource['resolve'] = async (input) => {
      const ready = await compile()
      if (!ready.ok) {
        const { problem } = ready
        return { ...failed(problem), failure: { reason: 'definition_wrong', definition, field, problem } }
      }
      const answer = answerOf(ready.program.run(variablesOf(input)))
      return typeof answer === 'string' ? failed(answer) : { ok: true, value: answer }
    }
    const check = async () => {
      const ready = await compile()
      return ready.ok ? undefined : { field, problem: ready.problem }
    }
    return { ok: true, source: { kind: 'Expression', check, resolve } }
  },
}

async function compileLazily(source: string): Promise<Compiled> {
  const { compile } = await import('../cel/program.ts')
  return compile(source, VARIABLES)
}

const variablesOf = ({ values, metadata }: ResolveInput) => ({ spec: values, metadata })

function answerOf(answered: List): SourceAnswer | string {
  if (!answered.ok) return answered.problem
  const accounts: Declared[] = []
  for (const [index, entry] of answered.list.entries()) {
    const account = accountOf(entry)
    if (typeof account === 'string') return `returns a list whose entry ${index} ${account}`
    accounts.push(account)
  }
  return { accounts, malformed: [] }
}

const FIELDS = ['name', 'username', 'owner']

/** The username is the name when it is left out. What is wrong otherwise, without a word of it. */
function accountOf(entry: unknown): Declared | string {
  if (typeof entry === 'string') return { username: entry, owner: 'tenant' }
  const name = own(entry, 'name')
  if (!isObject(entry) || name === undefined) return 'is neither a username nor a map with a name'
  const username = own(entry, 'username') ?? name
  if (typeof name !== 'string' || typeof username !== 'string') return 'has a username that is no text'
  if (!Object.keys(entry).every((key) => FIELDS.includes(key)))
    return `has other fields than ${FIELDS.join(', ')}`
  const owner = ownerOf(entry)
  return owner === undefined ? 'has an owner that is neither tenant nor platform' : { username, owner }
}
