import { expect, test } from 'vitest'
import { fail, ok, type Result } from '../../src/core/result.ts'
import { createDefinitionLookup } from '../../src/definitions/lookup.ts'
import type { CallOptions } from '../../src/k8s/kube.ts'
import type { ApplicationDefinition } from '../../src/k8s/objects.ts'
import { postgres } from './blocks.ts'
import { definitionWith } from './definition.ts'

type Listed = Result<readonly ApplicationDefinition[]>

const MAX_AGE_MS = 30_000
const TIMEOUT_MS = 50

/** A cluster whose answer and clock a test sets. */
function cluster(answer: () => Listed | Promise<Listed>) {
  const calls: (CallOptions | undefined)[] = []
  const clock = { now: 1_000_000 }
  const { load } = createDefinitionLookup({
    kube: {
      async listDefinitions(options) {
        calls.push(options)
        return answer()
      },
    },
    now: () => clock.now,
    maxAgeMs: MAX_AGE_MS,
    timeoutMs: TIMEOUT_MS,
  })
  async function rulesFor(kind: string, options?: CallOptions) {
    const loaded = await load(options)
    return loaded.ok ? loaded.value.rulesFor(kind) : loaded
  }
  return { rulesFor, load, calls, clock }
}

const shipped = [
  definitionWith(postgres),
  definitionWith(undefined, { kind: 'Bucket', name: 'bucket' }),
  definitionWith({ format: { name: 'md5' } }, { kind: 'MariaDB', name: 'mariadb' }),
  definitionWith(postgres, { kind: 'Redis', name: 'redis' }),
  definitionWith(undefined, { kind: 'Redis', name: 'redis-fork' }),
]
const unavailable = fail({ reason: 'kube_overloaded', retryAfterSeconds: 1 })

test('finds the rules by the kind of the application', async () => {
  const { rulesFor } = cluster(() => ok(shipped))
  expect(await rulesFor('Postgres')).toMatchObject({ ok: true, value: { definition: 'postgres' } })
})

test.each([
  ['nobody defines', 'Kafka'],
  ['has no block', 'Bucket'],
  ['is called like a property of every object', 'constructor'],
])('a kind that %s is not served', async (_, kind) => {
  expect(await cluster(() => ok(shipped)).rulesFor(kind)).toEqual({ ok: true, value: undefined })
})

test('a broken definition harms its own kind only', async () => {
  const { rulesFor } = cluster(() => ok(shipped))
  expect(await rulesFor('MariaDB')).toMatchObject({
    failure: { reason: 'definition_wrong', definition: 'mariadb', field: 'spec.credentials.format.name' },
  })
  expect(await rulesFor('Postgres')).toMatchObject({ ok: true })
})

test('two definitions of one kind are ambiguous, whichever of them has the block', async () => {
  const { rulesFor } = cluster(() => ok(shipped))
  expect(await rulesFor('Redis')).toEqual(
    fail({ reason: 'definitions_ambiguous', kind: 'Redis', definitions: ['redis', 'redis-fork'] }),
  )
  expect(await rulesFor('Postgres')).toMatchObject({ ok: true })
})

test('a list is kept for its time and not longer', async () => {
  const { rulesFor, calls, clock } = cluster(() => ok(shipped))
  const first = await rulesFor('Postgres')
  clock.now += MAX_AGE_MS - 1
  expect(await rulesFor('Postgres')).toBe(first)
  expect(calls).toHaveLength(1)

  clock.now += 1
  expect(await rulesFor('Postgres')).not.toBe(first)
  expect(calls).toHaveLength(2)
})

test('the time counts from when the list was asked for', async () => {
  const { rulesFor, calls, clock } = cluster(() => {
    clock.now += 20_000
    return ok(shipped)
  })
  await rulesFor('Postgres')
  clock.now += 10_000
  await rulesFor('Postgres')
  expect(calls).toHaveLength(2)
})

test('a clock that was set back makes a list no younger', async () => {
  const { rulesFor, calls, clock } = cluster(() => ok(shipped))
  await rulesFor('Postgres')
  clock.now -= 3_600_000
  await rulesFor('Postgres')
  expect(calls).toHaveLength(2)
})

test('a failure is passed on and not kept', async () => {
  const answers: Listed[] = [unavailable, ok(shipped)]
  const { rulesFor, calls } = cluster(() => answers.shift() ?? unavailable)
  expect(await rulesFor('Postgres')).toEqual(unavailable)
  expect(await rulesFor('Postgres')).toMatchObject({ ok: true })
  expect(calls).toHaveLength(2)
})

test('a list that throws is not kept either', async () => {
  let broken = true
  const { rulesFor } = cluster(() => {
    if (broken) throw new TypeError('a bug')
    return ok(shipped)
  })
  await expect(rulesFor('Postgres')).rejects.toThrow('a bug')
  broken = false
  expect(await rulesFor('Postgres')).toMatchObject({ ok: true })
})

test('callers at the same time share one list, and none of their signals ends it', async () => {
  const { promise, resolve } = Promise.withResolvers<Listed>()
  const { rulesFor, calls } = cluster(() => promise)
  const hasty = new AbortController()
  const callers = [rulesFor('Postgres', { signal: hasty.signal }), rulesFor('Postgres'), rulesFor('Bucket')]
  hasty.abort()
  resolve(ok(shipped))
  expect(await Promise.all(callers)).toMatchObject([
    { ok: false, failure: { reason: 'caller_gone' } },
    { ok: true },
    { ok: true },
  ])
  expect(calls).toEqual([undefined])
})

test('a list that never ends, because the request that began it did, holds nobody up for ever', async () => {
  let lists = 0
  const { rulesFor, clock } = cluster(() => {
    lists += 1
    return lists === 1 ? new Promise<Listed>(() => undefined) : ok(shipped)
  })
  const gone = new AbortController()
  const first = rulesFor('Postgres', { signal: gone.signal })
  gone.abort()
  expect(await first).toEqual({ ok: false, failure: { reason: 'caller_gone' } })
  clock.now += TIMEOUT_MS
  expect(await rulesFor('Postgres')).toMatchObject({ ok: true })
  expect(lists).toBe(2)
})

test('a list that does not come in time is a failure of the API server', async () => {
  const { rulesFor } = cluster(() => new Promise<Listed>(() => undefined))
  const failure = { reason: 'kube_timeout', call: 'list ApplicationDefinitions' }
  expect(await rulesFor('Postgres')).toEqual({ ok: false, failure })
})

test('what a caller holds does not change while it holds it', async () => {
  const answers: Listed[] = [ok(shipped), ok([])]
  const { load, clock } = cluster(() => answers.shift() ?? unavailable)
  const held = await load()
  clock.now += MAX_AGE_MS
  const next = await load()
  expect(held.ok && held.value.rulesFor('Postgres')).toMatchObject({ value: { definition: 'postgres' } })
  expect(next.ok && next.value.rulesFor('Postgres')).toEqual({ ok: true, value: undefined })
})
