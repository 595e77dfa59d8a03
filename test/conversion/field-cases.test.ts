import { describe, expect, test } from 'vitest'
import { sync } from '../../src/credentials/sync.ts'
import { decode } from '../contract/kube.ts'
import { accepts } from '../contract/verify.ts'
import { GRACE_MS, syncServicesOver } from '../helpers/sync-cluster.ts'
import { type HookPlace, hookPlace, TENANT } from './hook-place.ts'

const SECRETS = `/api/v1/namespaces/${TENANT}/secrets`
const BEFORE = 'clickhouse-events-credentials'
const ETL = 'clickhouse-events.etl.account'
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** A ClickHouse with this password from before. */
async function events(password: string, before: object = {}): Promise<HookPlace> {
  const place = hookPlace()
  await place.order('events', { etl: password }, { kind: 'ClickHouse', before: { metadata: before } })
  return place
}

const storedOf = async ({ secret }: HookPlace, name = ETL): Promise<string> =>
  decode((await secret(name)).data.password)

describe('MIG-01: a password that ends in a line break', () => {
  test.each(['secret\n', 'secret\r\n'])('is used with it, and named: %j', async (password) => {
    const place = await events(password)
    expect(await place.convert()).toMatchObject([
      { skips: [], notes: [{ is: 'EndsInNewline', username: 'etl' }] },
    ])
    const stored = await storedOf(place)
    expect(accepts(stored, password)).toBe(true)
    expect(accepts(stored, 'secret')).toBe(false)
    const notes = place.logged.filter(({ event }) => event === 'conversion_note')
    expect(notes.map(({ fields }) => fields.note)).toEqual([
      expect.stringMatching(/^the password of user "etl" ends in a line break/),
    ])
  })
})

test('MIG-03: what kubectl apply has left in an annotation is not copied, and is named', async () => {
  const place = await events('hunter2', {
    annotations: { [LAST_APPLIED]: '{"stringData":{"etl":"hunter2"}}' },
  })
  expect(await place.convert()).toMatchObject([{ notes: [{ is: 'LastApplied', secret: BEFORE }] }])
  const { metadata } = await place.secret(ETL)
  expect(Object.keys(metadata.annotations)).not.toContain(LAST_APPLIED)
  expect(JSON.stringify(place.logged)).toContain(BEFORE)
  expect(JSON.stringify(place.logged)).not.toContain('hunter2')
  // It is not ours to change: the passwords in it are those that stand beside it.
  expect((await place.secret(BEFORE)).metadata.annotations).toHaveProperty([LAST_APPLIED])
})

describe('MIG-04: a password that changes between the read and the write', () => {
  const changingAfter = (place: HookPlace, reads: number) => {
    const { kube } = place.services
    let seen = 0
    const getSecret: typeof kube.getSecret = async (namespace, name, options) => {
      const answer = await kube.getSecret(namespace, name, options)
      if (name === BEFORE) {
        seen += 1
        if (seen <= reads) {
          await place.changeSecret(name, (secret) => {
            secret.data.etl = btoa(`rendered-${seen}`)
          })
        }
      }
      return answer
    }
    return { ...place.services, kube: { ...kube, getSecret } }
  }

  test.each([1, 2, 3])('%i times is read again, and what is stored is the one that counts', async (reads) => {
    const place = await events('first')
    const [release] = await place.convert({ over: changingAfter(place, reads) })
    expect(release).toMatchObject({ accounts: [{ result: 'converted' }], skips: [] })
    expect(accepts(await storedOf(place), `rendered-${reads}`)).toBe(true)
    const { metadata } = await place.secret(ETL)
    const history = JSON.parse(metadata.annotations['credentials.cozystack.io/history'])
    expect(history).toHaveLength(1)
  })

  test('is the value of one moment also when the Secret is gone at the second look', async () => {
    const place = await events('first')
    const { kube } = place.services
    const createSecret: typeof kube.createSecret = async (secret, options) => {
      await place.admin.remove(`${SECRETS}/${BEFORE}`)
      return kube.createSecret(secret, options)
    }
    const over = { ...place.services, kube: { ...kube, createSecret } }
    expect(await place.convert({ over })).toMatchObject([{ skips: [] }])
    expect(accepts(await storedOf(place), 'first')).toBe(true)
  })

  test('and runs of a second and a third time change nothing', async () => {
    const place = await events('first')
    await place.convert()
    const once = await place.stored()
    await place.convert()
    await place.convert()
    expect(await place.stored()).toEqual(once)
  })
})

