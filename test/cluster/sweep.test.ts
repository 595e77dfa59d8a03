import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newSeed } from '../../src/credentials/account-secret.ts'
import { accountSecretOf, seedValue } from '../../src/credentials/carry-out.ts'
import { sweep } from '../../src/credentials/sweep.ts'
import type { HelmRelease } from '../../src/k8s/objects.ts'
import type { Backend } from '../contract/backend.ts'
import { nodeProcess } from '../contract/backends/node-process.ts'
import { type RealApiServer, startRealApiServer } from '../contract/backends/real-api-server.ts'
import { SETTINGS } from '../contract/backends/settings.ts'
import { type Anything, decode } from '../contract/kube.ts'
import { createTenant, type Tenant } from '../contract/tenant.ts'
import { accepts } from '../contract/verify.ts'
import { type RunningEntry, startEntry } from '../helpers/entry.ts'
import { type Faulty, withFaults } from '../helpers/faults.ts'
import { BY, syncServicesOver, type Watched } from '../helpers/sync-cluster.ts'
import { build } from './shipped.ts'

const GRACE_MS = 1000

let api: RealApiServer
let one: Backend
let other: RunningEntry
/** Two replicas: calls go to one and the other by turns. */
let replicas: Backend
let way: Faulty
let watched: Watched

beforeAll(async () => {
  api = await startRealApiServer()
  one = await nodeProcess(api)
  await api.plane.apply(await build('deploy/base', api.plane))
  other = await startEntry(api, SETTINGS)
  let calls = 0
  const call: Backend['call'] = (path, init) => {
    calls += 1
    return calls % 2 === 0 ? one.call(path, init) : fetch(`http://127.0.0.1:${other.port}${path}`, init)
  }
  replicas = { ...one, call }
  way = withFaults(api.asFunction)
  watched = syncServicesOver(way.fetch, {
    now: () => Date.now(),
    randomBytes: (length) => new Uint8Array(randomBytes(length)),
    graceMs: GRACE_MS,
  })
})
afterAll(async () => {
  await other?.stop()
  await one?.stop()
})

const run = async () => {
  const swept = await sweep(watched.services, { by: BY })
  if (!swept.ok) throw new Error(swept.failure.reason)
  return swept.value
}
const secretsOf = async ({ admin, namespace }: Tenant): Promise<readonly Anything[]> =>
  (await admin.get(`/api/v1/namespaces/${namespace}/secrets`)).items
const namesOf = async (tenant: Tenant): Promise<readonly string[]> =>
  (await secretsOf(tenant)).map(({ metadata }) => metadata.name)
/** Times of objects are whole seconds. */
const isOver = (graceMs: number) => new Promise((resolve) => setTimeout(resolve, graceMs + 1000))

/** As an admission that seeds before the release is stored. */
async function leaveSeed(
  { namespace }: Tenant,
  release: string,
  username: string,
  uid: string,
): Promise<void> {
  const rules = await postgres()
  const of = accountSecretOf(
    {
      release: { metadata: { name: release, namespace, uid }, spec: {} } satisfies HelmRelease,
      application: { group: 'apps.cozystack.io', kind: 'Postgres', name: release.replace('postgres-', '') },
      rules,
    },
    { username, name: { release, account: username }, secretName: `${release}.${username}.account` },
  )
  const stored = await seedValue(rules, username, watched.services.deps)
  if (!stored.ok) throw new Error(stored.failure.reason)
  const seed = newSeed(of, stored.value, { origin: 'NotIssued', history: [] })
  const created = await watched.services.kube.createSecret(seed)
  if (!created.ok) throw new Error(created.failure.reason)
}

async function postgres() {
  const known = await watched.services.definitions.load()
  const rules = known.ok ? known.value.rulesFor('Postgres') : known
  if (!rules.ok || rules.value === undefined) throw new Error('no rules')
  return rules.value
}

describe('fifty creates that failed after they had seeded', () => {
  test('leave nothing after a sweep, and those of living releases stay', { timeout: 60_000 }, async () => {
    const tenant = await createTenant(replicas)
    const living = await tenant.release('Postgres', 'living', { users: { web: {}, report: {} } })
    await leaveSeed(tenant, 'postgres-living', 'web', living.metadata.uid)
    await Promise.all(
      Array.from({ length: 50 }, (_, each) =>
        leaveSeed(tenant, `postgres-failed-${each}`, 'web', crypto.randomUUID()),
      ),
    )
    // Of a create that failed, under the name of one that lives.
    await leaveSeed(tenant, 'postgres-living', 'gone', crypto.randomUUID())
    const patient = { ...watched.services, graceMs: 60_000 }
    expect(await sweep(patient, { by: BY })).toMatchObject({ value: { orphansDeleted: 0, failures: 0 } })
    expect(await namesOf(tenant)).toHaveLength(53)
    await isOver(GRACE_MS)
    expect(await run()).toMatchObject({ orphansDeleted: 51, failures: 0 })
    expect(await namesOf(tenant)).toEqual(['postgres-living.report.account', 'postgres-living.web.account'])
    for (const { metadata } of await secretsOf(tenant)) {
      expect(metadata.ownerReferences).toMatchObject([{ uid: living.metadata.uid }])
    }
  })

  test('and one that is taken over by a create that is tried again is as young as that', {
    timeout: 30_000,
  }, async () => {
    const tenant = await createTenant(replicas)
    await leaveSeed(tenant, 'postgres-again', 'web', crypto.randomUUID())
    const services = { ...watched.services, graceMs: 5000 }
    await isOver(services.graceMs)
    const path = `/api/v1/namespaces/${tenant.namespace}/secrets/postgres-again.web.account`
    await tenant.admin.change(path, ({ metadata }) => {
      metadata.annotations['credentials.cozystack.io/release-uid'] = crypto.randomUUID()
    })
    expect(await sweep(services, { by: BY })).toMatchObject({ value: { failures: 0 } })
    expect(await namesOf(tenant)).toEqual(['postgres-again.web.account'])
  })
})

