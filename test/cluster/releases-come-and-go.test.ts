import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sweep } from '../../src/credentials/sweep.ts'
import { type Anything, decode } from '../contract/kube.ts'
import { createTenant, releaseOf, type Tenant } from '../contract/tenant.ts'
import { accepts } from '../contract/verify.ts'
import { BY, syncServicesOver } from '../helpers/sync-cluster.ts'
import { eventually } from './eventually.ts'
import {
  type Answer,
  accountSecretsIn,
  collectorHasPassed,
  releasesIn,
  secretsIn,
  startWebhooked,
  type Webhooked,
} from './webhooked.ts'
import { startOtherWebhook } from './webhooks.ts'

/** Releases that are created, deleted and created again, while webhooks, sweeps and the garbage collector all look on. */

const TIMES = 50
const RELEASE_UID = 'credentials.cozystack.io/release-uid'
const FINALIZER = 'finalizers.fluxcd.io'

let webhooked: Webhooked
let tenant: Tenant

beforeAll(async () => {
  webhooked = await startWebhooked()
  tenant = await createTenant(webhooked.backend)
})
afterAll(() => webhooked?.stop())

const release = (name: string, metadata: object = {}) =>
  releaseOf('Postgres', name, { users: { web: {}, report: {} } }, { metadata })
const create = (name: string, metadata?: object): Promise<Answer> =>
  webhooked.send('POST', releasesIn(tenant.namespace), release(name, metadata))
const at = (name: string) => `${releasesIn(tenant.namespace)}/postgres-${name}`
const touch = (name: string) =>
  webhooked.send('PATCH', at(name), { metadata: { annotations: { 'example.org/touched': 'yes' } } })
const accountSecrets = () => accountSecretsIn(webhooked, tenant.namespace)
const secretsOf = async (name: string): Promise<readonly Anything[]> =>
  (await accountSecrets()).filter(({ metadata }) => metadata.name.startsWith(`postgres-${name}.`))
const numbered = (name: string) => Array.from({ length: TIMES }, (_, index) => `${name}${index}`)

async function sweepWith(graceMs: number) {
  const { services } = syncServicesOver(webhooked.api.asFunction, {
    now: () => Date.now(),
    randomBytes: (length) => new Uint8Array(randomBytes(length)),
    graceMs,
  })
  const swept = await sweep(services, { by: BY })
  if (!swept.ok) throw new Error(swept.failure.reason)
  return swept.value
}

/** Sweeps one after the other while something goes on; in an installation second thoughts have ten minutes. */
async function sweepingAllTheWhile(work: () => Promise<void>): Promise<void> {
  let isOver = false
  const sweeps = async () => {
    for (let rounds = 0; !isOver || rounds === 0; rounds += 1) await sweepWith(600_000)
  }
  const end = work().finally(() => {
    isOver = true
  })
  await Promise.all([end, sweeps()])
}

/** As a client that does not wait: again until it is no longer told that the Secrets of the old one are in the way. */
async function createAgain(name: string, metadata?: object): Promise<Answer> {
  let answer = await create(name, metadata)
  await eventually(`postgres-${name} can be created again`, async () => {
    if (answer.status !== 201) {
      expect(answer).toMatchObject({ status: 403, body: { reason: 'Forbidden' } })
      expect(answer.body.message).toMatch(/it is of an earlier application|it is being deleted/)
      answer = await create(name, metadata)
    }
    return answer.status === 201
  })
  return answer
}

interface Known {
  readonly secrets: readonly Anything[]
  readonly password: string
}

/** Both Secrets are the release's, and one of them has a password that somebody holds. */
async function established(name: string): Promise<Known> {
  expect((await touch(name)).status).toBe(200)
  await eventually('each is adopted', async () =>
    (await secretsOf(name)).every(({ metadata }) => metadata.ownerReferences?.length === 1),
  )
  const { status, body } = await tenant.mint(`postgres-${name}.web`)
  expect(status).toBe(201)
  return { secrets: await secretsOf(name), password: body.status.password }
}

const passwordIn = (secrets: readonly Anything[], user: string): string =>
  decode(secrets.find(({ metadata }) => metadata.name.endsWith(`.${user}.account`))?.data.password)

