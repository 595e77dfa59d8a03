import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Json } from '../../src/core/json.ts'
import { sweep } from '../../src/credentials/sweep.ts'
import { createHttpsClient } from '../../src/k8s/node-https.ts'
import type { HelmRelease } from '../../src/k8s/objects.ts'
import { TENANT } from '../../src/sandbox/example.ts'
import { EVENTS_KEY, FLUX_KEY } from '../contract/backends/settings.ts'
import { type Admin, type Anything, adminOf } from '../contract/kube.ts'
import { releaseOf } from '../contract/tenant.ts'
import { createOf, deleteOf, newRelease, updateOf, wireOf } from '../helpers/admission.ts'
import { fuzzedHint } from '../helpers/fuzz-hints.ts'
import { seeded } from '../helpers/fuzz-http.ts'
import { fuzzedReview, PASSWORD, pickFrom } from '../helpers/fuzz-reviews.ts'
import { BY, syncServicesOver } from '../helpers/sync-cluster.ts'
import { accountSecretsIn, landed, releasesIn, startWebhooked, type Webhooked } from './webhooked.ts'

/** Whoever reaches the ports of the function, and says what never happened: beside a real API server. */

const INPUTS = 1000
const RELEASES = releasesIn(TENANT)
const ORIGIN = 'credentials.cozystack.io/origin'
const GRACE_MS = 600_000

let webhooked: Webhooked
let admin: Admin
let client: ReturnType<typeof createHttpsClient>
/** A release with two accounts that have landed, one of them not declared any more and marked. */
let stored: HelmRelease
let before: readonly Anything[]

beforeAll(async () => {
  webhooked = await startWebhooked()
  admin = adminOf(webhooked.api.admin)
  client = createHttpsClient(webhooked.admission, { ca: webhooked.plane.ca })
  await admin.create('/api/v1/namespaces', { metadata: { name: TENANT } })
  const values = { users: { web: {}, report: {} } }
  await admin.create(RELEASES, releaseOf('Postgres', 'orders', values))
  await sweepIn(0)
  const path = `${RELEASES}/postgres-orders`
  await webhooked.send('PATCH', path, { spec: { values: { users: { report: null } } } })
  const status = landed(await admin.get(path))
  await webhooked.send('PATCH', `${path}/status`, { status })
  await sweepIn(0)
  stored = await admin.get(path)
  before = await accountSecrets()
  expect(before).toHaveLength(2)
})
afterAll(async () => {
  client?.close()
  await webhooked?.stop()
})

const accountSecrets = () => accountSecretsIn(webhooked, TENANT)

/** As a tick does it, when so much time has passed. */
async function sweepIn(milliseconds: number) {
  const { services } = syncServicesOver(webhooked.api.asFunction, {
    now: () => Date.now() + milliseconds,
    randomBytes: (length) => new Uint8Array(randomBytes(length)),
    graceMs: GRACE_MS,
  })
  const swept = await sweep(services, { by: BY })
  if (!swept.ok) throw new Error(swept.failure.reason)
  return swept.value
}

async function ask(path: string, body: string): Promise<{ readonly status: number; readonly text: string }> {
  const headers = { 'Content-Type': 'application/json' }
  const answer = await client.fetch(
    new Request(`${webhooked.admission}${path}`, { method: 'POST', headers, body }),
  )
  return { status: answer.status, text: await answer.text() }
}

const both = async (review: Json) => {
  for (const path of ['/admission/mutate', '/admission/validate']) {
    expect((await ask(path, JSON.stringify(review))).status).toBe(200)
  }
}

describe('a review that nobody but its sender knows of', () => {
  const users = { web: {}, more: {} }
  const uid = '00000000-0000-4000-8000-000000000000'

  test.each<[string, () => Json]>([
    [
      'the create of a release that exists',
      () => wireOf(createOf(newRelease('Postgres', 'orders', { users }))),
    ],
    [
      'the create of one of its name and another kind',
      () =>
        wireOf(
          createOf({
            ...newRelease('MariaDB', 'orders', { users }),
            metadata: {
              ...newRelease('MariaDB', 'orders', {}).metadata,
              name: stored.metadata.name,
            },
          }),
        ),
    ],
    [
      'an update of a release with another UID',
      () =>
        wireOf(
          updateOf(
            { ...stored, metadata: { ...stored.metadata, uid } },
            { values: { users: { report: {} } } },
          ),
        ),
    ],
    ['an update that takes all its accounts away', () => wireOf(updateOf(stored, { values: {} }))],
    ['the delete', () => wireOf(deleteOf(stored))],
    ['the delete of another', () => wireOf(deleteOf(newRelease('Postgres', 'gone', { users })))],
    [
      'a create in a namespace that is not there',
      () => {
        const release = newRelease('Postgres', 'elsewhere', { users })
        const metadata = { ...release.metadata, namespace: 'tenant-nobody' }
        return wireOf(createOf({ ...release, metadata }, { namespace: 'tenant-nobody' }))
      },
    ],
  ])('changes nothing: %s', async (_, review) => {
    await both(review())
    expect(await accountSecrets()).toEqual(before)
  })

  test('makes seeds at most, of which nothing is left when a sweep has looked', async () => {
    const usersOf = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`u${index}`, {}]))
    const madeUp = async () =>
      (await accountSecrets()).filter(({ metadata }) => /^postgres-made-up\./.test(metadata.name))
    // Four of the 256 accounts that a release may have are the platform’s.
    await both(wireOf(createOf(newRelease('Postgres', 'made-up', { users: usersOf(253) }))))
    expect(await madeUp()).toEqual([])
    await both(wireOf(createOf(newRelease('Postgres', 'made-up', { users: usersOf(252) }))))
    const made = await madeUp()
    expect(made).toHaveLength(252)
    for (const { metadata } of made) expect(metadata.annotations[ORIGIN]).toBe('NotIssued')
    expect(await sweepIn(GRACE_MS - 60_000)).toMatchObject({ orphansDeleted: 0, deleted: 0, failures: 0 })
    expect(await sweepIn(GRACE_MS + 1000)).toMatchObject({ orphansDeleted: 252, failures: 0 })
  })
})

