import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ok } from '../../src/core/result.ts'
import { decodeData, encodeData } from '../../src/core/text.ts'
import { issue, type Order } from '../../src/credentials/issue.ts'
import { readRecord } from '../../src/credentials/record.ts'
import type { State } from '../../src/credentials/state.ts'
import type { Kube } from '../../src/k8s/kube.ts'
import type { KubeEvent, Secret, StoredSecret } from '../../src/k8s/objects.ts'
import {
  accountAnnotations,
  accountSecret,
  CREDENTIAL,
  mintedByJane,
  NOW,
  NOW_TEXT,
  OTHER_RELEASE_UID,
  ownerReference,
  RELEASE_UID,
  reversing,
  rules,
  SECRET,
  stateWith,
  target,
} from '../helpers/orders.ts'
import { scriptedKube } from '../helpers/scripted-kube.ts'

const never = new AbortController().signal
const gone = AbortSignal.abort()
const P32 = /^[A-Za-z0-9]{32}$/

const mint: Order = {
  operation: 'Mint',
  preconditions: {},
  dryRun: false,
  by: 'jane@example.org',
  signal: never,
  deadline: never,
}

/** Takes every write as a real API server would. */
const taking: Partial<Kube> = {
  createSecret: async (secret) => ok(storedAs(secret, 'secret-uid-2', '1')),
  updateSecret: async (secret) => ok(storedAs(secret, secret.metadata.uid, '11')),
  deleteSecret: async () => ok(undefined),
}
const storedAs = (secret: Secret, uid: string, resourceVersion: string): StoredSecret => ({
  ...secret,
  metadata: { ...secret.metadata, uid, resourceVersion },
})

/** Issues over this state, and answers what came of it. */
async function run(state: State, order: Partial<Order> = {}, script: Partial<Kube> = taking) {
  const scripted = scriptedKube(script)
  const events: KubeEvent[] = []
  const result = await issue(
    {
      kube: scripted.kube,
      deps: { now: () => NOW, randomBytes: (length) => new Uint8Array(randomBytes(length)) },
      emit: (event) => events.push(event),
    },
    target,
    state,
    { ...mint, ...order },
  )
  const written = scripted.argumentsOf('updateSecret')[0]?.[0] ?? scripted.argumentsOf('createSecret')[0]?.[0]
  return { result, events, scripted, called: scripted.called(), written }
}

const storedIn = (secret: Secret | undefined) => decodeData(secret?.data?.password)
const reversed = (text: string | undefined) => `reversed:${[...(text ?? '')].reverse().join('')}`

const leftoverOf = (origin: string) =>
  accountSecret({
    metadata: {
      ownerReferences: [ownerReference(OTHER_RELEASE_UID)],
      annotations: accountAnnotations({
        'credentials.cozystack.io/origin': origin,
        'credentials.cozystack.io/release-uid': OTHER_RELEASE_UID,
      }),
    },
  })

