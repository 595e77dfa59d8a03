import { describe, expect, test } from 'vitest'
import type { JobServices } from '../../src/conversion/job-options.ts'
import { keysLeft, withoutPasswords } from '../../src/conversion/leftovers.ts'
import { resolveDeclared } from '../../src/definitions/resolve.ts'
import type { HelmRelease, StoredSecret } from '../../src/k8s/objects.ts'
import { accountSecret, fileDefinitions, kindsOf, TENANT } from './hook-place.ts'
import { type JobPlace, jobPlace } from './job-place.ts'

const SHOP = 'mariadb-shop'
const CREDENTIALS = `${SHOP}-credentials`

const VALUES = { users: { app: {} } }

async function shop(values: object, passwords: Readonly<Record<string, string>>): Promise<JobPlace> {
  const place = await jobPlace()
  await place.order('shop', passwords, { kind: 'MariaDB', values })
  await place.flux()
  await place.before.convert()
  await place.switchCharts()
  await place.flux()
  return place
}

const release = (values: object, spec: object = {}): HelmRelease => ({
  metadata: { name: SHOP, namespace: 'tenant-acme', uid: 'u', resourceVersion: '1' },
  spec: { values, ...spec },
})

const rulesOf = (kind: string, change: (spec: Record<string, unknown>) => void = () => {}) => {
  const [file] = fileDefinitions(kind).map(({ definition, ...more }) => {
    const spec = structuredClone(definition.spec)
    change(spec)
    return { ...more, definition: { ...definition, spec } }
  })
  const [found] = kindsOf(file === undefined ? [] : [file])
  if (found === undefined) throw new Error(`no kind ${kind}`)
  return found.rules
}

const APP = new Set(['app'])

const setIn = (spec: Record<string, unknown>, block: object): void => {
  spec.credentials = { ...(spec.credentials as object), ...block }
}

describe('passwords in the values', () => {
  test('are removed by their exact places', () => {
    const users = { 'a/b~c': { password: 'x' }, plain: {}, 'with.dot': { password: '', more: 1 } }
    const converted = new Set(Object.keys(users))
    expect(withoutPasswords(rulesOf('MariaDB'), release({ users }), converted)).toEqual([
      { op: 'remove', path: '/spec/values/users/a~1b~0c/password' },
      { op: 'remove', path: '/spec/values/users/with.dot/password' },
    ])
  })

  test('are removed at users too where no source says what that map is', () => {
    const rules = rulesOf('MariaDB', (spec) => {
      setIn(spec, { accounts: [{ kind: 'Static', name: 'app' }] })
    })
    const of = release({ users: { app: { password: 'x' }, other: { password: 'x' } } })
    expect(withoutPasswords(rules, of, APP)).toEqual([
      { op: 'remove', path: '/spec/values/users/app/password' },
    ])
  })

  test('stay where the schema requires one, without which Helm would refuse the values', () => {
    const entry = { type: 'object', required: ['password'], properties: { password: { type: 'string' } } }
    const rules = rulesOf('MariaDB', (spec) => {
      const schema = {
        type: 'object',
        properties: { users: { type: 'object', additionalProperties: entry } },
      }
      spec.application = { ...(spec.application as object), openAPISchema: JSON.stringify(schema) }
    })
    expect(withoutPasswords(rules, release({ users: { app: { password: 'x' } } }), APP)).toEqual([])
  })

  test.each([{}, { users: null }, { users: [] }, { users: { app: 'x' } }])('are none in %j', (values) => {
    expect(withoutPasswords(rulesOf('MariaDB'), release(values), APP)).toEqual([])
  })

  test('are removed from what the tenant has made of it meanwhile', async () => {
    const place = await shop({ users: { app: { password: 'hunter2' } } }, { app: 'hunter2', root: 'of-old' })
    const services = place.servicesWith()
    let edits = 0
    const raced: JobServices = {
      ...services,
      conversionKube: {
        ...services.conversionKube,
        patchHelmRelease: async (...args) => {
          if (edits === 0) {
            edits += 1
            await place.changeRelease(SHOP, ({ spec }) => {
              spec.values.users.app = { password: 'hunter2', more: 1 }
              spec.values.size = '10Gi'
            })
          }
          return services.conversionKube.patchHelmRelease(...args)
        },
      },
    }
    expect(await place.run({}, raced)).toMatchObject({ skipped: [], releases: [{ passwords: 1 }] })
    expect((await place.release(SHOP)).spec.values).toEqual({ users: { app: { more: 1 } }, size: '10Gi' })
  })
})

