import { describe, expect, test } from 'vitest'
import type { Failure } from '../../src/core/failure.ts'
import { fail, ok } from '../../src/core/result.ts'
import { decodeData } from '../../src/core/text.ts'
import { carryOut, createdBy, seedValue } from '../../src/credentials/carry-out.ts'
import type { NamedAccount } from '../../src/credentials/declared.ts'
import type { Step } from '../../src/credentials/plan.ts'
import type { Kube } from '../../src/k8s/kube.ts'
import type { HelmRelease, Secret, StoredSecret } from '../../src/k8s/objects.ts'
import {
  accountAnnotations,
  accountSecret,
  application,
  mintedByJane,
  NAMESPACE,
  NOW,
  NOW_TEXT,
  release,
  rules,
} from '../helpers/orders.ts'
import { scriptedKube } from '../helpers/scripted-kube.ts'

const BY = 'system:serviceaccount:mintonce:mintonce'
const landed: HelmRelease = {
  ...release,
  metadata: { ...release.metadata, generation: 2 },
  status: { observedGeneration: 2, conditions: [{ type: 'Ready', status: 'True' }] },
}

const account = (username: string): NamedAccount => ({
  username,
  name: { release: 'postgres-orders', account: username },
  secretName: `postgres-orders.${username}.account`,
})
const secretOf = (name: string): StoredSecret =>
  accountSecret({
    metadata: { name: `postgres-orders.${name}.account`, uid: `uid-${name}`, resourceVersion: '7' },
  })
const holder = <Is extends 'ours' | 'leftover'>(is: Is, name: string) => ({
  is,
  secret: secretOf(name),
  record: { origin: 'Minted', history: [mintedByJane] } as const,
})

const seed = (name: string): Step => ({ do: 'seed', account: account(name) })
const replace = (name: string): Step => ({
  do: 'replace',
  account: account(name),
  holder: holder('leftover', name),
})
const refill = (name: string): Step => ({
  do: 'refill',
  account: account(name),
  holder: holder('ours', name),
})
const adopt = (name: string): Step => ({ do: 'adopt', account: account(name), holder: holder('ours', name) })
const mark = (name: string): Step => ({ do: 'mark', name: account(name).name, secret: secretOf(name) })
const remove = (name: string): Step => ({ do: 'delete', name: account(name).name, secret: secretOf(name) })

/** An API server that does everything, but for what is scripted. */
function carrying(steps: readonly Step[], script: Partial<Kube> = {}) {
  const stored = async (secret: Secret) => ok(secret as StoredSecret)
  const scripted = scriptedKube({
    createSecret: stored,
    updateSecret: stored,
    deleteSecret: async () => ok(undefined),
    getHelmRelease: async () => ok(landed),
    ...script,
  })
  const logged: unknown[] = []
  const services = {
    kube: scripted.kube,
    deps: {
      now: () => NOW,
      randomBytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
      log: (level: string, event: string, fields: object) => void logged.push({ level, event, ...fields }),
    },
  }
  const run = () => carryOut(services, { release: landed, application, rules, steps }, { by: BY })
  return { ...scripted, logged, run }
}

const names = (done: readonly { readonly what: string; readonly credential: string }[]) =>
  done.map(({ what, credential }) => `${what} ${credential.split('.')[1]}`)

test('every step is one write, in the order of the plan, and each is reported and logged', async () => {
  const steps = [seed('a'), replace('b'), refill('c'), adopt('d'), mark('e'), remove('f')]
  const { run, called, logged } = carrying(steps)
  const carried = await run()
  expect(carried.is).toBe('finished')
  expect(names(carried.done)).toEqual([
    'created a',
    'created b',
    'created c',
    'adopted d',
    'marked e',
    'deleted f',
  ])
  expect(called()).toEqual([
    'createSecret',
    'deleteSecret',
    'createSecret',
    'updateSecret',
    'updateSecret',
    'updateSecret',
    'getHelmRelease',
    'deleteSecret',
  ])
  expect(logged).toEqual(
    carried.done.map((each) => ({
      level: 'info',
      event: 'account_secret',
      ...each,
      namespace: NAMESPACE,
      by: BY,
    })),
  )
})