describe('a mint', () => {
  test('of an account that has no Secret creates one and answers the password whose value it stored', async () => {
    const { result, called, written } = await run(stateWith(undefined))
    expect(result).toEqual({
      ok: true,
      value: { username: 'web', password: expect.stringMatching(P32), issuedAt: NOW_TEXT, warnings: [] },
    })
    expect(called).toEqual(['createSecret'])
    expect(storedIn(written)).toBe(reversed(result.ok ? result.value.password : undefined))
    expect(readRecord(written?.metadata.annotations)).toEqual({
      origin: 'Minted',
      history: [{ operation: 'Mint', at: NOW_TEXT, by: 'jane@example.org' }],
    })
  })

  test('of an account that has one updates it and keeps its history', async () => {
    const { result, called, written } = await run(stateWith(accountSecret()), { impersonator: 'root' })
    expect(result).toMatchObject({ ok: true, value: { password: expect.stringMatching(P32) } })
    expect(called).toEqual(['updateSecret'])
    expect(written?.metadata).toMatchObject({ uid: 'secret-uid-1', resourceVersion: '10' })
    expect(readRecord(written?.metadata.annotations)?.history).toEqual([
      { operation: 'Mint', at: NOW_TEXT, by: 'jane@example.org', impersonator: 'root' },
      mintedByJane,
    ])
  })

  test('gives a new password each time', async () => {
    const runs = await Promise.all(Array.from({ length: 50 }, () => run(stateWith(accountSecret()))))
    const passwords = runs.map(({ result }) => (result.ok ? result.value.password : undefined))
    expect(new Set(passwords).size).toBe(50)
    expect(passwords).not.toContain(undefined)
  })

  test('of a suspended release warns that the engine will take it later', async () => {
    const { release } = stateWith(undefined)
    const suspended = { ...release, spec: { ...release.spec, suspend: true } }
    const { result } = await run(stateWith(undefined, { release: suspended }))
    expect(result).toMatchObject({
      ok: true,
      value: { warnings: [expect.stringMatching(/postgres-orders is suspended/)] },
    })
  })

  test('repairs a record that a person has spoilt', async () => {
    const spoilt = accountSecret({
      metadata: { annotations: accountAnnotations({ 'credentials.cozystack.io/history': '{' }) },
    })
    const { written } = await run(stateWith(spoilt))
    expect(readRecord(written?.metadata.annotations)?.history).toEqual([
      { operation: 'Mint', at: NOW_TEXT, by: 'jane@example.org' },
    ])
  })
})

describe('a revoke', () => {
  test.each([undefined, accountSecret()])(
    'stores the value of a password that it does not answer',
    async (secret) => {
      const { result, written, events } = await run(stateWith(secret), { operation: 'Revoke' })
      expect(result).toEqual({
        ok: true,
        value: { username: 'web', password: undefined, issuedAt: NOW_TEXT, warnings: [] },
      })
      expect(storedIn(written)).toMatch(/^reversed:[A-Za-z0-9]{32}$/)
      const record = readRecord(written?.metadata.annotations)
      expect(record?.origin).toBe('Revoked')
      expect(record?.history[0]).toEqual({ operation: 'Revoke', at: NOW_TEXT, by: 'jane@example.org' })
      expect(events).toMatchObject([
        { reason: 'CredentialRevoked', note: 'password of user web revoked by jane@example.org' },
      ])
    },
  )
})

test.each(['Mint', 'Revoke'] as const)(
  'a %s writes by which rules the account is declared',
  async (operation) => {
    const edited = { ...rules, declaredBy: '00000000000000f9' }
    for (const secret of [undefined, accountSecret(), leftoverOf('Minted')]) {
      const { written } = await run(stateWith(secret, { rules: edited }), { operation })
      expect(written?.metadata.annotations).toMatchObject({
        'credentials.cozystack.io/declared-by': '00000000000000f9',
      })
    }
  },
)

test('a dry run is sent as one, answers no password and is no event', async () => {
  for (const secret of [undefined, accountSecret(), leftoverOf('Minted')]) {
    const { result, events, scripted } = await run(stateWith(secret), { dryRun: true })
    expect(result).toMatchObject({ ok: true, value: { username: 'web', password: undefined } })
    expect(scripted.called()).toHaveLength(1)
    const options = [
      ...scripted.argumentsOf('createSecret').map(([, option]) => option),
      ...scripted.argumentsOf('updateSecret').map(([, option]) => option),
      ...scripted.argumentsOf('deleteSecret').map(([, , , option]) => option),
    ]
    expect(options).toEqual([expect.objectContaining({ dryRun: true })])
    expect(events).toEqual([])
  }
})

