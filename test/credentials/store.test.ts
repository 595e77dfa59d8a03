import { describe, expect, test } from 'vitest'
import type { KubeFailure } from '../../src/core/failure.ts'
import { fail, ok, type Result } from '../../src/core/result.ts'
import { encodeData } from '../../src/core/text.ts'
import { changedSecret, newSecret } from '../../src/credentials/account-secret.ts'
import { type Intent, store } from '../../src/credentials/store.ts'
import type { Kube } from '../../src/k8s/kube.ts'
import type { StoredSecret } from '../../src/k8s/objects.ts'
import {
  accountAnnotations,
  accountSecret,
  application,
  CREDENTIAL,
  mintedByJane,
  NAMESPACE,
  OTHER_RELEASE_UID,
  release,
  SECRET,
} from '../helpers/orders.ts'
import { scriptedKube } from '../helpers/scripted-kube.ts'

const STORED = 'reversed:new'
const ours = { operation: 'Mint', at: '2026-10-02T09:14:07Z', by: 'pipeline' } as const
const theirs = { operation: 'Mint', at: '2026-10-02T09:14:06Z', by: 'victor@example.org' } as const

const of = { name: SECRET, namespace: NAMESPACE, username: 'web', application, release, secretLabels: {} }
const record = { origin: 'Minted', history: [ours, mintedByJane] } as const
const current = accountSecret()
const leftover = accountSecret({
  metadata: {
    uid: 'leftover-uid',
    resourceVersion: '7',
    ownerReferences: [],
    annotations: accountAnnotations({ 'credentials.cozystack.io/release-uid': OTHER_RELEASE_UID }),
  },
})

const intentFor = (write: Intent['write']): Intent => ({
  credential: CREDENTIAL,
  namespace: NAMESPACE,
  secretName: SECRET,
  stored: STORED,
  write,
  before: current,
})
const create = intentFor({ kind: 'create', secret: newSecret(of, STORED, record) })
const update = intentFor({ kind: 'update', secret: changedSecret(of, current, STORED, record) })
const replace = intentFor({ kind: 'replace', leftover, secret: newSecret(of, STORED, record) })

/** What the API server holds after a write of this value by this entry. */
const held = (
  value: string,
  entry: typeof ours | typeof theirs | typeof mintedByJane,
  uid = 'secret-uid-1',
): StoredSecret =>
  accountSecret({
    data: { username: encodeData('web'), password: encodeData(value) },
    metadata: {
      uid,
      resourceVersion: '11',
      annotations: accountAnnotations({ 'credentials.cozystack.io/history': JSON.stringify([entry]) }),
    },
  })

const refusing = (failure: KubeFailure) => async () => fail(failure)
const reading = (secret: StoredSecret | undefined) => async () => ok(secret)

/** What each kind of write calls, and how to make that call fail. */
const writes = [
  ['create', create, 'createSecret', {}],
  ['update', update, 'updateSecret', {}],
  ['replacement', replace, 'createSecret', { deleteSecret: async () => ok(undefined) }],
] as const satisfies readonly (readonly [string, Intent, keyof Kube, Partial<Kube>])[]

/** Answers after which the write may have happened all the same. */
const lostAnswers: readonly KubeFailure[] = [
  { reason: 'kube_unreachable', call: 'write Secret', why: 'ECONNRESET', sent: true },
  { reason: 'kube_timeout', call: 'write Secret' },
  { reason: 'kube_error', call: 'write Secret', code: 500 },
  { reason: 'kube_error', call: 'write Secret', code: 502 },
  { reason: 'kube_error', call: 'write Secret', code: 503 },
  { reason: 'kube_error', call: 'write Secret', code: 504 },
  { reason: 'kube_error', call: 'write Secret', code: 302 },
  { reason: 'kube_error', call: 'write Secret', code: 200 },
]

/** Answers that say that nothing was stored. */
const refusals: readonly KubeFailure[] = [
  { reason: 'kube_absent' },
  { reason: 'kube_forbidden', call: 'write Secret' },
  { reason: 'kube_quota_exceeded', quota: 'secrets' },
  { reason: 'kube_namespace_terminating', namespace: NAMESPACE },
  { reason: 'kube_immutable' },
  { reason: 'kube_invalid', call: 'write Secret' },
  { reason: 'kube_overloaded', retryAfterSeconds: 1 },
  { reason: 'kube_unauthenticated' },
  { reason: 'kube_not_served', groupVersion: 'v1' },
  { reason: 'kube_unreachable', call: 'write Secret', why: 'ECONNREFUSED', sent: false },
]

