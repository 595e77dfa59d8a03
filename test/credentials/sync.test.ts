import { beforeEach, describe, expect, test } from 'vitest'
import { formats } from '../../src/formats/index.ts'
import type { Anything } from '../contract/kube.ts'
import { decode } from '../contract/kube.ts'
import { BY, TENANT } from '../helpers/sync-cluster.ts'
import {
  DECLARED_BY,
  declaredByNow,
  encode,
  NOTHING,
  RELEASE,
  SECRETS,
  SOUND,
  type SyncPlace,
  syncPlace,
  users,
} from '../helpers/sync-place.ts'

let place: SyncPlace
beforeEach(async () => {
  place = await syncPlace()
})

const ANNOTATION = 'credentials.cozystack.io/release-uid'
const isScram = (secret: Anything) =>
  formats.get('scram-sha-256')?.canonical.test(decode(secret.data.password))

/** A second sync writes nothing, and not a byte of any Secret moves. */
async function isSettled(): Promise<boolean> {
  const before = JSON.stringify(await place.secrets())
  const written = place.writes().length
  const { warnings: _, ...report } = await place.sync()
  return (
    JSON.stringify(await place.secrets()) === before &&
    place.writes().length === written &&
    Object.values(report).every((names) => names.length === 0)
  )
}

describe('a release that was never deployed', () => {
  test('is seeded with values that nobody knows, marked for it twice, and once only', async () => {
    const { metadata } = await place.orders(users('Re_port', 'web'))
    expect(await place.sync()).toEqual({ ...NOTHING, created: [`${RELEASE}.re-port`, `${RELEASE}.web`] })
    const secret = await place.secret('re-port')
    expect(secret).toMatchObject({
      type: 'kubernetes.io/basic-auth',
      metadata: {
        namespace: TENANT,
        labels: {
          'credentials.cozystack.io/account': 'true',
          'apps.cozystack.io/application.group': 'apps.cozystack.io',
          'apps.cozystack.io/application.kind': 'Postgres',
          'apps.cozystack.io/application.name': 'orders',
          'cnpg.io/reload': 'true',
        },
        annotations: {
          'credentials.cozystack.io/origin': 'NotIssued',
          'credentials.cozystack.io/history': JSON.stringify([
            { operation: 'Create', at: '2026-10-02T09:14:07Z', by: BY },
          ]),
          [ANNOTATION]: metadata.uid,
          [DECLARED_BY]: await declaredByNow(place.admin),
        },
        ownerReferences: [{ kind: 'HelmRelease', name: RELEASE, uid: metadata.uid }],
      },
    })
    expect(decode(secret.data.username)).toBe('Re_port')
    expect(isScram(secret)).toBe(true)
    expect(secret.data.password).not.toBe((await place.secret('web')).data.password)
    expect(place.events).toEqual([])
    expect(await isSettled()).toBe(true)
  })

  test('says in the log what was written for whom, and never a value', async () => {
    await place.orders(users('web'))
    await place.sync()
    expect(place.logged).toEqual([
      {
        event: 'account_secret',
        fields: { what: 'created', credential: `${RELEASE}.web`, namespace: TENANT, by: BY },
      },
    ])
  })

  test('has accounts that are called like properties of every object, but for one that makes no name', async () => {
    await place.orders(users('__proto__', 'constructor', 'toString'))
    expect(await place.sync()).toEqual({
      ...NOTHING,
      created: [`${RELEASE}.constructor`, `${RELEASE}.tostring`],
      warnings: 1,
    })
    expect(place.events[0]?.note).toContain('"__proto__" makes no valid name')
    expect(await isSettled()).toBe(true)
  })

  test('with 256 accounts is seeded whole', async () => {
    const names = Array.from({ length: 256 }, (_, index) => `u${index}`)
    // Those of the platform count too.
    await place.orders(users(...names.slice(4)))
    expect((await place.sync()).created).toHaveLength(252)
    expect(await isSettled()).toBe(true)
  })

  test('with one account more is left alone, and says so', async () => {
    await place.orders(users(...Array.from({ length: 253 }, (_, index) => `u${index}`)))
    expect(await place.sync()).toEqual({ ...NOTHING, warnings: 1 })
    expect(place.events).toMatchObject([
      { reason: 'AccountRefused', note: 'spec.values: declares more than 256 accounts' },
    ])
    expect(await place.secrets()).toEqual([])
  })
})

