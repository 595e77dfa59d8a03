import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { CAUSES, type CauseName, hintOf, isHookCause } from '../../src/conversion/causes.ts'
import { statusBody } from '../helpers/faults.ts'
import {
  accountSecret,
  fileDefinitions,
  type HookPlace,
  hookPlace,
  kindsOf,
  NEIGHBOUR,
  TENANT,
} from './hook-place.ts'

const SECRETS = `/api/v1/namespaces/${TENANT}/secrets`
const NAME = 'postgres-orders.web.account'
const orders = (place: HookPlace) => place.order('orders', { web: 'hunter2' })

interface Case {
  readonly what: string
  /** Leaves a release `postgres-orders` that cannot be converted, as a whole or in part. */
  readonly arrange: (place: HookPlace) => Promise<unknown>
  readonly says: RegExp
  /** Instead of `postgres-orders`. */
  readonly release?: string
  /** Instead of nothing: what of the release was converted all the same. */
  readonly converted?: readonly string[]
}

const holds = async (place: HookPlace, change: Parameters<typeof accountSecret>[2]) =>
  place.admin.create(SECRETS, accountSecret(await orders(place), 'web', change))

const CASES: Readonly<Record<string, readonly Case[]>> = {
  CredentialsMissing: [
    {
      what: 'the Secret from before is not there',
      arrange: (place) => place.order('orders', { web: 'x' }, { before: false }),
      says: /^Secret "postgres-orders-credentials": .* \(users "web"\)$/,
    },
  ],
  PasswordMissing: [
    {
      what: 'an empty password',
      arrange: (place) => place.order('orders', { web: '', report: 'hunter2' }),
      says: /^user "web": /,
      converted: ['report'],
    },
    {
      what: 'no key for the user',
      arrange: (place) => place.order('orders', {}, { values: { users: { web: {} } } }),
      says: /^user "web": /,
    },
  ],
  PasswordUnreadable: [
    {
      what: 'bytes that are no UTF-8',
      arrange: (place) => place.order('orders', { web: { base64: '/w==' } }),
      says: /^user "web": /,
    },
  ],
  PasswordUnconvertible: [
    { what: 'a NUL', arrange: (place) => place.order('orders', { web: 'a\0b' }), says: /^user "web": .*NUL/ },
  ],
  PasswordLooksStored: [
    {
      what: 'an md5 hash, which PostgreSQL stores as it is',
      arrange: (place) => place.order('orders', { web: `md5${'0'.repeat(32)}` }),
      says: /^user "web": .*form of a stored value/,
    },
  ],
  PasswordChanged: [
    {
      what: 'another password than the one that was carried over before',
      arrange: async (place) => {
        await orders(place)
        await place.convert()
        await place.changeSecret('postgres-orders-credentials', (secret) => {
          secret.data.web = btoa('tr0ub4dor&3')
        })
      },
      says: /^user "web": /,
    },
  ],
  SecretForeign: [
    {
      what: 'a Secret of somebody else at the name',
      arrange: async (place) => {
        await orders(place)
        await place.admin.create(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata: { name: NAME } })
      },
      says: new RegExp(`^Secret "${NAME}" for user "web": .*not written by mintonce`),
    },
  ],
  SecretLeftover: [
    {
      what: 'an account Secret of an earlier release',
      arrange: (place) =>
        holds(place, { annotations: { 'credentials.cozystack.io/release-uid': 'of-an-earlier-one' } }),
      says: new RegExp(`^Secret "${NAME}" for user "web": `),
    },
  ],
  SecretTerminating: [
    {
      what: 'an account Secret that is being deleted',
      arrange: async (place) => {
        await holds(place, { metadata: { name: NAME, finalizers: ['example.org/hold'] } })
        await place.admin.remove(`${SECRETS}/${NAME}`)
      },
      says: /is being deleted/,
    },
  ],
  SecretImmutable: [
    {
      what: 'an immutable seed',
      arrange: (place) => holds(place, { immutable: true }),
      says: /is immutable/,
    },
  ],
  NamesCollide: [
    {
      what: 'two users of one name',
      arrange: (place) => place.order('orders', { 'a.b': 'hunter2', 'a-b': 'hunter2', web: 'hunter2' }),
      says: /"a-b" and "a\.b"/,
      converted: ['web'],
    },
  ],
  NameInvalid: [
    {
      what: 'a user whose name begins with a dash',
      arrange: (place) => place.order('orders', { '-a': 'hunter2', web: 'hunter2' }),
      says: /"-a"/,
      converted: ['web'],
    },
    {
      what: 'a release with a dot in its name',
      arrange: (place) => place.order('orders.eu', { web: 'hunter2' }),
      says: /^release "postgres-orders\.eu": .*its name has a dot/,
      release: 'postgres-orders.eu',
    },
    {
      what: 'a user of 64 bytes',
      arrange: (place) => place.order('orders', { ['x'.repeat(64)]: 'hunter2', web: 'hunter2' }),
      says: /is longer than 63 bytes/,
      converted: ['web'],
    },
  ],
  NameReserved: [
    {
      what: 'a user that the platform has in each application',
      arrange: (place) => place.order('orders', { app: 'hunter2', web: 'hunter2' }),
      says: /^user "app": /,
      converted: ['web'],
    },
    {
      what: 'the same alone',
      arrange: (place) => place.order('orders', { postgres: 'hunter2' }),
      says: /^user "postgres": /,
    },
    {
      what: 'a user that maps to one of the platform',
      arrange: (place) => place.order('orders', { Postgres: 'hunter2', web: 'hunter2' }),
      says: /"Postgres".*an account of the platform/,
      converted: ['web'],
    },
  ],
  ValuesUnreadable: [
    {
      what: 'a list where a map is read',
      arrange: (place) => place.order('orders', { web: 'hunter2' }, { values: { users: ['web'] } }),
      says: /^release "postgres-orders": .*spec\.values\.users/,
    },
    {
      what: 'values from a ConfigMap',
      arrange: (place) =>
        place.order(
          'orders',
          { web: 'hunter2' },
          { spec: { valuesFrom: [{ kind: 'ConfigMap', name: 'x' }] } },
        ),
      says: /takes values from ConfigMap\/x/,
      converted: ['web'],
    },
  ],
  WriteRefused: [
    {
      what: 'a quota that is used up',
      arrange: async (place) => {
        await orders(place)
        await place.admin.create(`/api/v1/namespaces/${TENANT}/resourcequotas`, {
          apiVersion: 'v1',
          kind: 'ResourceQuota',
          metadata: { name: 'small' },
          spec: { hard: { 'count/secrets': '1' } },
        })
      },
      says: /resource quota "small" has no room/,
    },
    {
      what: 'a policy that refuses',
      arrange: async (place) => {
        await orders(place)
        place.way.add({
          when: ({ method, path }) => method === 'POST' && path.startsWith(`${SECRETS}?`),
          fault: { answer: 422, body: statusBody(422, 'Invalid', 'a policy says no') },
        })
      },
      says: /finds it wrong/,
    },
  ],
  ReadFailed: [
    {
      what: 'an API server that fails',
      arrange: async (place) => {
        await orders(place)
        place.way.add({
          when: ({ path }) => path.startsWith(`${SECRETS}/postgres-orders-credentials`),
          fault: { answer: 500, body: statusBody(500, 'InternalError', 'etcdserver: no leader') },
        })
      },
      says: /^release "postgres-orders": .*\(kube_error\)$/,
    },
    {
      what: 'an authorizer that refuses',
      arrange: async (place) => {
        await orders(place)
        place.way.add({
          when: ({ path }) => path.startsWith(`${SECRETS}/postgres-orders`),
          fault: { answer: 403, body: statusBody(403, 'Forbidden', 'an authorizer says no') },
        })
      },
      says: /\(kube_forbidden\)$/,
    },
  ],
}

