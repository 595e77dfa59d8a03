import { beforeEach, describe, expect, test } from 'vitest'
import { type SweepReport, sweep } from '../../src/credentials/sweep.ts'
import type { Anything } from '../contract/kube.ts'
import {
  BY,
  GRACE_MS,
  NOTHING_SWEPT,
  type SyncCluster,
  syncCluster,
  TENANT,
} from '../helpers/sync-cluster.ts'

const SECRETS = `/api/v1/namespaces/${TENANT}/secrets`
const OWNER = {
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  name: 'postgres-gone',
  uid: 'another',
}

let cluster: SyncCluster
beforeEach(async () => {
  cluster = await syncCluster()
})

const run = () => sweep(cluster.services, { by: BY })
const writes = () => cluster.way.calls().filter(({ method }) => method !== 'GET')
const secretNames = async (): Promise<readonly string[]> =>
  (await cluster.admin.get(SECRETS)).items.map((secret: Anything) => secret.metadata.name)

/** What a create that failed has left: a seed of a release that was never stored. */
async function leaveSeed(release: string, change: (secret: Anything) => void = () => {}): Promise<void> {
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/basic-auth',
    metadata: {
      name: `${release}.web.account`,
      labels: {
        'credentials.cozystack.io/account': 'true',
        'apps.cozystack.io/application.group': 'apps.cozystack.io',
        'apps.cozystack.io/application.kind': 'Postgres',
        'apps.cozystack.io/application.name': release.replace('postgres-', ''),
      },
      annotations: {
        'credentials.cozystack.io/origin': 'NotIssued',
        'credentials.cozystack.io/history': '[]',
        'credentials.cozystack.io/release-uid': 'b5b2f5ab-0000-4000-8000-000000000000',
      },
    },
    data: { username: btoa('web'), password: btoa('whatever') },
  }
  change(secret)
  await cluster.admin.create(SECRETS, secret)
}

const done = (report: Partial<SweepReport>) => ({ ok: true, value: { ...NOTHING_SWEPT, ...report } })

describe('releases', () => {
  test('of all kinds and namespaces are brought in step, and then left alone', async () => {
    await cluster.admin.create('/api/v1/namespaces', { kind: 'Namespace', metadata: { name: 'tenant-b' } })
    await cluster.order('orders', ['web', 'report'])
    await cluster.order('shop', ['app'], { kind: 'MariaDB', namespace: 'tenant-b' })
    expect(await run()).toEqual(done({ releases: 2, synced: 2, created: 3 }))
    expect(await secretNames()).toEqual(['postgres-orders.report.account', 'postgres-orders.web.account'])
    const before = writes().length
    expect(await run()).toEqual(done({ releases: 2 }))
    expect(writes()).toHaveLength(before)
  })

  test('an account that is undeclared is marked, and after the grace deleted', async () => {
    await cluster.order('orders', ['web', 'report'])
    await run()
    await cluster.land('orders', ['web'])
    expect(await run()).toEqual(done({ releases: 1, synced: 1, marked: 1 }))
    cluster.pass(GRACE_MS - 1000)
    expect(await run()).toEqual(done({ releases: 1 }))
    cluster.pass(1000)
    expect(await run()).toEqual(done({ releases: 1, synced: 1, deleted: 1 }))
    expect(await secretNames()).toEqual(['postgres-orders.web.account'])
  })

  test('one that fails is counted and named, and the others go on', async () => {
    await cluster.order('orders', ['web'])
    await cluster.order('second', ['web'])
    cluster.way.add({
      when: ({ method, body }) => method === 'POST' && body.includes('postgres-orders.web'),
      fault: { answer: 500, body: 'etcd is away' },
    })
    expect(await run()).toEqual(done({ releases: 2, synced: 1, created: 1, failures: 1 }))
    const fields = { namespace: TENANT, release: 'postgres-orders', failure: 'kube_error' }
    expect(cluster.logged).toContainEqual({ event: 'sweep_failed', fields })
    expect(await secretNames()).toEqual(['postgres-second.web.account'])
  })

  test('never more of them at a time than is said', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await cluster.order(name, ['web'])
    let most = 0
    let now = 0
    const { kube } = cluster.services
    const counting: typeof kube.createSecret = async (...given) => {
      now += 1
      most = Math.max(most, now)
      await new Promise((resolve) => setTimeout(resolve, 1))
      now -= 1
      return kube.createSecret(...given)
    }
    const services = { ...cluster.services, kube: { ...kube, createSecret: counting } }
    expect(await sweep(services, { by: BY, concurrency: 2 })).toMatchObject(
      done({ releases: 5, synced: 5, created: 5 }),
    )
    expect(most).toBe(2)
  })

  test('wiring that lacks is an Event, each time', async () => {
    await cluster.order('events', ['etl'], { kind: 'ClickHouse' })
    expect(await run()).toEqual(done({ releases: 1, synced: 1, created: 1, warnings: 1 }))
    expect(await run()).toEqual(done({ releases: 1, synced: 1, warnings: 1 }))
    expect(cluster.events.map(({ reason }) => reason)).toEqual(['ValuesNotWired', 'ValuesNotWired'])
  })

  test('after the caller has gone nothing begins', async () => {
    await cluster.order('orders', ['web'])
    const signal = AbortSignal.abort()
    expect(await sweep(cluster.services, { by: BY, signal })).toMatchObject({ ok: false })
    expect(writes()).toEqual([])
  })
})