test('a warning is nothing to be done', async () => {
  const { run, called } = carrying([{ do: 'warn', about: { is: 'unwired' } }])
  expect(await run()).toEqual({ is: 'finished', done: [] })
  expect(called()).toEqual([])
})

describe('what is written', () => {
  test('to replace a leftover is a delete of exactly what was read, and then a create', async () => {
    const { run, argumentsOf } = carrying([replace('b')])
    await run()
    expect(argumentsOf('deleteSecret')[0]?.slice(0, 3)).toEqual([
      NAMESPACE,
      'postgres-orders.b.account',
      { uid: 'uid-b', resourceVersion: '7' },
    ])
    expect(argumentsOf('createSecret')[0]?.[0].metadata).not.toHaveProperty('resourceVersion')
  })

  test('to fill an empty one is guarded, NotIssued, and keeps who had it before', async () => {
    const { run, argumentsOf } = carrying([refill('c')])
    await run()
    const written = argumentsOf('updateSecret')[0]?.[0]
    expect(written?.metadata).toMatchObject({ uid: 'uid-c', resourceVersion: '7' })
    expect(written?.metadata.annotations).toMatchObject({
      'credentials.cozystack.io/origin': 'NotIssued',
      'credentials.cozystack.io/history': JSON.stringify([
        { operation: 'Create', at: NOW_TEXT, by: BY },
        mintedByJane,
      ]),
    })
    expect(decodeData(written?.data?.password)).toMatch(rules.format.canonical)
  })

  test('to mark is the time to the second and nothing else', async () => {
    const { run, argumentsOf } = carrying([mark('e')])
    await run()
    expect(argumentsOf('updateSecret')[0]?.[0]).toEqual({
      ...secretOf('e'),
      metadata: {
        ...secretOf('e').metadata,
        annotations: accountAnnotations({ 'credentials.cozystack.io/undeclared-since': NOW_TEXT }),
      },
    })
  })

  test('is never the same value twice', async () => {
    const { run, argumentsOf } = carrying(Array.from({ length: 50 }, (_, index) => seed(`u${index}`)))
    await run()
    const values = argumentsOf('createSecret').map(([{ data }]) => data?.password)
    expect(new Set(values).size).toBe(50)
  })
})

const RACES: readonly Failure[] = [
  { reason: 'kube_conflict' },
  { reason: 'kube_exists' },
  { reason: 'kube_absent' },
]
const OF_ONE_OBJECT: readonly Failure[] = [
  { reason: 'kube_quota_exceeded', quota: 'q' },
  { reason: 'kube_invalid', call: 'create Secret' },
  { reason: 'kube_immutable' },
]
const OF_ALL: readonly Failure[] = [
  { reason: 'kube_forbidden', call: 'create Secret' },
  { reason: 'kube_namespace_terminating', namespace: NAMESPACE },
  { reason: 'kube_overloaded', retryAfterSeconds: 1 },
  { reason: 'kube_unauthenticated' },
  { reason: 'kube_error', call: 'create Secret', code: 500 },
  { reason: 'kube_timeout', call: 'create Secret' },
  { reason: 'kube_unreachable', call: 'create Secret', why: 'ECONNRESET', sent: true },
  { reason: 'kube_not_served', groupVersion: 'v1' },
]
const named = (failures: readonly Failure[]) => failures.map((failure) => [failure.reason, failure] as const)