/** They are there, of this release, and nothing of them is what was there before. */
function expectNew(after: readonly Anything[], before: Known, uid: string): void {
  expect(after).toHaveLength(2)
  for (const { metadata, data } of after) {
    expect(metadata.annotations[RELEASE_UID]).toBe(uid)
    expect(before.secrets.map((old) => old.metadata.uid)).not.toContain(metadata.uid)
    expect(before.secrets.map((old) => old.data.password)).not.toContain(data.password)
    for (const owner of metadata.ownerReferences ?? []) expect(owner.uid).toBe(uid)
  }
  expect(accepts(passwordIn(before.secrets, 'web'), before.password)).toBe(true)
  expect(accepts(passwordIn(after, 'web'), before.password)).toBe(false)
}

describe(`a release that is deleted and at once created again under its name, ${TIMES} times`, () => {
  async function again(name: string, metadata: object, remove: () => Promise<void>): Promise<void> {
    expect((await create(name, metadata)).status).toBe(201)
    for (let times = 0; times < TIMES; times += 1) {
      const before = await established(name)
      await remove()
      const { body } = await createAgain(name, metadata)
      expectNew(await secretsOf(name), before, body.metadata.uid)
    }
    const last = await established(name)
    await collectorHasPassed(webhooked, tenant.namespace)
    expect(await secretsOf(name)).toEqual(last.secrets)
  }

  test('never has a Secret of the old one, while sweeps go on', async () => {
    await sweepingAllTheWhile(() =>
      again('again', {}, async () => {
        expect((await webhooked.send('DELETE', at('again'))).status).toBe(200)
      }),
    )
  })

  test('nor when Flux holds it until it is uninstalled, and clients try all the while', async () => {
    const metadata = { finalizers: [FINALIZER] }
    await again('held', metadata, async () => {
      expect((await webhooked.send('DELETE', at('held'))).status).toBe(200)
      const tries = await Promise.all([1, 2, 3].map(() => create('held', metadata)))
      expect(tries.map(({ status }) => status)).toEqual([409, 409, 409])
      await webhooked.send('PATCH', at('held'), { metadata: { finalizers: null } })
    })
  })

  test('nor when several clients create it while it is being deleted', async () => {
    let current = (await create('race')).body
    for (let times = 0; times < TIMES; times += 1) {
      const before = await established('race')
      const old = current.metadata.uid
      const clients = [1, 2, 3].map(() => untilNew('race', old))
      const [, ...created] = await Promise.all([webhooked.send('DELETE', at('race')), ...clients])
      expect(created.filter(({ status }) => status === 201)).toHaveLength(1)
      current = (await webhooked.send('GET', at('race'))).body
      // One whose review came before the delete has no seeds yet: nothing is written beside a release that is there.
      await eventually('a sweep has seen to it', async () => {
        await sweepWith(600_000)
        const marks = (await secretsOf('race')).map(({ metadata }) => metadata.annotations[RELEASE_UID])
        return marks.length === 2 && marks.every((uid) => uid === current.metadata.uid)
      })
      expectNew(await secretsOf('race'), before, current.metadata.uid)
    }
  })

  /** Tries until somebody has created the new one. */
  async function untilNew(name: string, old: string): Promise<Answer> {
    for (;;) {
      const answer = await create(name)
      if (answer.status === 201) return answer
      const { status, body } = await webhooked.send('GET', at(name))
      if (status === 200 && body.metadata.uid !== old) return answer
    }
  }
})