const KINDS = kindsOf(fileDefinitions())

/** Each is put beside a release that has nothing wrong, which must not suffer from it. */
describe.each(Object.entries(CASES) as [CauseName, readonly Case[]][])('%s', (cause, cases) => {
  test.each(cases.map((each) => [each.what, each] as const))(
    'is said in the outcome, the log, the record and an Event: %s',
    async (_what, { arrange, says, converted = [], release = 'postgres-orders' }) => {
      const place = hookPlace()
      await arrange(place)
      await place.order('beside', { web: 'hunter2' }, { namespace: NEIGHBOUR })
      const releases = await place.convert({ kinds: KINDS })
      await expectSaid(place, releases, { cause, says, converted, release })
    },
  )
})

async function expectSaid(
  place: HookPlace,
  releases: Awaited<ReturnType<HookPlace['convert']>>,
  {
    cause,
    says,
    converted,
    release,
  }: Pick<Case, 'says' | 'converted' | 'release'> & { readonly cause: CauseName },
): Promise<void> {
  const found = releases.find((each) => each.release === release)
  expect(found?.skips).toEqual([{ cause, message: expect.stringMatching(says) }])
  expect(found?.accounts.map(({ username }) => username)).toEqual(converted)
  const beside = releases.find(({ release }) => release === 'postgres-beside')
  expect(beside).toMatchObject({ skips: [], accounts: [{ username: 'web', result: 'converted' }] })

  const hint = hintOf(cause)
  const lines = place.logged.filter(({ event }) => event === 'conversion_skipped')
  expect(lines.map(({ fields }) => fields)).toEqual([
    {
      namespace: TENANT,
      release,
      kind: 'Postgres',
      cause,
      message: found?.skips[0]?.message,
      hint,
    },
  ])
  const { [`${TENANT}.${release}`]: entry, [`${NEIGHBOUR}.postgres-beside`]: other } = await place.record()
  expect(entry.skipped).toMatchObject([{ cause }])
  expect(found?.skips[0]?.message.startsWith(entry.skipped[0].message.replace(/….*$/u, ''))).toBe(true)
  expect(other).not.toHaveProperty('skipped')
  const [event, ...more] = await place.events()
  expect(more).toEqual([])
  expect(event).toMatchObject({
    type: 'Warning',
    reason: 'ConversionSkipped',
    regarding: { kind: 'HelmRelease', name: release, namespace: TENANT },
    note: expect.stringMatching(new RegExp(`^${cause}: `)),
  })
  expect(event.note.endsWith(hint)).toBe(true)
  const before = await place.admin.get(SECRETS)
  await place.convert({ kinds: KINDS })
  expect(isDeepStrictEqual(await place.admin.get(SECRETS), before)).toBe(true)
  expect(await place.record()).toMatchObject({ [`${TENANT}.${release}`]: entry })
  expect(await place.events()).toHaveLength(1)
}