describe.each(writes)('a %s', (kind, intent, method, before) => {
  const leftoverDeleted = kind === 'replacement'
  const conflict: KubeFailure = { reason: method === 'createSecret' ? 'kube_exists' : 'kube_conflict' }
  const run = async (
    answer: KubeFailure,
    read: () => Promise<Result<StoredSecret | undefined>>,
    dryRun = false,
  ) => {
    const scripted = scriptedKube({ ...before, [method]: refusing(answer), getSecret: read })
    const result = await store(scripted.kube, intent, { dryRun })
    return { result, scripted, times: scripted.called().filter((each) => each === method).length }
  }

  test('that the API server takes is done', async () => {
    const stored = held(STORED, ours)
    const { kube, called } = scriptedKube({ ...before, [method]: async () => ok(stored) })
    expect(await store(kube, intent, {})).toEqual({ ok: true, value: stored })
    expect(called()).toEqual(leftoverDeleted ? ['deleteSecret', method] : [method])
  })

  test.each(lostAnswers)(
    'whose answer is $reason $code $why is sent once, and done when the one read shows our value',
    async (answer) => {
      const { result, scripted, times } = await run(answer, reading(held(STORED, ours)))
      expect(result).toMatchObject({ ok: true, value: { metadata: { resourceVersion: '11' } } })
      expect(times).toBe(1)
      expect(scripted.argumentsOf('getSecret')).toEqual([[NAMESPACE, SECRET]])
    },
  )

  test.each(lostAnswers)(
    'whose answer is $reason $code $why is of unknown outcome when the read shows another value',
    async (answer) => {
      for (const read of [
        reading(held('reversed:old', mintedByJane)),
        reading(held('reversed:x', theirs)),
        reading(undefined),
        refusing({ reason: 'kube_timeout', call: 'get Secret' }),
      ]) {
        const { result, scripted, times } = await run(answer, read)
        expect(result).toEqual(fail({ reason: 'outcome_unknown', name: CREDENTIAL, leftoverDeleted }))
        expect(times).toBe(1)
        expect(scripted.argumentsOf('getSecret')).toHaveLength(1)
      }
    },
  )

  test.each(refusals)('refused with $reason stored nothing, and nothing is read again', async (answer) => {
    const { result, scripted, times } = await run(answer, reading(held(STORED, ours)))
    expect(result).toEqual(
      fail({ reason: 'write_refused', name: CREDENTIAL, cause: answer, leftoverDeleted }),
    )
    expect(times).toBe(1)
    expect(scripted.argumentsOf('getSecret')).toEqual([])
  })

  test('SEC-01: that meets a conflict names who was faster, and is not tried again', async () => {
    const { result, times } = await run(conflict, reading(held('reversed:x', theirs)))
    expect(result).toEqual(
      fail({
        reason: 'credential_changed',
        name: CREDENTIAL,
        message: `credential ${CREDENTIAL} changed: password issued by victor@example.org at 2026-10-02T09:14:06Z`,
        fields: [],
      }),
    )
    expect(times).toBe(1)
  })

  test('whose conflict is our own success, sent twice on the way, is done', async () => {
    const { result, times } = await run(conflict, reading(held(STORED, ours)))
    expect(result).toMatchObject({ ok: true })
    expect(times).toBe(1)
  })

  test('that meets a conflict when nobody can be named is a conflict all the same', async () => {
    const changed = `credential ${CREDENTIAL} changed: read it again`
    const { result } = await run(conflict, refusing({ reason: 'kube_timeout', call: 'get Secret' }))
    expect(result).toEqual(
      fail({ reason: 'credential_changed', name: CREDENTIAL, message: changed, fields: [] }),
    )
    const metadataOnly = { ...current, metadata: { ...current.metadata, resourceVersion: '11' } }
    const { result: moved } = await run(conflict, reading(metadataOnly))
    expect(moved).toEqual(
      fail({ reason: 'credential_changed', name: CREDENTIAL, message: changed, fields: [] }),
    )
    const { result: gone } = await run(conflict, reading(undefined))
    expect(gone).toMatchObject({ failure: { message: `credential ${CREDENTIAL} no longer exists` } })
  })

  test('that meets a Secret which is being deleted says so', async () => {
    const { metadata, ...secret } = held('reversed:old', mintedByJane)
    const { result } = await run(
      conflict,
      reading({ ...secret, metadata: { ...metadata, deletionTimestamp: '2026-10-02T09:14:00Z' } }),
    )
    expect(result).toEqual(fail({ reason: 'secret_terminating', name: CREDENTIAL, secret: SECRET }))
  })

  test('whose value an admission plug-in changed is no success', async () => {
    const { kube } = scriptedKube({ ...before, [method]: async () => ok(held('mutated', ours)) })
    expect(await store(kube, intent, {})).toEqual(
      fail({ reason: 'value_altered', name: CREDENTIAL, secret: SECRET, dryRun: false }),
    )
  })

  test('passes the deadline on, and reads afterwards without it', async () => {
    const { signal } = new AbortController()
    const scripted = scriptedKube({
      ...before,
      [method]: refusing({ reason: 'kube_timeout', call: 'write Secret' }),
      getSecret: reading(undefined),
    })
    await store(scripted.kube, intent, { signal })
    expect(scripted.argumentsOf(method)[0]?.[1]).toMatchObject({ signal })
    expect(scripted.argumentsOf('getSecret')).toEqual([[NAMESPACE, SECRET]])
  })
})