describe(`of ${INPUTS} at random`, () => {
  const seed = Number(process.env.MINTONCE_FUZZ_SEED ?? Date.now() % 2 ** 32)
  const at = `MINTONCE_FUZZ_SEED=${seed}`
  beforeEach(async () => {
    before = await accountSecrets()
  })

  const nothingIsSaid = (secrets: readonly string[]) => {
    const logged = webhooked.output() + webhooked.backend.logged()
    expect(logged.includes('"event":"crashed"'), at).toBe(false)
    for (const secret of secrets) expect(logged.includes(secret), at).toBe(false)
  }

  test('reviews none is a 500 or an echo, and what was there is as it was', async () => {
    const random = seeded(seed)
    const values = { users: { web: { password: PASSWORD }, 'a/b~c': {}, report: null } }
    const valid = [
      wireOf(createOf(newRelease('Postgres', 'fuzzed', values))),
      wireOf(createOf(newRelease('ClickHouse', 'fuzzed', values))),
      wireOf(createOf(newRelease('Redis', 'fuzzed', { authEnabled: true }))),
      wireOf(updateOf(stored, { values: { users: { web: {}, report: {} } } })),
      wireOf(updateOf(stored, { suspend: true })),
      wireOf(deleteOf(stored)),
    ]
    const codes = new Map<number, number>()
    for (let input = 0; input < INPUTS; input += 1) {
      const body = fuzzedReview(random, valid)
      const { status, text } = await ask(pickFrom(random, ['/admission/validate', '/admission/mutate']), body)
      codes.set(status, (codes.get(status) ?? 0) + 1)
      expect(text.includes(PASSWORD), `${at}: ${body}`).toBe(false)
    }
    expect([...codes.keys()].toSorted(), at).toEqual([200, 400])
    const after = await accountSecrets()
    const held = ({ metadata, data }: Anything) => [metadata.name, metadata.uid, data]
    for (const secret of before) expect(after.map(held)).toContainEqual(held(secret))
    const names = new Set(before.map(({ metadata }) => metadata.name))
    for (const { metadata } of after.filter((each) => !names.has(each.metadata.name))) {
      expect(metadata.annotations[ORIGIN]).toBe('NotIssued')
    }
    nothingIsSaid([PASSWORD])
  })

  test('CloudEvents and Flux events none is a 500 or an echo, and there is no write', async () => {
    // What is to be done for the release is done: the account whose time is over has gone, and all that was made up.
    for (const graces of [3, 5]) await sweepIn(graces * GRACE_MS)
    before = await accountSecrets()
    expect(before).toHaveLength(1)
    const random = seeded(seed)
    const secret = `secret-${randomBytes(12).toString('hex')}`
    const codes = new Map<number, number>()
    for (let input = 0; input < INPUTS; input += 1) {
      const { path, headers, body } = fuzzedHint(random, {
        eventsKey: EVENTS_KEY,
        fluxKey: FLUX_KEY,
        secret,
      })
      const answer = await webhooked.backend.call(path, { method: 'POST', headers, body })
      const text = await answer.text()
      codes.set(answer.status, (codes.get(answer.status) ?? 0) + 1)
      for (const each of [secret, EVENTS_KEY, FLUX_KEY]) expect(text.includes(each), at).toBe(false)
    }
    expect(
      [...codes.keys()].filter((code) => code >= 500),
      at,
    ).toEqual([])
    expect(codes.get(204) ?? 0, at).toBeGreaterThan(30)
    expect(await accountSecrets()).toEqual(before)
    nothingIsSaid([secret, EVENTS_KEY, FLUX_KEY])
  })
})