describe('a deployed release', () => {
  test('whose Secret is missing says so, time and again as one Event, and writes nothing', async () => {
    await place.orders(users('web'))
    await place.deployed()
    for (let time = 1; time <= 2; time += 1) expect(await place.sync()).toEqual({ ...NOTHING, warnings: 1 })
    expect(place.events).toMatchObject(
      Array(2).fill({ type: 'Warning', reason: 'AccountSecretMissing', isStanding: true }),
    )
    expect(place.events[0]).toEqual(place.events[1])
    expect(await place.secrets()).toEqual([])
    expect(place.writes()).toEqual([])
  })

  test('without any of its many Secrets is one Event', async () => {
    await place.orders(users(...Array.from({ length: 252 }, (_, index) => `u${index}`)))
    await place.deployed()
    expect(await place.sync()).toEqual({ ...NOTHING, warnings: 252 })
    expect(place.events).toMatchObject([
      { reason: 'AccountSecretMissing', note: expect.stringMatching(/^user u0 .* and 248 more$/) },
    ])
    expect(place.writes()).toEqual([])
  })

  test.each(['deployed', 'failed', 'uninstalled'])('is one whose Helm release is %s', async (status) => {
    await place.orders(users('web'))
    await place.deployed({ history: [{ version: 1, status }], conditions: [] })
    expect((await place.sync()).created).toEqual([])
  })

  test('keeps every byte of a Secret that is sound', async () => {
    await place.orders(users('web'))
    await place.deployed()
    await place.put('web')
    expect(await isSettled()).toBe(true)
    expect(place.events).toEqual([])
  })
})