describe('two replicas, sweeps and twenty mints at once on one release', () => {
  test.each([1, 2, 3])('are exactly the mints that answered 201: round %i', { timeout: 60_000 }, async () => {
    const tenant = await createTenant(replicas)
    await tenant.release('Postgres', 'orders', { users: { web: {} } })
    const twentyAtOnce = async () => {
      const mints = Array.from({ length: 20 }, () => tenant.mint('postgres-orders.web'))
      const [answers] = await Promise.all([Promise.all(mints), run(), run(), run()])
      return answers
    }
    // From nothing, where all of them may lose to the first seed; and with a Secret, where one of them wins.
    const answers = [...(await twentyAtOnce()), ...(await twentyAtOnce())]
    await run()
    const minted = answers.filter(({ status }) => status === 201)
    expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([])
    expect(minted.length).toBeGreaterThan(0)
    const { data, metadata } = await tenant.secret('postgres-orders.web')
    const history: readonly Anything[] = JSON.parse(metadata.annotations['credentials.cozystack.io/history'])
    const mints = history.filter(({ operation }) => operation === 'Mint')
    expect(mints).toHaveLength(Math.min(minted.length, 10))
    // A seed came first, or none at all.
    expect(history.slice(mints.length).map(({ operation }) => operation)).toEqual(
      history.length > mints.length ? ['Create'] : [],
    )
    const working = minted.filter(({ body }) => accepts(decode(data.password), body.status.password))
    expect(working.map(({ body }) => body.status.issuedAt)).toEqual([mints[0].at])
    const release = await tenant.admin.get(
      `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${tenant.namespace}/helmreleases/postgres-orders`,
    )
    expect(metadata.ownerReferences).toMatchObject([{ uid: release.metadata.uid }])
  })
})

describe('a thousand releases with five accounts each', () => {
  const RELEASES = 1000
  const USERS = ['a', 'b', 'c', 'd', 'e']
  const AT_ONCE = 16

  test('cost no write, and a call for each page of a list', { timeout: 180_000 }, async () => {
    const tenant = await createTenant(replicas)
    const values = { users: Object.fromEntries(USERS.map((user) => [user, {}])) }
    await tenant.release('Postgres', 'r0', values)
    await run()
    const model = (await secretsOf(tenant)).filter(({ metadata }) => metadata.name.startsWith('postgres-r0.'))
    const left = Array.from({ length: RELEASES - 1 }, (_, each) => `r${each + 1}`).values()
    const work = async () => {
      for (const name of left) await copyOf(tenant, model, name, values)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    const settled = await run()
    const before = way.calls().length
    const report = await run()
    const calls = way.calls().slice(before)
    expect(report).toMatchObject({
      releases: settled.releases,
      synced: 0,
      created: 0,
      adopted: 0,
      failures: 0,
    })
    expect(report.releases).toBeGreaterThanOrEqual(RELEASES)
    expect(calls.filter(({ method }) => method !== 'GET')).toEqual([])
    // 5,000 Secrets and those of the other tests, in pages of 500; one list for each kind, and one of them of three pages.
    const kinds = (await tenant.admin.get('/apis/cozystack.io/v1alpha1/applicationdefinitions')).items.length
    const ofList = (name: string) => calls.filter(({ path }) => path.includes(`/${name}?`)).length
    expect({
      definitions: ofList('applicationdefinitions'),
      secrets: ofList('secrets'),
      releases: ofList('helmreleases'),
      all: calls.length,
    }).toEqual({ definitions: 1, secrets: 11, releases: kinds + 2, all: kinds + 14 })
  })

  /** A release with account Secrets like those of the model. */
  async function copyOf(tenant: Tenant, model: readonly Anything[], name: string, values: object) {
    const { uid } = (await tenant.release('Postgres', name, values)).metadata
    for (const { metadata, ...secret } of model) {
      const [owner] = metadata.ownerReferences
      await tenant.admin.create(`/api/v1/namespaces/${tenant.namespace}/secrets`, {
        ...secret,
        metadata: {
          name: metadata.name.replace('-r0.', `-${name}.`),
          labels: metadata.labels,
          annotations: { ...metadata.annotations, 'credentials.cozystack.io/release-uid': uid },
          ownerReferences: [{ ...owner, name: `postgres-${name}`, uid }],
        },
      })
    }
  }
})
