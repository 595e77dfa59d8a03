import { expect, test } from 'vitest'
import { fail, ok, type Result } from '../../src/core/result.ts'
import { readState } from '../../src/credentials/state.ts'
import { createDefinitionLookup } from '../../src/definitions/lookup.ts'
import type { Kube } from '../../src/k8s/kube.ts'
import type { ApplicationDefinition, HelmRelease } from '../../src/k8s/objects.ts'
import { definitionWith } from '../definitions/definition.ts'
import {
  accountSecret,
  applicationLabels,
  CREDENTIAL,
  NAMESPACE,
  release,
  SECRET,
  target,
} from '../helpers/orders.ts'
import { scriptedKube } from '../helpers/scripted-kube.ts'

const block = {
  format: { kind: 'BuiltIn', name: 'sha256' },
  accounts: [{ kind: 'ValuesMap', path: 'users' }],
}
const serving: Partial<Kube> = {
  getHelmRelease: async () => ok(release),
  listDefinitions: async () => ok([definitionWith(block)]),
  getSecret: async () => ok(accountSecret()),
}

async function read(script: Partial<Kube> = {}) {
  const scripted = scriptedKube({ ...serving, ...script })
  const definitions = createDefinitionLookup({
    kube: scripted.kube,
    now: () => 0,
    maxAgeMs: 0,
    timeoutMs: 5000,
  })
  const resolve = await readState({ kube: scripted.kube, definitions }, target, {})
  return { state: await resolve(), scripted }
}

const changed = (metadata: Partial<HelmRelease['metadata']>, spec: object = release.spec): HelmRelease => ({
  metadata: { ...release.metadata, ...metadata },
  spec: { ...spec },
})
const reading = (found: HelmRelease | undefined): Partial<Kube> => ({ getHelmRelease: async () => ok(found) })

test('the state of an account is its release, its rules, its user and its Secret, by their names', async () => {
  const { state, scripted } = await read()
  expect(state).toMatchObject({
    ok: true,
    value: {
      application: { group: 'apps.cozystack.io', kind: 'Postgres', name: 'orders' },
      release,
      rules: { definition: 'postgres' },
      username: 'web',
      secret: { metadata: { name: SECRET } },
    },
  })
  expect(scripted.argumentsOf('getHelmRelease')).toEqual([[NAMESPACE, 'postgres-orders', {}]])
  expect(scripted.argumentsOf('getSecret')).toEqual([[NAMESPACE, SECRET, {}]])
})

test('an account without a Secret has a state too', async () => {
  const { state } = await read({ getSecret: async () => ok(undefined) })
  expect(state).toMatchObject({ ok: true, value: { secret: undefined } })
})

test.each<[what: string, script: Partial<Kube>, why: RegExp]>([
  ['there is no release', reading(undefined), /no HelmRelease "postgres-orders"/],
  ['the release is no application', reading(changed({ labels: {} })), /is no application/],
  [
    'the release is of another group',
    reading(
      changed({ labels: { ...applicationLabels, 'apps.cozystack.io/application.group': 'example.org' } }),
    ),
    /is no application/,
  ],
  [
    'its kind has no definition',
    { listDefinitions: async () => ok([]) },
    /kind Postgres have no minted credentials/,
  ],
  [
    'its definition has no block',
    { listDefinitions: async () => ok([definitionWith(undefined)]) },
    /kind Postgres have no minted credentials/,
  ],
  [
    'the user is not declared',
    reading(changed({}, { values: { users: { report: {} } } })),
    /declares no account "web"/,
  ],
  ['the release has no values', reading(changed({}, {})), /declares no account "web"/],
  [
    'the values come from elsewhere',
    reading(changed({}, { valuesFrom: [{ kind: 'Secret', name: 'v' }] })),
    /references \(Secret\/v\) are not read/,
  ],
])('when %s there is no credential, and the message says why', async (_, script, why) => {
  expect((await read(script)).state).toEqual(
    fail({ reason: 'credential_not_found', name: CREDENTIAL, why: expect.stringMatching(why) }),
  )
})

test('a release that is being deleted issues no passwords', async () => {
  const { state } = await read(reading(changed({ deletionTimestamp: '2026-10-02T09:14:00Z' })))
  expect(state).toEqual(fail({ reason: 'release_terminating', name: CREDENTIAL, release: 'postgres-orders' }))
})

test('a suspended release is read like any other', async () => {
  expect((await read(reading(changed({}, { ...release.spec, suspend: true })))).state).toMatchObject({
    ok: true,
  })
})

const refused = async (): Promise<Result<never>> => fail({ reason: 'kube_timeout', call: 'read' })
test.each(['getHelmRelease', 'listDefinitions', 'getSecret'] as const)(
  'a %s that fails fails the whole',
  async (method) => {
    expect((await read({ [method]: refused })).state).toEqual(fail({ reason: 'kube_timeout', call: 'read' }))
  },
)

test('the three reads go out side by side', async () => {
  const { promise: together, resolve } = Promise.withResolvers<void>()
  let waiting = 0
  const meet =
    <T>(value: T) =>
    async () => {
      waiting += 1
      if (waiting === 3) resolve()
      await together
      return ok(value)
    }
  const { state } = await read({
    getHelmRelease: meet(release),
    listDefinitions: meet<readonly ApplicationDefinition[]>([definitionWith(block)]),
    getSecret: meet(accountSecret()),
  })
  expect(state).toMatchObject({ ok: true })
})

test('CLI-09: an account that a definition no longer has is refused once the list of definitions is 30 seconds old', async () => {
  let accounts: readonly object[] = [{ kind: 'Static', name: 'web' }]
  let now = 1_000_000
  const { kube } = scriptedKube({
    ...serving,
    listDefinitions: async () => ok([definitionWith({ ...block, accounts })]),
  })
  const definitions = createDefinitionLookup({ kube, now: () => now, maxAgeMs: 30_000, timeoutMs: 5000 })
  const stateNow = async () => (await readState({ kube, definitions }, target, {}))()
  expect(await stateNow()).toMatchObject({ ok: true })
  accounts = [{ kind: 'Static', name: 'other' }]
  now += 30_000
  expect(await stateNow()).toMatchObject({ ok: false, failure: { reason: 'credential_not_found' } })
})