describe('keys of the Secret from before', () => {
  const secret = (data: Readonly<Record<string, string>>): StoredSecret => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: CREDENTIALS, uid: 'u', resourceVersion: '1' },
    data,
  })

  async function left(
    data: Readonly<Record<string, string>>,
    converted: readonly string[],
    { rules = rulesOf('MariaDB'), users = ['app'], spec = {}, checked = {} }: LeftOptions = {},
  ) {
    const of = release({ users: Object.fromEntries(users.map((user) => [user, {}])) }, spec)
    return keysLeft(secret(data), {
      rules,
      kind: 'MariaDB',
      release: of,
      declared: await resolveDeclared(rules, of),
      converted: new Set(converted),
      checked: new Map(Object.entries(checked)),
    })
  }

  interface LeftOptions {
    readonly rules?: ReturnType<typeof rulesOf>
    readonly users?: readonly string[]
    readonly spec?: object
    readonly checked?: Readonly<Record<string, string>>
  }

  test.each([
    ['those of tenants, and not those of the platform', { app: 'x', root: 'x' }, ['app'], ['app'], false],
    ['all of it when nobody needs any of it', { app: 'x' }, ['app'], ['app'], true],
    ['none of an account that could not be converted', { app: 'x', root: 'x' }, [], [], false],
    ['none that is of nobody known', { app: 'x', host: 'x', root: 'x' }, ['app'], ['app'], false, ['host']],
    ['nor the Secret for it', { app: 'x', username: 'x' }, ['app'], ['app'], false, ['username']],
    ['nothing when there is nothing', { root: 'x' }, ['app'], [], false],
  ] as const)('are: %s', async (_what, data, converted, keys, isAll, unknown: readonly string[] = []) => {
    expect(await left(data, converted)).toEqual({ keys, isAll, unknown, changed: [] })
  })

  test('stay when they may be of accounts that nobody here sees', async () => {
    const spec = { valuesFrom: [{ kind: 'ConfigMap', name: 'more' }] }
    const data = { app: 'x', elsewhere: 'x' }
    expect(await left(data, ['app'], { spec })).toMatchObject({ keys: ['app'], isAll: false })
    expect(await left({ app: 'x' }, ['app'], { spec })).toMatchObject({ keys: ['app'], isAll: false })
  })

  test('stay when they are not what the account Secret was compared with', async () => {
    const data = { app: 'bmV3', web: 'b2xk' }
    const options = { users: ['app', 'web'], checked: { app: 'b2xk', web: 'b2xk' } }
    expect(await left(data, ['app', 'web'], options)).toMatchObject({
      keys: ['web'],
      isAll: false,
      changed: ['app'],
    })
  })

  test('stay when a user has no valid name', async () => {
    const data = { app: 'x', 'b?d': 'x', former: 'x' }
    expect(await left(data, ['app'], { users: ['app', 'b?d'] })).toMatchObject({ isAll: false })
    const alone = await left({ app: 'x' }, ['app'], { users: ['app', 'b?d'.repeat(40)] })
    expect(alone).toMatchObject({ isAll: false })
  })

  test('of a rotator are of the platform, whatever the definition says', async () => {
    const rules = rulesOf('MariaDB', (spec) => {
      setIn(spec, { accounts: [{ kind: 'ValuesMap', path: 'users' }] })
    })
    expect(await left({ app: 'x', root: 'x' }, ['app'], { rules })).toMatchObject({
      keys: ['app'],
      isAll: false,
      unknown: [],
    })
  })

  test('that no username can have are left alone', async () => {
    const rules = rulesOf('MariaDB', (spec) => {
      const accounts = [
        { kind: 'Static', name: 'app' },
        { kind: 'Static', name: 'admin', owner: 'platform' },
      ]
      setIn(spec, { accounts, legacy: { key: 'password' } })
    })
    const found = await left({ host: 'x', password: 'x' }, ['app'], { rules })
    expect(found).toMatchObject({ keys: [], isAll: false, unknown: ['host'] })
  })
})

