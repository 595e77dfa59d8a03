import type { parse } from '@bufbuild/cel'
import { TURNS } from './functions.ts'

/** A node of a parsed expression: `cel.expr.Expr`. */
export type Expr = NonNullable<ReturnType<typeof parse>['expr']>

const MAX_DEPTH = 100
/** Nodes of a loop that one step pays for, each turn. */
const NODES_A_STEP = 20

/** Names that CEL has for types, as `type(x) == string`. */
const TYPES = ['bool', 'int', 'uint', 'double', 'string', 'bytes', 'list', 'map', 'null_type', 'type']
/** Operators that the planner knows itself. */
const OPERATORS = ['_[_]', '_?_:_', '_&&_', '_||_', '@not_strictly_false']

export interface Known {
  readonly names: readonly string[]
  readonly hasFunction: (name: string) => boolean
}

/** What is wrong with a node, in words that quote the expression only. */
export interface NodeProblem {
  readonly problem: string
  /** Of the node; undefined when it is about the whole. */
  readonly id: bigint | undefined
}

/** The first name or function that nobody knows, or a nesting that goes too deep. */
export function problemIn(expr: Expr, known: Known, depth = 0): NodeProblem | undefined {
  if (depth > MAX_DEPTH) return { problem: `nests deeper than ${MAX_DEPTH}`, id: undefined }
  const problem = nodeProblem(expr.exprKind, known)
  if (problem !== undefined) return { problem, id: expr.id }
  const { exprKind } = expr
  const loop = exprKind.case === 'comprehensionExpr' ? [exprKind.value.iterVar, exprKind.value.accuVar] : []
  const inner = { ...known, names: [...known.names, ...loop] }
  for (const part of partsOf(expr)) {
    const found = problemIn(part, inner, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

function nodeProblem(kind: Expr['exprKind'], { names, hasFunction }: Known): string | undefined {
  switch (kind.case) {
    case 'identExpr': {
      const { name } = kind.value
      return names.includes(name) || TYPES.includes(name) ? undefined : `unknown name ${JSON.stringify(name)}`
    }
    case 'callExpr': {
      const name = kind.value.function
      return OPERATORS.includes(name) || hasFunction(name)
        ? undefined
        : `unknown function ${JSON.stringify(name)}`
    }
    case 'structExpr': {
      const { messageName } = kind.value
      return messageName === '' ? undefined : `unknown type ${JSON.stringify(messageName)}`
    }
    default:
      return undefined
  }
}

function partsOf({ exprKind }: Expr): readonly Expr[] {
  switch (exprKind.case) {
    case 'selectExpr':
      return present(exprKind.value.operand)
    case 'callExpr':
      return present(exprKind.value.target, ...exprKind.value.args)
    case 'listExpr':
      return exprKind.value.elements
    case 'structExpr':
      return exprKind.value.entries.flatMap(({ keyKind, value }) =>
        present(keyKind.case === 'mapKey' ? keyKind.value : undefined, value),
      )
    case 'comprehensionExpr': {
      const { iterRange, accuInit, loopCondition, loopStep, result } = exprKind.value
      return present(iterRange, accuInit, loopCondition, loopStep, result)
    }
    default:
      return []
  }
}

const present = (...parts: readonly (Expr | undefined)[]): readonly Expr[] =>
  parts.filter((part) => part !== undefined)

/** Makes every loop pay for its turns, by what a turn may evaluate. Changes the tree in place. */
export function meterLoops(expr: Expr): void {
  for (const part of partsOf(expr)) meterLoops(part)
  if (expr.exprKind.case !== 'comprehensionExpr') return
  const loop = expr.exprKind.value
  const { iterRange } = loop
  if (iterRange === undefined) return
  const nodes = present(loop.loopCondition, loop.loopStep).reduce((sum, part) => sum + nodesIn(part), 0)
  const { id } = iterRange
  loop.iterRange = node(id, {
    case: 'callExpr',
    value: {
      $typeName: 'cel.expr.Expr.Call',
      function: TURNS,
      args: [iterRange, integer(id, Math.ceil(nodes / NODES_A_STEP))],
    },
  })
}

const nodesIn = (expr: Expr): number => partsOf(expr).reduce((sum, part) => sum + nodesIn(part), 1)

const node = (id: bigint, exprKind: Expr['exprKind']): Expr => ({ $typeName: 'cel.expr.Expr', id, exprKind })

const integer = (id: bigint, value: number): Expr =>
  node(id, {
    case: 'constExpr',
    value: { $typeName: 'cel.expr.Constant', constantKind: { case: 'int64Value', value: BigInt(value) } },
  })