describe('nothing is deleted', () => {
  /** A Secret to be marked, one to be deleted, and an orphan. */
  beforeEach(async () => {
    await cluster.order('orders', ['web', 'report'])
    await run()
    await cluster.land('orders', ['web'])
    await run()
    await cluster.order('second', ['web', 'report'])
    await run()
    await cluster.land('second', ['web'])
    await leaveSeed('postgres-gone')
    cluster.pass(GRACE_MS)
  })
  const everything = () => cluster.admin.get(SECRETS).then(({ items }) => items)

  test('unless all is known: otherwise two go here, and one is marked', async () => {
    expect(await run()).toEqual(done({ releases: 2, synced: 2, marked: 1, deleted: 1, orphansDeleted: 1 }))
  })

  test('when the CRD was reverted, and prunes the block', async () => {
    const before = await everything()
    cluster.sandbox.setDefinitionPatched(false)
    expect(await run()).toEqual(done({}))
    expect(await everything()).toEqual(before)
  })

  test('when the definition was deleted', async () => {
    const before = await everything()
    await cluster.admin.remove('/apis/cozystack.io/v1alpha1/applicationdefinitions/postgres')
    expect(await run()).toEqual(done({}))
    expect(await everything()).toEqual(before)
  })

  test('when a second definition has the kind', async () => {
    const before = await everything()
    const path = '/apis/cozystack.io/v1alpha1/applicationdefinitions'
    const { spec } = await cluster.admin.get(`${path}/postgres`)
    await cluster.admin.create(path, {
      apiVersion: 'cozystack.io/v1alpha1',
      kind: 'ApplicationDefinition',
      metadata: { name: 'postgres-second' },
      spec,
    })
    expect(await run()).toEqual(done({ failures: 1 }))
    expect(await everything()).toEqual(before)
    const fields = { kind: 'Postgres', failure: 'definitions_ambiguous' }
    expect(cluster.logged).toContainEqual({ event: 'sweep_skipped', fields })
  })

  test('when the block is wrong, and other kinds are served', async () => {
    const before = await everything()
    await cluster.admin.change('/apis/cozystack.io/v1alpha1/applicationdefinitions/postgres', ({ spec }) => {
      spec.credentials.format.name = 'unheard-of'
    })
    await cluster.order('shop', ['app'], { kind: 'MariaDB' })
    expect(await run()).toEqual(done({ releases: 1, synced: 1, created: 1, failures: 1 }))
    const left = (await everything()).filter(({ metadata }: Anything) =>
      metadata.name.startsWith('postgres-'),
    )
    expect(left).toEqual(before)
  })

  test.each([
    ['a list under the source', ['web']],
    ['a text under the source', 'web'],
  ])('when the source is broken: %s', async (_, users) => {
    const before = await everything()
    for (const name of ['orders', 'second']) {
      await cluster.admin.change(
        `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${TENANT}/helmreleases/postgres-${name}`,
        ({ spec }) => {
          spec.values.users = users
        },
      )
    }
    expect(await run()).toEqual(done({ releases: 2, synced: 2, warnings: 2, orphansDeleted: 1 }))
    const names = ['postgres-gone.web.account']
    expect(await everything()).toEqual(
      before.filter(({ metadata }: Anything) => !names.includes(metadata.name)),
    )
  })

  test.each([
    ['definitions', '/applicationdefinitions'],
    ['releases', '/helmreleases'],
    ['Secrets', '/secrets'],
  ])('when a list of %s fails, or its group is missing', async (_, resource) => {
    const before = await everything()
    for (const answer of [
      { answer: 404, body: '404 page not found\n', headers: { 'Content-Type': 'text/plain' } },
      { answer: 500, body: 'etcd is away' },
      { answer: 403, body: 'no' },
    ]) {
      cluster.way.add({ when: ({ path }) => path.includes(resource), fault: answer, times: 1 })
      expect(await run()).toMatchObject({ ok: false })
    }
    expect(await everything()).toEqual(before)
  })

  test('of what is written meanwhile: a seed that a create has just taken over', async () => {
    const { kube } = cluster.services
    const raced: typeof kube.deleteSecret = async (namespace, name, ...given) => {
      await cluster.admin.change(`/api/v1/namespaces/${namespace}/secrets/${name}`, ({ metadata }) => {
        metadata.annotations['credentials.cozystack.io/release-uid'] = 'about-to-be-stored'
      })
      return kube.deleteSecret(namespace, name, ...given)
    }
    const services = { ...cluster.services, kube: { ...kube, deleteSecret: raced } }
    expect(await sweep(services, { by: BY })).toMatchObject({ value: { orphansDeleted: 0, failures: 0 } })
    expect(await secretNames()).toContain('postgres-gone.web.account')
  })
})