describe('what holds the name', () => {
  test('when foreign is left alone, with a Warning Event on the release', async () => {
    for (const secret of [
      accountSecret({ type: 'Opaque' }),
      accountSecret({ metadata: { annotations: {} } }),
    ]) {
      const { result, called, events } = await run(stateWith(secret))
      expect(result).toMatchObject({
        ok: false,
        failure: { reason: 'secret_foreign', name: CREDENTIAL, secret: SECRET },
      })
      expect(called).toEqual([])
      expect(events).toMatchObject([
        {
          type: 'Warning',
          reason: 'AccountSecretForeign',
          regarding: { kind: 'HelmRelease', uid: RELEASE_UID },
        },
      ])
      expect((await run(stateWith(secret), { dryRun: true })).events).toEqual([])
    }
  })

  test('SEC-03: when immutable is left alone and not created anew behind anybody’s back', async () => {
    const { result, called } = await run(stateWith(accountSecret({ immutable: true })))
    expect(result).toEqual({
      ok: false,
      failure: { reason: 'secret_immutable', name: CREDENTIAL, secret: SECRET },
    })
    expect(called).toEqual([])
  })

  test.each([accountSecret(), leftoverOf('Minted')])('when being deleted is waited for', async (secret) => {
    const terminating = {
      ...secret,
      metadata: { ...secret.metadata, deletionTimestamp: '2026-10-02T09:14:00Z' },
    }
    const { result, called } = await run(stateWith(terminating))
    expect(result).toEqual({
      ok: false,
      failure: { reason: 'secret_terminating', name: CREDENTIAL, secret: SECRET },
    })
    expect(called).toEqual([])
  })

  test.each([
    ['Minted', true],
    ['Migrated', true],
    ['NotIssued', false],
    ['Revoked', false],
  ])(
    'when a leftover of origin %s is replaced and its history dropped; a warning: %s',
    async (origin, warned) => {
      const { result, called, written, events } = await run(stateWith(leftoverOf(origin)))
      expect(result).toMatchObject({ ok: true, value: { password: expect.stringMatching(P32) } })
      expect(called).toEqual(['deleteSecret', 'createSecret'])
      expect(readRecord(written?.metadata.annotations)?.history).toHaveLength(1)
      expect(events.map(({ reason }) => reason)).toEqual(
        warned ? ['CredentialIssued', 'AccountSecretReplaced'] : ['CredentialIssued'],
      )
    },
  )

  test('when it is the Secret of a user who is no longer declared is replaced and never updated', async () => {
    const other = accountSecret({ data: { username: encodeData('WEB'), password: encodeData('theirs') } })
    const { called } = await run(stateWith(other))
    expect(called).toEqual(['deleteSecret', 'createSecret'])
  })
})

describe('preconditions', () => {
  const issued = `credential ${CREDENTIAL} changed: password issued by jane@example.org at 2026-10-01T08:00:00Z`
  test.each([
    [{ resourceVersion: '9' }, accountSecret(), issued, ['resourceVersion']],
    [{ uid: 'other' }, accountSecret(), issued, ['uid']],
    [{ uid: 'secret-uid-1', resourceVersion: '9' }, accountSecret(), issued, ['resourceVersion']],
    [{ uid: 'other', resourceVersion: '10' }, accountSecret(), issued, ['uid']],
    [{ uid: 'other', resourceVersion: '9' }, accountSecret(), issued, ['uid', 'resourceVersion']],
    [{ resourceVersion: '10' }, undefined, `credential ${CREDENTIAL} no longer exists`, ['resourceVersion']],
    [{ uid: 'secret-uid-1' }, undefined, `credential ${CREDENTIAL} no longer exists`, ['uid']],
    [{ uid: 'other' }, leftoverOf('Minted'), issued, ['uid']],
  ])(
    '%j that do not hold write nothing and say what happened',
    async (preconditions, secret, message, fields) => {
      const { result, called, events } = await run(stateWith(secret), { preconditions })
      expect(result).toEqual({
        ok: false,
        failure: { reason: 'credential_changed', name: CREDENTIAL, message, fields },
      })
      expect(called).toEqual([])
      expect(events).toEqual([])
    },
  )

  test.each([
    { resourceVersion: '10' },
    { uid: 'secret-uid-1' },
    { uid: 'secret-uid-1', resourceVersion: '10' },
  ])('%j that hold let the mint through', async (preconditions) => {
    expect((await run(stateWith(accountSecret()), { preconditions })).result).toMatchObject({ ok: true })
  })
})