test(`${TIMES} creates that another webhook refuses once they are seeded leave nothing after a sweep`, async () => {
  expect((await create('living')).status).toBe(201)
  const living = await secretsOf('living')
  const before = (await accountSecrets()).length
  const other = await startOtherWebhook(webhooked.plane)
  try {
    other.refuse(true)
    await eventually('the other webhook is asked', async () => {
      const { status } = await webhooked.send(
        'POST',
        releasesIn(tenant.namespace),
        releaseOf('Postgres', 'none', {}),
      )
      return status === 400
    })
    for (const name of numbered('failed')) expect((await create(name)).status).toBe(400)
  } finally {
    await other.stop()
  }
  expect(await accountSecrets()).toHaveLength(before + 2 * TIMES)
  // A create that is under way has its seeds already: they have as long as anything else.
  expect(await sweepWith(600_000)).toMatchObject({ orphansDeleted: 0, failures: 0 })
  expect(await secretsOf('failed0')).toHaveLength(2)
  await new Promise((resolve) => setTimeout(resolve, 2000))
  expect(await sweepWith(1000)).toMatchObject({ orphansDeleted: 2 * TIMES, failures: 0 })
  const left = await accountSecrets()
  expect(left.filter(({ metadata }) => metadata.name.startsWith('postgres-failed'))).toEqual([])
  expect(left).toHaveLength(before)
  const values = (secrets: readonly Anything[]) =>
    secrets.map(({ metadata, data }) => [metadata.uid, data.password])
  expect(values(await secretsOf('living'))).toEqual(values(living))
})

describe('while nobody answers', () => {
  const KINDS = ['Postgres', 'MariaDB', 'ClickHouse', 'Redis', 'Bucket'] as const
  const pathOf = (name: string) => `${releasesIn(tenant.namespace)}/${name}`
  const nameOf = (kind: string) => (kind === 'Bucket' ? 'down' : `${kind.toLowerCase()}-down`)

  beforeAll(async () => {
    for (const kind of KINDS) {
      await tenant.release(kind, 'down', { users: { web: {} } }, { metadata: { finalizers: [FINALIZER] } })
    }
    const labels = {
      'apps.cozystack.io/application.group': undefined,
      'apps.cozystack.io/application.kind': undefined,
      'apps.cozystack.io/application.name': undefined,
    }
    await tenant.release('System', 'down-system', {}, { labels, metadata: { finalizers: [FINALIZER] } })
    await webhooked.leave()
  })
  afterAll(() => webhooked.comeBack())

  test.each([...KINDS.map(nameOf), 'down-system'])(
    'metadata, suspension, status, the delete and the finalizer of %s go on',
    async (name) => {
      const path = pathOf(name)
      const patch = async (change: object) => (await webhooked.send('PATCH', path, change)).status
      expect(await patch({ metadata: { labels: { 'example.org/team': 'data' } } })).toBe(200)
      expect(await patch({ metadata: { annotations: { 'reconcile.fluxcd.io/requestedAt': 'now' } } })).toBe(
        200,
      )
      expect(await patch({ metadata: { finalizers: [FINALIZER, 'example.org/more'] } })).toBe(200)
      expect(await patch({ spec: { suspend: true } })).toBe(200)
      expect(await patch({ spec: { interval: '10m' } })).toBe(200)
      const status = await webhooked.send('PATCH', `${path}/status`, { status: { observedGeneration: 1 } })
      expect(status.status).toBe(200)
      // A suspended one as well: nobody is there to object.
      expect((await webhooked.send('DELETE', path)).body.metadata.deletionTimestamp).toBeDefined()
      expect(await patch({ metadata: { annotations: { 'example.org/leaving': 'yes' } } })).toBe(200)
      expect(await patch({ metadata: { finalizers: null } })).toBe(200)
      expect((await webhooked.send('GET', path)).status).toBe(404)
    },
  )

  test.each([
    ['that are no applications', { 'apps.cozystack.io/application.kind': undefined }],
    ['that are applications of other kinds', { 'apps.cozystack.io/application.kind': 'Bucket' }],
  ])('HelmReleases %s are created, changed and deleted', async (_, labels) => {
    const path = pathOf('free')
    const object = releaseOf('System', 'free', { users: { web: {} } }, { labels })
    expect((await webhooked.send('POST', releasesIn(tenant.namespace), object)).status).toBe(201)
    const values = { users: { web: { password: 'hunter2' }, more: {} } }
    const changed = await webhooked.send('PATCH', path, { spec: { values } })
    expect(changed.body.spec.values).toEqual(values)
    expect((await webhooked.send('DELETE', path)).status).toBe(200)
    expect((await webhooked.send('GET', `${secretsIn(tenant.namespace)}/free.web.account`)).status).toBe(404)
  })
})