test('what kubectl apply has left of the passwords goes with them', async () => {
  const place = await shop({ users: { app: {} } }, { app: 'hunter2', root: 'of-old' })
  await place.before.changeSecret(CREDENTIALS, ({ metadata }) => {
    metadata.annotations = {
      'kubectl.kubernetes.io/last-applied-configuration': '{"stringData":{"app":"hunter2"}}',
      'meta.helm.sh/release-name': SHOP,
    }
  })
  expect((await place.job()).skipped).toEqual([])
  const { metadata } = await place.secret(CREDENTIALS)
  expect(Object.keys(metadata.annotations).toSorted()).toEqual([
    'credentials.cozystack.io/rotated',
    'meta.helm.sh/release-name',
  ])
  expect(JSON.stringify(await place.before.stored())).not.toContain('hunter2')
})

test.each([
  ['has passwords in the clear, which is noted', { users: { app: { password: 'hunter2' } } }, true],
  ['has none, which is not', { users: { app: {} } }, false],
  ['is no JSON', undefined, false],
])('what kubectl apply has left on the HelmRelease stays: it %s', async (_what, values, isNoted) => {
  const place = await jobPlace()
  await place.order('shop', { app: 'hunter2', root: 'of-old' }, { kind: 'MariaDB', values: VALUES })
  const applied = values === undefined ? 'password' : JSON.stringify({ spec: { values } })
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': applied }
  await place.changeRelease(SHOP, ({ metadata }) => {
    metadata.annotations = annotations
  })
  await place.flux()
  const note = { is: 'ReleaseLastApplied', release: SHOP }
  const noted = isNoted ? expect.arrayContaining([note]) : expect.not.arrayContaining([note])
  expect(await place.before.convert()).toMatchObject([{ notes: noted }])
  await place.switchCharts()
  expect((await place.job()).releases).toMatchObject([{ notes: noted, skips: [] }])
  expect((await place.release(SHOP)).metadata.annotations).toMatchObject(annotations)
})

test('a Secret that somebody else writes at that moment is read again', async () => {
  const place = await shop({ users: { app: {} } }, { app: 'hunter2', root: 'of-old' })
  const services = place.servicesWith()
  let writes = 0
  const raced: JobServices = {
    ...services,
    kube: {
      ...services.kube,
      updateSecret: async (secret, options) => {
        if (secret.metadata.name === CREDENTIALS && writes === 0) {
          writes += 1
          await place.before.changeSecret(CREDENTIALS, ({ data, metadata }) => {
            metadata.labels = { touched: 'true' }
            data.host = btoa('shop.svc')
          })
        }
        return services.kube.updateSecret(secret, options)
      },
    },
  }
  expect(await place.run({}, raced)).toMatchObject({ skipped: [], releases: [{ keys: ['app'] }] })
  expect((await place.secret(CREDENTIALS)).metadata.labels).toEqual({ touched: 'true' })
  expect(Object.keys((await place.data(CREDENTIALS)) ?? {}).toSorted()).toEqual(['host', 'root'])
})