describe('Secrets of releases that are gone', () => {
  test('go when nobody can know the password, after the grace', async () => {
    await leaveSeed('postgres-gone')
    await leaveSeed('postgres-revoked', ({ metadata }) => {
      metadata.annotations['credentials.cozystack.io/origin'] = 'Revoked'
    })
    cluster.pass(GRACE_MS - 1000)
    expect(await run()).toEqual(done({}))
    cluster.pass(1000)
    expect(await run()).toEqual(done({ orphansDeleted: 2 }))
    expect(await secretNames()).toEqual([])
  })

  test('go when another release has the name, and stay when it is that one', async () => {
    await cluster.order('orders', [])
    await leaveSeed('postgres-orders')
    const { metadata } = await cluster.release('orders')
    await leaveSeed('postgres-orders', (secret) => {
      secret.metadata.name = 'postgres-orders.report.account'
      secret.metadata.annotations['credentials.cozystack.io/release-uid'] = metadata.uid
      secret.data.username = btoa('report')
    })
    cluster.pass(GRACE_MS)
    expect(await run()).toMatchObject(done({ releases: 1, orphansDeleted: 1 }))
    expect(await secretNames()).toEqual(['postgres-orders.report.account'])
  })

  test.each(['Minted', 'Migrated'])('stay with an Event when somebody may know it: %s', async (origin) => {
    await leaveSeed('postgres-gone', ({ metadata }) => {
      metadata.annotations['credentials.cozystack.io/origin'] = origin
    })
    cluster.pass(GRACE_MS)
    expect(await run()).toEqual(done({ warnings: 1 }))
    expect(await secretNames()).toEqual(['postgres-gone.web.account'])
    const regarding = {
      apiVersion: 'v1',
      kind: 'Secret',
      namespace: TENANT,
      name: 'postgres-gone.web.account',
    }
    expect(cluster.events).toMatchObject([
      { type: 'Warning', reason: 'AccountSecretOrphaned', isStanding: true, regarding },
    ])
    expect(await cluster.services.kube.createEvent(cluster.events[0] as Anything, 0)).toMatchObject({
      ok: true,
    })
  })

  test.each<[string, (secret: Anything) => void]>([
    [
      'an operator has marked it',
      ({ metadata }) => {
        metadata.annotations['credentials.cozystack.io/adopt'] = 'true'
        delete metadata.annotations['credentials.cozystack.io/release-uid']
      },
    ],
    [
      'an operator has marked it by hand',
      ({ metadata }) => {
        metadata.annotations['credentials.cozystack.io/adopt'] = 'true'
      },
    ],
    [
      'it says nothing of a release',
      ({ metadata }) => {
        delete metadata.annotations['credentials.cozystack.io/release-uid']
      },
    ],
    [
      'it has an owner',
      ({ metadata }) => {
        metadata.ownerReferences = [OWNER]
      },
    ],
    [
      'it is not ours',
      ({ metadata }) => {
        delete metadata.annotations['credentials.cozystack.io/origin']
      },
    ],
    [
      'it has another type',
      (secret) => {
        secret.type = 'Opaque'
      },
    ],
    [
      'its name is none of an account Secret',
      ({ metadata }) => {
        metadata.name = 'postgres-gone'
      },
    ],
    [
      'it is of a kind that is not served',
      ({ metadata }) => {
        metadata.labels['apps.cozystack.io/application.kind'] = 'Bucket'
      },
    ],
    [
      'it is being deleted',
      ({ metadata }) => {
        metadata.finalizers = ['example.org/wait']
      },
    ],
  ])('stay when %s', async (_, change) => {
    await leaveSeed('postgres-gone', change)
    const [name = ''] = await secretNames()
    await cluster.admin.change(`${SECRETS}/${name}`, () => {})
    const { metadata } = await cluster.admin.get(`${SECRETS}/${name}`)
    if (metadata.finalizers !== undefined) await cluster.admin.remove(`${SECRETS}/${name}`)
    cluster.pass(GRACE_MS)
    expect(await run()).toEqual(done({}))
    expect(await secretNames()).toEqual([name])
  })

  test('stay when their release cannot be read', async () => {
    await leaveSeed('postgres-gone')
    cluster.pass(GRACE_MS)
    cluster.way.add({
      when: ({ path }) => path.endsWith('/helmreleases/postgres-gone'),
      fault: { answer: 404, body: '404 page not found\n', headers: { 'Content-Type': 'text/plain' } },
    })
    expect(await run()).toEqual(done({ failures: 1 }))
    expect(await secretNames()).toEqual(['postgres-gone.web.account'])
  })
})
