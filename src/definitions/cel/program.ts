import { type CelEnv, type CelError, isCelError, parse, plan } from '@bufbuild/cel'
import type { Json } from '../../core/json.ts'
import { meteredEnv, TURNS } from './functions.ts'
import { createMeter, type Meter } from './meter.ts'
import { type Expr, meterLoops, problemIn } from './tree.ts'
import { type List, listIn, sizeProblem, toInput } from './values.ts'

/** An expression that parses and names only what there is. */
export interface Program {
  /** What it returns for these variables: the entries of a list. A problem quotes the expression, and never a value. */
  readonly run: (variables: Json) => List
}

type Compiled =
  | { readonly ok: true; readonly program: Program }
  | { readonly ok: false; readonly problem: string }

interface Engine {
  readonly meter: Meter
  readonly env: CelEnv
}

let engine: Engine | undefined

function engineOf(): Engine {
  if (engine === undefined) {
    const meter = createMeter()
    engine = { meter, env: meteredEnv(meter) }
  }
  return engine
}

/**
 * Compiles a CEL expression (https://github.com/google/cel-spec) over some variables. Comprehensions, macros and the
 * standard functions are there; protobuf messages are not. What it may cost is limited in `meter.ts`; how long its
 * source may be is the caller's to limit.
 */
export function compile(source: string, names: readonly string[]): Compiled {
  const wrong = (problem: string): Compiled => ({ ok: false, problem })
  const { meter, env } = engineOf()
  const parsed = parsedOf(source)
  if (!parsed.ok) return wrong(parsed.problem)
  const { expr, placeOf } = parsed
  const hasFunction = (name: string) => env.funcs.find(name) !== undefined && name !== TURNS
  const found = problemIn(expr, { names, hasFunction })
  if (found !== undefined) return wrong(`${found.problem}${placeOf(found.id)}`)
  meterLoops(expr)
  const evaluate = planned(env, expr)
  if (evaluate === undefined) return wrong('is no CEL expression that can be evaluated')
  const run = (variables: Json): List => {
    const tooLarge = sizeProblem(variables)
    if (tooLarge !== undefined) return { ok: false, problem: tooLarge }
    meter.reset()
    const value = evaluate(inputsOf(variables))
    const problem = meter.problem()
    if (problem !== undefined) return { ok: false, problem }
    if (isCelError(value)) return { ok: false, problem: `${wordsOf(value, source)}${placeOf(value.exprId)}` }
    return listIn(value)
  }
  return { ok: true, program: { run } }
}

function planned(env: CelEnv, expr: Expr): ReturnType<typeof plan> | undefined {
  try {
    return plan(env, expr)
  } catch {
    return undefined
  }
}

type Inputs = Parameters<ReturnType<typeof plan>>[0]

/** Without a prototype, or `constructor` would be a variable. */
function inputsOf(variables: Json): NonNullable<Inputs> {
  const inputs: NonNullable<Inputs> = Object.create(null)
  for (const [name, value] of Object.entries(variables)) inputs[name] = toInput(value)
  return inputs
}

type Parsed =
  | {
      readonly ok: true
      readonly expr: Expr
      /** ` (line 1, character 5)`; empty when it is not known. */
      readonly placeOf: (id: bigint | undefined) => string
    }
  | { readonly ok: false; readonly problem: string }

function parsedOf(source: string): Parsed {
  try {
    const { expr, sourceInfo } = parse(source)
    if (expr === undefined) return { ok: false, problem: 'is no CEL expression' }
    const placeOf = (id: bigint | undefined) => {
      const offset = id === undefined ? undefined : sourceInfo?.positions[id.toString()]
      return offset === undefined ? '' : placeAt(source, offset)
    }
    return { ok: true, expr, placeOf }
  } catch (error) {
    if (error instanceof RangeError) return { ok: false, problem: 'nests too deep' }
    return { ok: false, problem: `is no CEL expression${placeAt(source, offsetIn(error))}` }
  }
}

/** Where the parser gave up: `location.start.offset` of its error. */
function offsetIn(error: unknown): number | undefined {
  const location: unknown = error instanceof Error && 'location' in error ? error.location : undefined
  const start: unknown = isRecord(location) ? location.start : undefined
  const offset: unknown = isRecord(start) ? start.offset : undefined
  return typeof offset === 'number' ? offset : undefined
}

const isRecord = (value: unknown): value is Json => typeof value === 'object' && value !== null

function placeAt(source: string, offset: number | undefined): string {
  if (offset === undefined) return ''
  const lines = source.slice(0, offset).split('\n')
  return ` (line ${lines.length}, character ${(lines.at(-1) ?? '').length + 1})`
}

/** In the library's messages stand values too, such as a key that was looked for: only what is known to be none is said. */
function wordsOf({ message }: CelError, source: string): string {
  const field = /^field not found: (.+)$/s.exec(message)?.[1]
  if (field !== undefined)
    return source.includes(field) ? `finds no field ${JSON.stringify(field)}` : 'finds no such field'
  if (/^index -?\d+ out of bounds/.test(message)) return 'asks for an entry that is not there'
  const types = /^found no matching overload for .+ applied to '(\(?[\w.]*[\w.(), ]*\))'$/.exec(message)?.[1]
  if (types !== undefined) return `applies an operator or a function to ${types}`
  const mismatch = /^type mismatch: (?:expected bool, got|iterable vs) ([\w.]+)/.exec(message)?.[1]
  if (mismatch !== undefined) return `finds ${mismatch} where it cannot use one`
  if (/ (divide|modulus) by zero$/.test(message)) return 'divides by zero'
  return 'cannot be evaluated'
}