test('an update of another object with our value is not ours', async () => {
  const { kube } = scriptedKube({
    updateSecret: refusing({ reason: 'kube_conflict' }),
    getSecret: reading(held(STORED, ours, 'another-uid')),
  })
  expect(await store(kube, update, {})).toMatchObject({ failure: { reason: 'credential_changed' } })
})

test('SEC-01: an update carries the uid and the version that were read', async () => {
  const scripted = scriptedKube({ updateSecret: async () => ok(held(STORED, ours)) })
  await store(scripted.kube, update, {})
  expect(scripted.argumentsOf('updateSecret')[0]?.[0].metadata).toMatchObject({
    uid: 'secret-uid-1',
    resourceVersion: '10',
  })
})

describe('a dry run', () => {
  test.each(writes.slice(0, 2))('of a %s is sent as one', async (_, intent, method) => {
    const scripted = scriptedKube({ [method]: async () => ok(held(STORED, ours)) })
    expect(await store(scripted.kube, intent, { dryRun: true })).toMatchObject({ ok: true })
    expect(scripted.argumentsOf(method)[0]?.[1]).toMatchObject({ dryRun: true })
  })

  test('of a replacement tries the delete only: the name would not be free for the create', async () => {
    const scripted = scriptedKube({ deleteSecret: async () => ok(undefined) })
    expect(await store(scripted.kube, replace, { dryRun: true })).toMatchObject({ ok: true })
    expect(scripted.called()).toEqual(['deleteSecret'])
    expect(scripted.argumentsOf('deleteSecret')[0]?.[3]).toMatchObject({ dryRun: true })
  })

  test.each(lostAnswers)(
    'whose answer is $reason $code $why changed nothing, and says that',
    async (answer) => {
      for (const [, intent, method] of writes.slice(0, 2)) {
        const { kube, called } = scriptedKube({ [method]: refusing(answer) })
        expect(await store(kube, intent, { dryRun: true })).toEqual(
          fail({ reason: 'write_refused', name: CREDENTIAL, cause: answer, leftoverDeleted: false }),
        )
        expect(called()).toEqual([method])
      }
      const { kube } = scriptedKube({ deleteSecret: refusing(answer) })
      expect(await store(kube, replace, { dryRun: true })).toMatchObject({
        failure: { reason: 'write_refused', leftoverDeleted: false },
      })
    },
  )

  test('that meets a conflict is a conflict, even where the value is the same', async () => {
    const { kube } = scriptedKube({
      updateSecret: refusing({ reason: 'kube_conflict' }),
      getSecret: reading(held(STORED, ours)),
    })
    expect(await store(kube, update, { dryRun: true })).toMatchObject({
      failure: { reason: 'credential_changed' },
    })
  })
})

describe('a leftover', () => {
  test('is deleted by the uid and the version that were read, before anything is created', async () => {
    const scripted = scriptedKube({
      deleteSecret: async () => ok(undefined),
      createSecret: async () => ok(held(STORED, ours)),
    })
    await store(scripted.kube, replace, {})
    expect(scripted.called()).toEqual(['deleteSecret', 'createSecret'])
    expect(scripted.argumentsOf('deleteSecret')[0]?.slice(0, 3)).toEqual([
      NAMESPACE,
      SECRET,
      { uid: 'leftover-uid', resourceVersion: '7' },
    ])
  })

  test('that has gone meanwhile is replaced', async () => {
    const { kube } = scriptedKube({
      deleteSecret: refusing({ reason: 'kube_absent' }),
      createSecret: async () => ok(held(STORED, ours)),
    })
    expect(await store(kube, replace, {})).toMatchObject({ ok: true })
  })

  test('that changed meanwhile stays, and nothing is created', async () => {
    const { kube, called } = scriptedKube({
      deleteSecret: refusing({ reason: 'kube_conflict' }),
      getSecret: reading(held('reversed:x', theirs)),
    })
    expect(await store(kube, replace, {})).toMatchObject({
      failure: { reason: 'credential_changed', message: expect.stringContaining('victor@example.org') },
    })
    expect(called()).toEqual(['deleteSecret', 'getSecret'])
  })

  test.each(refusals.filter(({ reason }) => reason !== 'kube_absent'))(
    'whose delete is refused with $reason stays, and nothing is created',
    async (cause) => {
      const { kube, called } = scriptedKube({ deleteSecret: refusing(cause) })
      expect(await store(kube, replace, {})).toEqual(
        fail({ reason: 'write_refused', name: CREDENTIAL, cause, leftoverDeleted: false }),
      )
      expect(called()).toEqual(['deleteSecret'])
    },
  )

  test.each(lostAnswers)(
    'whose delete is answered by $reason $code $why may be gone: nothing is created, and the answer says so',
    async (answer) => {
      const { kube, called } = scriptedKube({ deleteSecret: refusing(answer) })
      expect(await store(kube, replace, {})).toEqual(
        fail({ reason: 'outcome_unknown', name: CREDENTIAL, leftoverDeleted: true }),
      )
      expect(called()).toEqual(['deleteSecret'])
    },
  )
})