describe('while a chart from before keeps the password in the clear', () => {
  const legacy = (data: object) =>
    place.admin.create(SECRETS, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${RELEASE}-credentials` },
      data,
    })

  test('the account of it is not seeded, and its sibling is', async () => {
    await place.orders(users('web', 'report'))
    await legacy({ web: encode('hunter2') })
    expect(await place.sync()).toEqual({ ...NOTHING, created: [`${RELEASE}.report`], warnings: 1 })
    expect(await place.secret('web')).toBeUndefined()
    expect(place.reasons()).toEqual(['AccountSecretMissing'])
    expect(await isSettled()).toBe(true)
  })

  test('a leftover is not replaced either', async () => {
    await place.orders(users('web'))
    await place.put('web', { origin: 'NotIssued', owner: 'old', annotation: 'old' })
    await legacy({ web: encode('hunter2') })
    expect(await place.sync()).toEqual({ ...NOTHING, warnings: 1 })
    expect(place.reasons()).toEqual(['AccountSecretLeftover'])
    expect(place.writes()).toEqual([])
  })

  test.each([
    ['that is empty', { web: '' }],
    ['of another user', { Web: encode('x') }],
    ['that is called like a property of every object', { constructor: encode('x') }],
  ])('a key %s keeps nobody', async (_, data) => {
    await place.orders(users('web'))
    await legacy(data)
    expect((await place.sync()).created).toEqual([`${RELEASE}.web`])
  })

  test('nobody asks for it when nothing is to be seeded', async () => {
    await place.orders(users('web'))
    await place.put('web')
    await place.sync()
    expect(place.way.calls().filter(({ path }) => path.endsWith('-credentials'))).toEqual([])
  })

  test('nothing is seeded when it cannot be read', async () => {
    await place.orders(users('web'))
    place.way.add({ when: ({ path }) => path.endsWith('-credentials'), fault: { answer: 500 } })
    await expect(place.sync()).rejects.toThrow('kube_error')
    expect(await place.secrets()).toEqual([])
  })
})

describe('the Secret of this release', () => {
  test.each<[string, Parameters<SyncPlace['put']>[1]]>([
    ['a seed from before the release was stored', { origin: 'NotIssued', owner: null }],
    ['with an owner only', { annotation: null }],
    [
      "with an operator's mark only",
      { owner: null, annotation: null, annotations: { 'credentials.cozystack.io/adopt': 'true' } },
    ],
    ["with an operator's mark left over", { annotations: { 'credentials.cozystack.io/adopt': 'true' } }],
  ])('is adopted with its value, record and version of everything else: %s', async (_, change) => {
    const { metadata } = await place.orders(users('web'))
    await place.deployed()
    const before = await place.put('web', { ...change, labels: { team: 'a' } })
    expect(await place.sync()).toEqual({ ...NOTHING, adopted: [`${RELEASE}.web`] })
    const { data, metadata: after } = await place.secret('web')
    expect(data).toEqual(before.data)
    expect(after.uid).toBe(before.metadata.uid)
    expect(after.labels).toEqual(before.metadata.labels)
    expect(after.annotations).toEqual({
      'credentials.cozystack.io/origin': before.metadata.annotations['credentials.cozystack.io/origin'],
      'credentials.cozystack.io/history': before.metadata.annotations['credentials.cozystack.io/history'],
      [DECLARED_BY]: before.metadata.annotations[DECLARED_BY],
      [ANNOTATION]: metadata.uid,
    })
    expect(after.ownerReferences).toMatchObject([{ kind: 'HelmRelease', uid: metadata.uid }])
    expect(await isSettled()).toBe(true)
  })

  test('keeps owners, finalizers and fields of others when it is adopted, immutable or not', async () => {
    const { metadata } = await place.orders(users('web'))
    const other = { apiVersion: 'example.org/v1', kind: 'Widget', name: 'w', uid: 'w-1' }
    await place.put('web', { owner: null, finalizers: ['example.org/keep'], more: { immutable: true } })
    await place.changeSecret('web', (secret) => {
      secret.metadata.ownerReferences = [other]
    })
    expect((await place.sync()).adopted).toEqual([`${RELEASE}.web`])
    expect(await place.secret('web')).toMatchObject({
      immutable: true,
      metadata: { finalizers: ['example.org/keep'], ownerReferences: [other, { uid: metadata.uid }] },
    })
  })

  test('is filled again when somebody emptied it, under the same UID', async () => {
    await place.orders(users('web'))
    await place.deployed()
    const { metadata } = await place.put('web', { value: '' })
    expect(await place.sync()).toEqual({ ...NOTHING, created: [`${RELEASE}.web`] })
    const secret = await place.secret('web')
    expect(isScram(secret)).toBe(true)
    expect(secret.metadata.uid).toBe(metadata.uid)
    expect(secret.metadata.annotations['credentials.cozystack.io/origin']).toBe('NotIssued')
    const history = JSON.parse(secret.metadata.annotations['credentials.cozystack.io/history'])
    expect(history).toMatchObject([{ operation: 'Create', by: BY }, { operation: 'Mint' }])
    expect(await isSettled()).toBe(true)
  })

  test.each(['md5deadbeef', `${SOUND}x`, 'SCRAM-SHA-256$1:x$y:z'])(
    'is warned about, and never refilled, when the engine would take %j for a password',
    async (value) => {
      await place.orders(users('web'))
      const before = await place.put('web', { value })
      expect(await place.sync()).toEqual({ ...NOTHING, warnings: 1 })
      expect(place.reasons()).toEqual(['AccountSecretUnsound'])
      expect(JSON.stringify(place.events)).not.toContain(value)
      expect(await place.secret('web')).toEqual(before)
    },
  )

  test('is not refilled when its definition moves to another format', async () => {
    await place.orders(users('web'))
    const before = await place.put('web')
    const path = '/apis/cozystack.io/v1alpha1/applicationdefinitions/postgres'
    await place.admin.change(path, (definition) => {
      definition.spec.credentials.format.name = 'mysql-native'
    })
    expect(await place.sync()).toEqual({ ...NOTHING, warnings: 1 })
    expect(place.reasons()).toEqual(['AccountSecretUnsound'])
    expect(await place.secret('web')).toEqual(before)
  })

  test('that is immutable and empty is left alone with a warning', async () => {
    await place.orders(users('web'))
    await place.put('web', { value: '', more: { immutable: true } })
    expect(await place.sync()).toEqual({ ...NOTHING, warnings: 1 })
    expect(place.writes()).toEqual([])
  })

  test('that lost our label is found by its name and not seeded a second time', async () => {
    await place.orders(users('web'))
    await place.put('web')
    await place.changeSecret('web', ({ metadata }) => {
      delete metadata.labels['credentials.cozystack.io/account']
    })
    expect(await place.sync()).toEqual(NOTHING)
    expect(place.writes()).toEqual([])
  })

  test('that is going away is left to go; when it is gone a new one is made', async () => {
    await place.orders(users('web'))
    await place.put('web', { finalizers: ['example.org/slow'] })
    await place.admin.remove(`${SECRETS}/${RELEASE}.web.account`)
    expect(await place.sync()).toEqual(NOTHING)
    await place.changeSecret('web', ({ metadata }) => {
      metadata.finalizers = []
    })
    expect((await place.sync()).created).toEqual([`${RELEASE}.web`])
  })

  // `k8s.io/apimachinery/pkg/api/validation`, TotalAnnotationSizeLimitB: a mark more is too much.
  test('with as many annotations as an object may have stays, and holds up none of its siblings', async () => {
    await place.orders(users('web'))
    await place.put('web', { owner: null })
    await place.deployed()
    const { metadata } = await place.put('old', { annotations: { big: '' } })
    const bytes = Object.entries(metadata.annotations).flat().join('').length
    await place.changeSecret('old', (secret) => {
      secret.metadata.annotations.big = 'x'.repeat(262_144 - bytes)
    })
    const before = await place.secret('old')
    await expect(place.sync()).rejects.toThrow('kube_invalid')
    expect(await place.secret('old')).toEqual(before)
    expect((await place.secret('web')).metadata.ownerReferences).toHaveLength(1)
  })
})

describe('what others have at the name of an account Secret', () => {
  test.each<[string, Parameters<SyncPlace['put']>[1]]>([
    ['of another type', { more: { type: 'Opaque' } }],
    ['of an origin that is none', { origin: 'Stolen' }],
    ['without our label too', { origin: '', labels: { 'credentials.cozystack.io/account': 'false' } }],
  ])('stays as it is, with a warning: %s', async (_, change) => {
    await place.orders(users('web'))
    const before = await place.put('web', change)
    expect(await place.sync()).toEqual({ ...NOTHING, warnings: 1 })
    expect(place.reasons()).toEqual(['AccountSecretForeign'])
    expect(await place.secret('web')).toEqual(before)
  })
})

test.each([
  ['no release at all', async () => {}, 'absent'],
  ['no application', () => place.orders({}, { metadata: { name: RELEASE, labels: {} } }), 'unserved'],
  [
    'an application of a kind that nobody serves',
    () =>
      place.orders(
        {},
        {
          metadata: {
            name: RELEASE,
            labels: {
              'apps.cozystack.io/application.group': 'apps.cozystack.io',
              'apps.cozystack.io/application.kind': 'constructor',
              'apps.cozystack.io/application.name': 'orders',
            },
          },
        },
      ),
    'unserved',
  ],
])('for %s nothing is written', async (_, given, is) => {
  await given()
  await place.put('web', { owner: null })
  expect(await place.outcome()).toMatchObject({ is })
  expect(place.writes()).toEqual([])
})

test.each([
  ['..', 'absent'],
  ['a/b', 'absent'],
  ['', 'absent'],
  ['UPPER', 'absent'],
  // A release of that name could read the Secrets of `postgres` as its own.
  ['postgres.orders', 'unserved'],
  ['x'.repeat(64), 'unserved'],
])('a name that no release may have, %j, is asked of nobody', async (release, is) => {
  expect(await place.outcome(release)).toMatchObject({ is })
  expect(place.way.calls()).toEqual([])
})

test.each([
  `${RELEASE}-2.old.account`,
  `${RELEASE}.old`,
  `${RELEASE}.old.accounts`,
  `${RELEASE}.o.ld.account`,
])('a Secret of another name is none of this release, whatever its marks say: %s', async (name) => {
  await place.orders(users())
  await place.deployed()
  await place.put('old', { more: {} })
  const { uid: _uid, resourceVersion: _version, ...metadata } = (await place.secret('old')).metadata
  await place.admin.create(SECRETS, { ...(await place.secret('old')), metadata: { ...metadata, name } })
  expect(await place.sync()).toEqual({ ...NOTHING, marked: [`${RELEASE}.old`] })
})