test('MIG-05: no mark of Helm reaches an account Secret, and the Secret from before stays as it is', async () => {
  const place = await events('hunter2', {
    labels: { 'app.kubernetes.io/managed-by': 'Helm' },
    annotations: {
      'meta.helm.sh/release-name': 'clickhouse-events',
      'meta.helm.sh/release-namespace': TENANT,
    },
  })
  const before = await place.secret(BEFORE)
  await place.convert()
  expect(await place.secret(BEFORE)).toEqual(before)
  const written = await place.secret(ETL)
  expect(JSON.stringify(written.metadata)).not.toMatch(/helm\.sh|managed-by|"Helm"/)

  // An upgrade whose chart renders it no more: Helm deletes what it has marked.
  await place.admin.remove(`${SECRETS}/${BEFORE}`)
  await place.convert()
  expect(await place.secret(ETL)).toEqual(written)
})

describe('MIG-07: what was emptied', () => {
  test.each([
    ['an empty value', { etl: '' }],
    ['null', { etl: null }],
    ['no data at all', undefined],
  ])('counts as missing, and no value of the empty text is written: %s', async (_what, data) => {
    const place = await events('hunter2')
    await place.changeSecret(BEFORE, (secret) => {
      secret.data = data
    })
    expect(await place.convert()).toMatchObject([{ accounts: [], skips: [{ cause: 'PasswordMissing' }] }])
    expect(await place.secret(ETL)).toBeUndefined()
  })
})

describe('MIG-10: while the conversion is under way', () => {
  /** As a tick of the function that is deployed would, with the block in the cluster. */
  async function tick(place: HookPlace) {
    const { now, randomBytes } = place.services.deps
    const { services } = syncServicesOver(place.sandbox.admin, { now, randomBytes, graceMs: GRACE_MS })
    const synced = await sync(
      services,
      { namespace: TENANT, release: 'clickhouse-events' },
      { by: 'function' },
    )
    if (!synced.ok) throw new Error(synced.failure.reason)
    return synced.value
  }
  const serve = (place: HookPlace) =>
    place.admin.change('/apis/cozystack.io/v1alpha1/applicationdefinitions/clickhouse', ({ spec }) => {
      spec.credentials = {
        format: { name: 'sha256' },
        secretLabels: { 'reconcile.fluxcd.io/watch': 'Enabled' },
        valuesPath: '_accounts',
        accounts: [{ kind: 'ValuesMap', path: 'users' }],
      }
    })

  test('no tick seeds over a password that is known, and the hook uses that one', async () => {
    const place = await events('hunter2')
    await serve(place)
    await tick(place)
    expect(await place.secret(ETL)).toBeUndefined()
    await place.convert()
    const written = await place.secret(ETL)
    await tick(place)
    expect((await place.secret(ETL)).data).toEqual(written.data)
    expect(accepts(await storedOf(place), 'hunter2')).toBe(true)
    expect(JSON.stringify(place.logged)).not.toMatch(/applied|in force|logs in/)
  })

  test('where there is none, one is seeded once, and the hook has nothing to say of it', async () => {
    const place = hookPlace()
    await place.order('events', { etl: '' }, { kind: 'ClickHouse', before: false })
    await place.admin.change(
      `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${TENANT}/helmreleases/clickhouse-events/status`,
      (release) => {
        release.status = {}
      },
    )
    await serve(place)
    await tick(place)
    const seeded = await place.secret(ETL)
    await tick(place)
    expect(await place.convert()).toMatchObject([{ accounts: [{ result: 'unchanged' }], skips: [] }])
    expect(await place.secret(ETL)).toEqual(seeded)
  })
})

test('VER-16: nothing decodes or encodes a password on its way', async () => {
  const password = 'p@ss/w%25rd$"x'
  const place = await events(password)
  await place.order('cache', { default: password }, { kind: 'Redis', values: { authEnabled: true } })
  await place.convert()
  expect(accepts(await storedOf(place), password)).toBe(true)
  expect(await storedOf(place, 'redis-cache.default.account')).toBe(password)
})