describe('nothing is written', () => {
  test('when the caller has gone, or the time is over, before the write', async () => {
    for (const secret of [undefined, accountSecret(), leftoverOf('Minted')]) {
      const { result, called, events } = await run(stateWith(secret), { signal: gone })
      expect(result).toEqual({ ok: false, failure: { reason: 'caller_gone' } })
      expect(called).toEqual([])
      expect(events).toEqual([])
    }
  })

  test('when the caller goes while the value is derived', async () => {
    const caller = new AbortController()
    const slow = {
      ...reversing,
      derive: async (...given: Parameters<typeof reversing.derive>) => {
        caller.abort()
        return reversing.derive(...given)
      },
    }
    const { result, called } = await run(stateWith(undefined, { rules: { ...rules, format: slow } }), {
      signal: caller.signal,
    })
    expect(result).toEqual({ ok: false, failure: { reason: 'caller_gone' } })
    expect(called).toEqual([])
  })

  test.each([
    ['is empty', async () => ''],
    ['has another shape', async () => 'reversed:'],
    ['ends in a newline', async () => `reversed:${'a'.repeat(32)}\n`],
    ['holds the password', async ({ password }: { password: string }) => `reversed:${password}`],
  ])('when the derived value %s', async (_, derive) => {
    const wrong = { ...reversing, name: 'wrong', derive }
    const { result, called, events } = await run(
      stateWith(accountSecret(), { rules: { ...rules, format: wrong } }),
    )
    expect(result).toEqual({ ok: false, failure: { reason: 'value_not_canonical', format: 'wrong' } })
    expect(called).toEqual([])
    expect(events).toEqual([])
  })
})

test('OBS-02: the event is in the namespace of the application that it is about, and names who and which account', async () => {
  const { events } = await run(stateWith(undefined))
  expect(events).toEqual([
    {
      type: 'Normal',
      reason: 'CredentialIssued',
      action: 'Mint',
      note: 'password of user web issued by jane@example.org',
      regarding: {
        apiVersion: 'apps.cozystack.io/v1alpha1',
        kind: 'Postgres',
        namespace: 'tenant-acme',
        name: 'orders',
        uid: RELEASE_UID,
      },
    },
  ])
})

test('OBS-01: no failure and no event carries the password or the stored value', async () => {
  const drawn: string[] = []
  const watching = {
    ...reversing,
    derive: async (...given: Parameters<typeof reversing.derive>) => {
      drawn.push(given[0].password, await reversing.derive(...given))
      return reversing.derive(...given)
    },
  }
  const state = (secret: StoredSecret | undefined) =>
    stateWith(secret, { rules: { ...rules, format: watching } })
  const failing: Partial<Kube> = {
    createSecret: async () => ({ ok: false, failure: { reason: 'kube_invalid', call: 'create Secret' } }),
    updateSecret: async () => ({ ok: false, failure: { reason: 'kube_timeout', call: 'update Secret' } }),
    deleteSecret: async () => ok(undefined),
    getSecret: async () => ok(undefined),
  }
  const runs = [
    ...(await Promise.all(
      [undefined, accountSecret(), leftoverOf('Minted')].map((secret) => run(state(secret), {}, failing)),
    )),
    await run(state(leftoverOf('Minted'))),
  ]
  expect(drawn).toHaveLength(8)
  const told = JSON.stringify([
    ...runs.map(({ events }) => events),
    ...runs.slice(0, 3).map(({ result }) => result),
  ])
  for (const secret of drawn) {
    expect(told).not.toContain(secret)
    expect(told).not.toContain(encodeData(secret))
  }
})