describe('what belongs to nobody here', () => {
  test('stays in the Secret, and is named in the plan, the outcome and the log', async () => {
    const place = await shop(
      { users: { app: {} } },
      { app: 'hunter2', root: 'of-old', host: 'shop.svc', 'replication-password': 'hunter3' },
    )
    const notes = [{ is: 'KeysKept', secret: CREDENTIALS, keys: ['host', 'replication-password'] }]
    const planned = await place.job({ dryRun: true })
    expect(planned.releases).toMatchObject([{ keys: ['app'], isSecretDeleted: false, notes: [notes[0], {}] }])
    const { releases, skipped } = await place.job()
    expect(skipped).toEqual([])
    expect(releases[0]?.notes).toEqual(expect.arrayContaining(notes))
    expect(await place.data(CREDENTIALS)).toMatchObject({
      host: 'shop.svc',
      'replication-password': 'hunter3',
    })
    const told = place.logged
      .filter(({ event }) => event === 'conversion_note')
      .map(({ fields }) => fields.note)
    expect(told).toContainEqual(expect.stringContaining('they stay: "host", "replication-password"'))
    expect(JSON.stringify([releases, place.logged])).not.toMatch(/hunter|shop\.svc/)
  })

  test('keeps the Secret when it is all that is left', async () => {
    const place = await jobPlace()
    await place.order(
      'os',
      { web: 'hunter2', username: 'admin', password: 'hunter3' },
      { values: { users: { web: {} } } },
    )
    await place.flux()
    await place.before.convert()
    await place.switchCharts()
    expect((await place.job()).releases).toMatchObject([{ keys: ['web'], isSecretDeleted: false }])
    expect(await place.data('postgres-os-credentials')).toEqual({ username: 'admin', password: 'hunter3' })
  })
})

describe('the last copy of a password', () => {
  test.each([
    ['its key', { root: 'of-old' }, 'PasswordMissing'],
    ['the Secret', undefined, 'CredentialsMissing'],
  ] as const)('stays in the values when %s is missing', async (_what, passwords, cause) => {
    const values = { users: { app: { password: 'hunter2' } } }
    const place = await jobPlace()
    const before = passwords === undefined ? ({ before: false } as const) : {}
    await place.order('shop', passwords ?? {}, { kind: 'MariaDB', values, ...before })
    await place.flux()
    await place.before.convert()
    await place.switchCharts()
    const { skipped, releases } = await place.job()
    expect(skipped).toMatchObject([{ cause }])
    expect(releases).toMatchObject([{ passwords: 0 }])
    expect((await place.release(SHOP)).spec.values).toEqual(values)
  })

  test('stays in the values beside a seed, which nobody knows', async () => {
    const values = { users: { app: { password: 'hunter2' } } }
    const place = await jobPlace()
    const of = await place.order('shop', { root: 'of-old' }, { kind: 'MariaDB', values })
    await place.admin.create(`/api/v1/namespaces/${TENANT}/secrets`, accountSecret(of, 'app'))
    await place.flux()
    await place.before.convert()
    await place.switchCharts()
    expect((await place.job()).skipped).toMatchObject([{ cause: 'PasswordMissing' }])
    expect((await place.release(SHOP)).spec.values).toEqual(values)
  })

  test('of a user that is no account stays in the values, and is named', async () => {
    const place = await jobPlace()
    const values = { users: { default: { password: 'hunter2' } }, authEnabled: true }
    await place.order('cache', { default: 'hunter2' }, { kind: 'Redis', values })
    await place.changeRelease('redis-cache', ({ spec }) => {
      spec.values.users.other = { password: 'hunter3' }
    })
    await place.flux()
    await place.before.convert()
    await place.switchCharts()
    const { releases } = await place.job()
    expect((await place.release('redis-cache')).spec.values.users).toEqual({
      default: {},
      other: { password: 'hunter3' },
    })
    const kept = { is: 'ValuesKept', release: 'redis-cache', usernames: ['other'] }
    expect(releases).toMatchObject([{ passwords: 1, notes: [kept] }])
  })
})
