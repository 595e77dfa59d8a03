import { expect, test } from 'vitest'
import { fail, ok, type Result } from '../../src/core/result.ts'
import { createDefinitionLookup } from '../../src/definitions/lookup.ts'
import type { CallOptions } from '../../src/k8s/kube.ts'
import type { ApplicationDefinition } from '../../src/k8s/objects.ts'
import { postgres } from './blocks.ts'
import { definitionWith } from './definition.ts'

/** A cluster whose definitions a test changes. */
function cluster() {
  const calls: (CallOptions | undefined)[] = []
  const state: { answer: Result<readonly ApplicationDefinition[]> } = {
    answer: ok([definitionWith(postgres)]),
  }
  const clock = { now: 1_000_000 }
  const lookup = createDefinitionLookup({
    kube: {
      async listDefinitions(options) {
        calls.push(options)
        return state.answer
      },
    },
    now: () => clock.now,
    maxAgeMs: 30_000,
    timeoutMs: 1000,
  })
  const isServed = async (how: 'load' | 'read') => {
    const known = await lookup[how]()
    if (!known.ok) return known.failure.reason
    const rules = known.value.rulesFor('Postgres')
    return rules.ok && rules.value !== undefined
  }
  return { calls, state, clock, lookup, isServed }
}

test('a read is of now, each time, whatever is kept', async () => {
  const { calls, state, isServed } = cluster()
  expect(await isServed('load')).toBe(true)
  state.answer = ok([])
  expect(await isServed('load')).toBe(true)
  expect(await isServed('read')).toBe(false)
  state.answer = ok([definitionWith(postgres)])
  expect(await isServed('read')).toBe(true)
  expect(calls).toHaveLength(3)
})

test('a read that fails is a failure, though a list is kept', async () => {
  const { state, isServed } = cluster()
  await isServed('load')
  state.answer = fail({ reason: 'kube_expired' })
  expect(await isServed('read')).toBe('kube_expired')
  expect(await isServed('load')).toBe(true)
})

test('a read is joined by nobody, and ends with the signal of its caller', async () => {
  const { calls, lookup } = cluster()
  const { signal } = new AbortController()
  await Promise.all([lookup.read({ signal }), lookup.read(), lookup.load()])
  expect(calls).toHaveLength(3)
  expect(calls[0]?.signal).toBe(signal)
})

test('the kinds are those that definitions name, with rules or without, each once', async () => {
  const { state, lookup } = cluster()
  state.answer = ok([
    definitionWith(postgres),
    definitionWith(postgres, { name: 'postgres-2' }),
    definitionWith(undefined, { kind: 'Bucket', name: 'bucket' }),
    definitionWith({ format: { name: 'md5' } }, { kind: 'constructor', name: 'odd' }),
    { metadata: { name: 'none' }, spec: {} },
    { metadata: { name: 'number' }, spec: { application: { kind: 7 } } },
  ])
  const known = await lookup.read()
  expect(known.ok && known.value.kinds).toEqual(['Postgres', 'Bucket', 'constructor'])
})

test('what is at hand is what was listed last, for its time', async () => {
  const { state, lookup, clock } = cluster()
  const kinds = () => lookup.atHand()?.kinds
  expect(kinds()).toBeUndefined()
  await lookup.read()
  expect(kinds()).toEqual(['Postgres'])
  state.answer = ok([])
  expect(kinds()).toEqual(['Postgres'])
  await lookup.read()
  expect(kinds()).toEqual([])
  clock.now += 30_000
  expect(kinds()).toBeUndefined()
})
