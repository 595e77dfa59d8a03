import { isObject, isSameJson, type Json, own, textAt } from '../core/json.ts'
import { ok } from '../core/result.ts'
import { badRequest, type Outcome, unapplied } from './status.ts'

/** A document under change, or why a step does not apply. */
type Step = (target: unknown, operation: Json) => { readonly value: unknown } | undefined

/**
 * JSON patch (RFC 6902) as kube-apiserver applies it (`gopkg.in/evanphx/json-patch.v4`), which differs in two ways: a
 * `replace` of a key that is not there adds it, and a `test` for null holds where nothing is. Negative indices, which it
 * takes as well, do not apply here.
 */
export function jsonPatch(target: unknown, patch: unknown): Outcome<unknown> {
  if (!Array.isArray(patch) || !patch.every(isObject)) {
    return badRequest('json: cannot unmarshal object into Go value of type jsonpatch.Patch')
  }
  let patched = target
  for (const operation of patch) {
    const step = STEPS[textAt(operation, 'op') ?? '']?.(patched, operation)
    if (step === undefined) return unapplied()
    patched = step.value
  }
  return ok(patched)
}

const STEPS: Readonly<Record<string, Step>> = {
  add: (target, operation) => changeAt(target, pathOf(operation), insert(own(operation, 'value'))),
  remove: (target, operation) => changeAt(target, pathOf(operation), REMOVE),
  replace: (target, operation) => changeAt(target, pathOf(operation), set(own(operation, 'value'))),
  test: (target, operation) => {
    const found = find(target, pathOf(operation))
    const value = own(operation, 'value') ?? null
    return found !== undefined && isSameJson(found.value ?? null, value) ? { value: target } : undefined
  },
  copy: (target, operation) => {
    const from = find(target, pathOf(operation, 'from'))
    return from?.value === undefined ? undefined : changeAt(target, pathOf(operation), insert(from.value))
  },
  move: (target, operation) => {
    const from = find(target, pathOf(operation, 'from'))
    const without = changeAt(target, pathOf(operation, 'from'), REMOVE)
    if (from?.value === undefined || without === undefined) return undefined
    return changeAt(without.value, pathOf(operation), insert(from.value))
  },
}

/** RFC 6901, section 4; the document itself is no place to change. */
function pathOf(operation: Json, field = 'path'): readonly string[] | undefined {
  const pointer = textAt(operation, field)
  if (pointer === undefined || !pointer.startsWith('/')) return undefined
  return pointer
    .slice(1)
    .split('/')
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** What stands there; `value` is undefined for a key that its parent has not. Undefined when there is no parent. */
function find(target: unknown, path: readonly string[] | undefined): { readonly value: unknown } | undefined {
  if (path === undefined) return undefined
  const [key = '', ...rest] = path
  if (!isObject(target) && !Array.isArray(target)) return undefined
  const index = Array.isArray(target) ? indexOf(key, target.length - 1) : undefined
  if (Array.isArray(target) && index === undefined) return undefined
  const value = Array.isArray(target) ? target[index ?? 0] : own(target, key)
  return rest.length === 0 ? { value } : find(value, rest)
}

/** What becomes of a parent; undefined when it cannot. */
type Change = (parent: Json | readonly unknown[], key: string) => unknown

function changeAt(target: unknown, path: readonly string[] | undefined, change: Change): ReturnType<Step> {
  if (path === undefined || !(isObject(target) || Array.isArray(target))) return undefined
  const [key = '', ...rest] = path
  if (rest.length === 0) {
    const value = change(target, key)
    return value === undefined ? undefined : { value }
  }
  const child = changeAt(find(target, [key])?.value, rest, change)
  if (child === undefined) return undefined
  const value = set(child.value)(target, key)
  return value === undefined ? undefined : { value }
}

const set =
  (value: unknown): Change =>
  (parent, key) => {
    if (isObject(parent)) return withKey(parent, key, value)
    const index = Array.isArray(parent) ? indexOf(key, parent.length - 1) : undefined
    return index === undefined || !Array.isArray(parent) ? undefined : parent.with(index, value)
  }

const insert =
  (value: unknown): Change =>
  (parent, key) => {
    if (isObject(parent)) return withKey(parent, key, value)
    if (!Array.isArray(parent)) return undefined
    const index = key === '-' ? parent.length : indexOf(key, parent.length)
    return index === undefined ? undefined : parent.toSpliced(index, 0, value)
  }

const REMOVE: Change = (parent, key) => {
  if (isObject(parent)) {
    return Object.hasOwn(parent, key)
      ? Object.fromEntries(Object.entries(parent).filter(([each]) => each !== key))
      : undefined
  }
  const index = Array.isArray(parent) ? indexOf(key, parent.length - 1) : undefined
  return index === undefined || !Array.isArray(parent) ? undefined : parent.toSpliced(index, 1)
}

const withKey = (parent: Json, key: string, value: unknown): Json =>
  Object.fromEntries(new Map([...Object.entries(parent), [key, value ?? null]]))

function indexOf(key: string, last: number): number | undefined {
  const index = /^\d+$/.test(key) ? Number(key) : last + 1
  return index <= last ? index : undefined
}