test('WebhookNeeded is said of each release of such a kind, and nothing of it is written', async () => {
  const place = hookPlace()
  await orders(place)
  const [kind] = kindsOf(fileDefinitions('Postgres'))
  const kinds = kind === undefined ? [] : [{ ...kind, needsWebhook: true }]
  const [release] = await place.convert({ kinds })
  expect(release).toMatchObject({ accounts: [], skips: [{ cause: 'WebhookNeeded' }] })
  expect(await place.secret(NAME)).toBeUndefined()
  expect(await place.events()).toMatchObject([{ reason: 'ConversionSkipped' }])
})

test('PasswordChanging is said of one that is another each time it is read', async () => {
  const place = hookPlace()
  await orders(place)
  let reads = 0
  const { kube } = place.services
  const getSecret: typeof kube.getSecret = async (namespace, name, options) => {
    if (name === 'postgres-orders-credentials') {
      reads += 1
      await place.changeSecret(name, (secret) => {
        secret.data.web = btoa(`password-${reads}`)
      })
    }
    return kube.getSecret(namespace, name, options)
  }
  const changing = { ...place.services, kube: { ...kube, getSecret } }
  const [release] = await place.convert({ kinds: KINDS, over: changing })
  expect(release?.skips).toEqual([
    { cause: 'PasswordChanging', message: expect.stringMatching(/^user "web"/) },
  ])
})

test('there is a case for every cause that the hook finds', () => {
  const others = ['WebhookNeeded', 'PasswordChanging']
  const known = Object.keys(CAUSES).filter((cause) => isHookCause(cause as CauseName))
  expect([...Object.keys(CASES), ...others].sort()).toEqual(known.sort())
})