describe('a seed that fails', () => {
  const steps = [seed('a'), seed('b'), adopt('c')]
  const failing = (failure: Failure) =>
    carrying(steps, {
      createSecret: async (secret) =>
        secret.metadata.name.includes('.a.') ? fail(failure) : ok(secret as StoredSecret),
    })

  test.each(named(RACES))(
    'in a race leaves the others to be done, and the plan to be made anew: %s',
    async (_, failure) => {
      const carried = await failing(failure).run()
      expect(carried.is).toBe('overtaken')
      expect(names(carried.done)).toEqual(['created b', 'adopted c'])
    },
  )

  test.each(named(OF_ONE_OBJECT))(
    'for what it is fails the whole when the others are done: %s',
    async (_, failure) => {
      const carried = await failing(failure).run()
      expect(carried).toMatchObject({ is: 'failed', failure })
      expect(names(carried.done)).toEqual(['created b', 'adopted c'])
    },
  )

  test.each(named(OF_ALL))('as all would ends it at once: %s', async (_, failure) => {
    const { run, called } = failing(failure)
    expect(await run()).toEqual({ is: 'failed', failure, done: [] })
    expect(called()).toEqual(['createSecret'])
  })

  test('says of two failures the one that is no race', async () => {
    const carried = await carrying([mark('x'), seed('a')], {
      updateSecret: async () => fail({ reason: 'kube_conflict' }),
      createSecret: async () => fail({ reason: 'kube_immutable' }),
    }).run()
    expect(carried).toEqual({ is: 'failed', failure: { reason: 'kube_immutable' }, done: [] })
  })
})

test('a leftover that could not be deleted is not created over', async () => {
  const { run, called } = carrying([replace('b')], {
    deleteSecret: async () => fail({ reason: 'kube_conflict' }),
  })
  expect(await run()).toEqual({ is: 'overtaken', done: [] })
  expect(called()).toEqual(['deleteSecret'])
})

describe('a delete', () => {
  const after = (now: HelmRelease | undefined) =>
    carrying([remove('f')], { getHelmRelease: async () => ok(now) })

  test('is of exactly what was read, after the release was read once more', async () => {
    const { run, called, argumentsOf } = after(landed)
    expect(names((await run()).done)).toEqual(['deleted f'])
    expect(called()).toEqual(['getHelmRelease', 'deleteSecret'])
    expect(argumentsOf('deleteSecret')[0]?.slice(0, 3)).toEqual([
      NAMESPACE,
      'postgres-orders.f.account',
      { uid: 'uid-f', resourceVersion: '7' },
    ])
  })

  test.each<[string, HelmRelease | undefined]>([
    ['is gone', undefined],
    ['is another', { ...landed, metadata: { ...landed.metadata, uid: 'another' } }],
    ['was written', { ...landed, metadata: { ...landed.metadata, generation: 3 } }],
    [
      'was written, and has landed since',
      {
        ...landed,
        metadata: { ...landed.metadata, generation: 3 },
        status: { ...landed.status, observedGeneration: 3 },
      },
    ],
    ['is an application of another kind', { ...landed, metadata: { ...landed.metadata, labels: {} } }],
    ['is not ready', { ...landed, status: { observedGeneration: 2, conditions: [] } }],
  ])('is not made when the release %s', async (_, now) => {
    const { run, called } = after(now)
    expect(await run()).toEqual({ is: 'overtaken', done: [] })
    expect(called()).toEqual(['getHelmRelease'])
  })

  test('is not made when the release cannot be read', async () => {
    const failure: Failure = { reason: 'kube_timeout', call: 'get HelmRelease' }
    const { run, called } = carrying([remove('f')], { getHelmRelease: async () => fail(failure) })
    expect(await run()).toEqual({ is: 'failed', failure, done: [] })
    expect(called()).toEqual(['getHelmRelease'])
  })
})

describe('the value of a seed', () => {
  const deps = { randomBytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)) }

  test('is made from a password of its own', async () => {
    const values = await Promise.all(Array.from({ length: 20 }, () => seedValue(rules, 'web', deps)))
    expect(new Set(values.map((each) => each.ok && each.value)).size).toBe(20)
  })

  test('that the engine, or Helm, would take for another is none', async () => {
    const derive = async () => 'a,b'
    const format = { ...rules.format, canonical: /^a,b$/, derive }
    expect(await seedValue({ format, valuesPath: undefined }, 'web', deps)).toEqual({
      ok: true,
      value: 'a,b',
    })
    expect(await seedValue({ format, valuesPath: '_accounts' }, 'web', deps)).toMatchObject({
      failure: { reason: 'value_not_canonical' },
    })
  })
})

test('the first entry of a record says who and when, to the second', () => {
  expect(createdBy('jane@example.org', NOW)).toEqual({
    operation: 'Create',
    at: NOW_TEXT,
    by: 'jane@example.org',
  })
})
