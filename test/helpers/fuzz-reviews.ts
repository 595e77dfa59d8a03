import { isObject, type Json } from '../../src/core/json.ts'
import type { Random } from './fuzz-http.ts'

/** A password that stands in reviews, where somebody may have written one. */
export const PASSWORD = 'correct-horse-battery-staple'

export const pickFrom = <T>(random: Random, choices: readonly T[]): T =>
  choices[Math.floor(random() * choices.length)] as T

/** What readers of JSON take for something else. */
const NASTY: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  '',
  'x',
  '\0',
  '\ud800',
  '../../kube-system',
  'ü'.repeat(300),
  [],
  {},
  [[]],
  [null],
  { a: 1 },
  { web: PASSWORD },
  { users: [PASSWORD] },
  { '': {}, '-a': {}, a_b: {}, 'a-b': {}, Postgres: {} },
  JSON.parse('{"__proto__": {"password": "x"}, "constructor": {}, "toString": {}}'),
  Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`u${index}`, {}])),
]

/** The value with one place in it changed: cut out, replaced, or moved from somewhere else. */
function changed(random: Random, value: unknown): unknown {
  if (random() < 0.15 || typeof value !== 'object' || value === null) return pickFrom(random, NASTY)
  const keys = Object.keys(value)
  const key = pickFrom(random, keys.length === 0 ? ['x'] : keys)
  if (Array.isArray(value))
    return value.map((each, index) => (String(index) === key ? changed(random, each) : each))
  if (random() < 0.1) return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
  if (random() < 0.05)
    return { ...value, [pickFrom(random, ['', '__proto__', 'x', 'uid', 'users'])]: pickFrom(random, NASTY) }
  return { ...value, [key]: changed(random, isObject(value) ? value[key] : undefined) }
}

/** Most of what can be wrong is wrong there. */
function withUsers(random: Random, review: Json): Json {
  const request = review.request as { readonly object: { readonly spec: Json } | null }
  if (request.object === null || random() < 0.5) return review
  const values = pickFrom(random, [{ users: pickFrom(random, NASTY) }, pickFrom(random, NASTY)])
  const object = { ...request.object, spec: { ...request.object.spec, values } }
  return { ...review, request: { ...request, object } }
}

/** The text of one of these `AdmissionReview`s with up to three things in it changed, and now and then no JSON any more. */
export function fuzzedReview(random: Random, valid: readonly Json[]): string {
  const review = Array.from({ length: Math.floor(random() * 4) }).reduce<unknown>(
    (each) => changed(random, each),
    withUsers(random, pickFrom(random, valid)),
  )
  const text = JSON.stringify(review)
  if (random() > 0.1) return text
  const at = Math.floor(random() * text.length)
  return `${text.slice(0, at)}${pickFrom(random, ['', '{', '"', '\\', '\u0000', ']]'])}${text.slice(at + 3)}`
}
