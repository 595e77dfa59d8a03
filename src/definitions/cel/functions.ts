import { type CelEnv, type CelValue, celEnv, celList, isCelList, isCelMap } from '@bufbuild/cel'
import type { Meter } from './meter.ts'

/** Wrapped around the range of every loop: pays for all its turns before there is a first one. */
export const TURNS = '@turns'

/** Characters that are looked at, values that are compared and entries that are copied, for the price of a turn. */
const LOOKS = 100
const COMPARES = 30
const COPIES = 1000
/** Characters that compare as fast as a value. */
const CHARACTERS = 16
const MAX_TEXT = 64 * 1024
const MAX_LIST = 10_000
/** What RE2 lets a repetition multiply a pattern by. */
const MAX_REPEAT = 1000

type Group = NonNullable<ReturnType<CelEnv['funcs']['find']>>

/** The standard functions of CEL, of which each call is paid for by the size of what it looks at. */
export function meteredEnv(meter: Meter): CelEnv {
  const env = celEnv()
  const metered = (group: Group): Group => ({
    ...group,
    name: group.name,
    call(id, target, args) {
      const given = target === undefined ? args : [target, ...args]
      stopAt(meter.spend(costOf(group.name, given)) ?? tooLarge(group.name, given, meter))
      return listSum(group.name, args) ?? group.call(id, target, args)
    },
  })
  const find: CelEnv['funcs']['find'] = (name) => {
    if (name === TURNS) return turns(meter)
    const group = env.funcs.find(name)
    return group === undefined ? undefined : metered(group)
  }
  const { namespace, registry, variables } = env
  return { ...env, namespace, registry, variables, funcs: { ...env.funcs, find } }
}

const turns = (meter: Meter): Group => ({
  name: TURNS,
  *[Symbol.iterator]() {},
  call(_id, _target, [range = null, perTurn]) {
    stopAt(meter.spend(countIn(range) * Number(perTurn)))
    return range
  },
})

/** Thrown, and so the end of the evaluation: a loop and `||` go on after an error that is returned. */
function stopAt(problem: string | undefined): void {
  if (problem !== undefined) throw new Error(problem)
}

function costOf(name: string, given: readonly CelValue[]): number {
  switch (name) {
    case '_==_':
    case '_!=_':
      return given.reduce<number>((sum, value) => sum + weightOf(value), 0) / COMPARES
    case '@in':
      return searchCost(given)
    case '_+_':
      return given.reduce<number>((sum, value) => sum + sizeOf(value), 0) / COPIES
    case 'matches':
      return matchCost(given)
    default:
      return SLOW.test(name)
        ? SLOW_STEPS
        : given.reduce<number>((sum, value) => sum + lengthOf(value), 0) / LOOKS
  }
}

/** Calendars and time zones. */
const SLOW = /^(get[A-Z]|timestamp$|duration$)/
const SLOW_STEPS = 20

/** The library finds a text in a map, and looks at every key for a number. */
function searchCost([sought, within = null]: readonly CelValue[]): number {
  if (isCelList(within)) return weightOf(within) / COMPARES
  return typeof sought === 'string' ? 0 : countIn(within) / COMPARES
}

const lengthOf = (value: CelValue | undefined): number =>
  typeof value === 'string' || value instanceof Uint8Array ? value.length : 0

const sizeOf = (value: CelValue): number => (isCelList(value) ? value.size : lengthOf(value))

/** More than any evaluation may compare. */
const HEAVY = 300_000

/** Everything in a value, counted as often as it is found: lists may share what they hold. */
function weightOf(value: CelValue): number {
  let weight = 0
  const open: CelValue[] = [value]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    weight += 1 + lengthOf(next) / CHARACTERS
    if (weight + open.length + countIn(next) > HEAVY) return Number.POSITIVE_INFINITY
    for (const part of partsIn(next)) open.push(part)
  }
  return weight
}

const countIn = (value: CelValue): number => (isCelList(value) || isCelMap(value) ? value.size : 0)

function partsIn(value: CelValue): readonly CelValue[] {
  if (isCelList(value)) return [...value]
  return isCelMap(value) ? [...value.keys(), ...value.values()] : []
}

/** RE2 takes a time of the text times the pattern, whose repetitions it writes out. */
function matchCost([text, pattern]: readonly CelValue[]): number {
  if (typeof pattern !== 'string') return 0
  const repeats = [...pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)]
  const factor = repeats.reduce((product, [, least, most]) => {
    return product * Math.max(1, Number(least), Number(most ?? 0))
  }, 1)
  const states = pattern.length * Math.min(factor, MAX_REPEAT)
  return (states * (10 + lengthOf(text))) / (LOOKS * 10)
}

/** A sum doubles with each use: what it would make is looked at first. */
function tooLarge(name: string, given: readonly CelValue[], meter: Meter): string | undefined {
  if (name !== '_+_') return undefined
  const [left] = given
  const size = given.reduce<number>((sum, value) => sum + sizeOf(value), 0)
  if (isCelList(left)) {
    return size > MAX_LIST ? meter.refuse(`makes a list of more than ${MAX_LIST} entries`) : undefined
  }
  return size > MAX_TEXT ? meter.refuse(`makes a text of more than ${MAX_TEXT} characters`) : undefined
}

const arrays = new WeakMap<object, readonly CelValue[]>()

/** The library nests the lists that it adds up, and a loop adds up one for every turn: as deep as there are entries. */
function listSum(name: string, [left, right]: readonly CelValue[]): CelValue | undefined {
  if (name !== '_+_' || !isCelList(left) || !isCelList(right)) return undefined
  const items = (arrays.get(left) ?? [...left]).concat(arrays.get(right) ?? [...right])
  const list = celList(items)
  arrays.set(list, items)
  return list
}
