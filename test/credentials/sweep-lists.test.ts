import { beforeEach, describe, expect, test } from 'vitest'
import { toTimestamp } from '../../src/core/text.ts'
import { listAccountSecrets } from '../../src/credentials/listed.ts'
import { orphansIn } from '../../src/credentials/orphans.ts'
import { sweep } from '../../src/credentials/sweep.ts'
import type { Page } from '../../src/k8s/kube.ts'
import { listAll } from '../../src/k8s/list-all.ts'
import type { StoredSecret } from '../../src/k8s/objects.ts'
import type { Anything } from '../contract/kube.ts'
import { accountSecret } from '../helpers/orders.ts'
import { BY, GRACE_MS, type SyncCluster, syncCluster, TENANT } from '../helpers/sync-cluster.ts'

const RELEASES = 1000
const USERS = ['a', 'b', 'c', 'd', 'e']

/** What the calls asked for, without what changes from one to the next. */
const asked = (cluster: SyncCluster, from = 0): readonly string[] =>
  cluster.way
    .calls()
    .slice(from)
    .map(({ method, path }) => {
      const { pathname, searchParams } = new URL(path, 'https://api')
      const isNext = searchParams.has('continue') ? ' next' : ''
      return `${method} ${pathname} ${searchParams.get('labelSelector') ?? ''}${isNext}`
    })

const kindOf = (kind: string) =>
  `GET /apis/helm.toolkit.fluxcd.io/v2/helmreleases apps.cozystack.io/application.group=apps.cozystack.io,apps.cozystack.io/application.kind=${kind}`
const DEFINITIONS = 'GET /apis/cozystack.io/v1alpha1/applicationdefinitions '
const SECRETS = 'GET /api/v1/secrets credentials.cozystack.io/account=true'

/** A release with accounts like those of the model. */
async function copyOf(cluster: SyncCluster, secrets: readonly Anything[], name: string): Promise<void> {
  await cluster.order(name, USERS)
  const { uid } = (await cluster.release(name)).metadata
  for (const { metadata, ...secret } of secrets) {
    const [owner] = metadata.ownerReferences
    await cluster.admin.create(`/api/v1/namespaces/${TENANT}/secrets`, {
      ...secret,
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: metadata.name.replace('-model.', `-${name}.`),
        labels: metadata.labels,
        annotations: { ...metadata.annotations, 'credentials.cozystack.io/release-uid': uid },
        ownerReferences: [{ ...owner, name: `postgres-${name}`, uid }],
      },
    })
  }
}

describe('a thousand releases with five accounts each', () => {
  let cluster: SyncCluster
  beforeEach(async () => {
    cluster = await syncCluster()
    await cluster.admin.create('/api/v1/namespaces', { kind: 'Namespace', metadata: { name: 'model' } })
    await cluster.order('model', USERS, { namespace: 'model' })
    expect(await sweep(cluster.services, { by: BY })).toMatchObject({ value: { created: USERS.length } })
    const { items } = await cluster.admin.get('/api/v1/namespaces/model/secrets')
    for (let each = 1; each < RELEASES; each += 1) await copyOf(cluster, items, `r${each}`)
  }, 60_000)

  test('cost sixteen calls and no write when there is nothing to do', { timeout: 120_000 }, async () => {
    const before = cluster.way.calls().length
    const report = { releases: RELEASES, synced: 0, created: 0, adopted: 0, marked: 0, deleted: 0 }
    expect(await sweep(cluster.services, { by: BY })).toMatchObject({ value: { ...report, failures: 0 } })
    expect(asked(cluster, before)).toEqual([
      DEFINITIONS,
      SECRETS,
      ...Array(9).fill(`${SECRETS} next`),
      kindOf('ClickHouse'),
      kindOf('MariaDB'),
      kindOf('Postgres'),
      `${kindOf('Postgres')} next`,
      kindOf('Redis'),
    ])
  })
})

test('the next page of a list is asked for before this one is looked at, and the one after it is not', async () => {
  const done: string[] = []
  const list = async ({ continue: next = '0' }: { readonly continue?: string }) => {
    done.push(`page ${next}`)
    const page = { items: [Number(next)], resourceVersion: '1' }
    return { ok: true, value: next === '3' ? page : { ...page, continue: String(Number(next) + 1) } } as const
  }
  const keep = async (item: number) => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    done.push(`item ${item}`)
    return item
  }
  expect(await listAll(list, {}, keep)).toEqual({ ok: true, value: [0, 1, 2, 3] })
  const expected = ['page 0', 'page 1', 'item 0', 'page 2', 'item 1', 'page 3', 'item 2', 'item 3']
  expect(done).toEqual(expected)
})

test('a page that is asked for ahead and fails is told when its turn comes', async () => {
  let pages = 0
  const list = async (): Promise<{ ok: true; value: Page<number> }> => {
    pages += 1
    if (pages > 1) throw new Error('gone')
    return { ok: true, value: { items: [1], resourceVersion: '1', continue: 'more' } }
  }
  const slow = async (item: number) => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    return item
  }
  await expect(listAll(list, {}, slow)).rejects.toThrow('gone')
})

describe('a list that expires under way', () => {
  const pages: readonly Page<number>[] = [
    { items: [1, 2], resourceVersion: '1', continue: 'second' },
    { items: [3], resourceVersion: '1' },
  ]
  /** Answers 410 to this many second pages. */
  const expiring = (times: number) => {
    const given: (string | undefined)[] = []
    let left = times
    const list = async ({ continue: next }: { readonly continue?: string }) => {
      given.push(next)
      if (next === undefined) return { ok: true, value: pages[0] as Page<number> } as const
      left -= 1
      return left >= 0
        ? ({ ok: false, failure: { reason: 'kube_expired' } } as const)
        : ({ ok: true, value: pages[1] as Page<number> } as const)
    }
    return { list, given }
  }
  const itself = (item: number) => item

  test('is begun again: nothing is in it twice', async () => {
    const { list, given } = expiring(2)
    expect(await listAll(list, {}, itself)).toEqual({ ok: true, value: [1, 2, 3] })
    expect(given).toEqual([undefined, 'second', undefined, 'second', undefined, 'second'])
  })

  test('fails when it expires for the third time', async () => {
    expect(await listAll(expiring(3).list, {}, itself)).toEqual({
      ok: false,
      failure: { reason: 'kube_expired' },
    })
  })

  test('of a server whose pages never end fails', async () => {
    const page = { ok: true, value: { items: [1], resourceVersion: '1', continue: 'more' } } as const
    expect(await listAll(async () => page, {}, itself)).toMatchObject({
      failure: { reason: 'kube_error' },
    })
  })

  test('in a sweep: no write, and no release is taken for gone', { timeout: 60_000 }, async () => {
    const cluster = await syncCluster()
    for (let each = 0; each < 501; each += 1) await cluster.order(`r${each}`, ['web'])
    await sweep(cluster.services, { by: BY })
    cluster.pass(GRACE_MS)
    // Between the first page and the second, of Secrets and of releases.
    const expired = new Set<string>()
    const { kube } = cluster.services
    const expireOnce = (what: string, next: string | undefined) => {
      if (next !== undefined && !expired.has(what)) cluster.sandbox.expireContinueTokens()
      if (next !== undefined) expired.add(what)
    }
    const before = cluster.way.calls().length
    const services = {
      ...cluster.services,
      kube: {
        ...kube,
        listSecrets: async (...given: Parameters<typeof kube.listSecrets>) => {
          expireOnce('secrets', given[1].continue)
          return kube.listSecrets(...given)
        },
        listHelmReleases: async (...given: Parameters<typeof kube.listHelmReleases>) => {
          expireOnce('releases', given[1].continue)
          return kube.listHelmReleases(...given)
        },
      },
    }
    const swept = await sweep(services, { by: BY })
    expect(swept).toMatchObject({ value: { releases: 501, synced: 0, orphansDeleted: 0, failures: 0 } })
    const again = (what: string) => [what, `${what} next`, what, `${what} next`]
    const calls = asked(cluster, before)
    expect(calls.filter((call) => call.startsWith(SECRETS))).toEqual(again(SECRETS))
    expect(calls.filter((call) => call.includes('kind=Postgres'))).toEqual(again(kindOf('Postgres')))
    expect(calls.filter((call) => !call.startsWith('GET'))).toEqual([])
  })
})

describe('what a sweep keeps of a Secret', () => {
  const RECORDED = '2026-10-01T00:00:00Z'
  const created = Date.parse(RECORDED)
  /** A seed without an owner, whose writer wrote it last at these times. */
  const seed = (times: readonly unknown[]): StoredSecret => {
    const secret = accountSecret({ metadata: { creationTimestamp: RECORDED, ownerReferences: [] } })
    const managedFields = times.map((time) => ({
      manager: 'mintonce',
      operation: 'Update',
      time,
      fieldsV1: {},
    }))
    return { ...secret, metadata: { ...secret.metadata, ...{ managedFields } } }
  }
  const listed = async (secret: StoredSecret) => {
    const page = { ok: true, value: { items: [secret], resourceVersion: '1' } } as const
    const answer = await listAccountSecrets({ listSecrets: async () => page }, {})
    return answer.ok ? answer.value : new Map()
  }
  const orphansAt = async (secret: StoredSecret, now: number) =>
    orphansIn(await listed(secret), {
      living: new Set(),
      isServed: () => true,
      now,
      graceMs: GRACE_MS,
    }).length

  test('has no managed fields', async () => {
    const [kept] = (await listed(seed([RECORDED]))).get(`${TENANT}/postgres-orders`) ?? []
    expect(kept?.secret.metadata).not.toHaveProperty('managedFields')
    expect(kept?.secret.data).toEqual(seed([]).data)
  })

  test.each([
    ['it was created', [RECORDED], created],
    [
      'it was written last, as a create takes an old seed over',
      [RECORDED, toTimestamp(created + 9000)],
      created + 9000,
    ],
    ['it was created, when a time is none', ['yesterday', 7], created],
  ])('is an orphan for as long as since %s', async (_, times, touched) => {
    expect(await orphansAt(seed(times), touched + GRACE_MS - 1)).toBe(0)
    expect(await orphansAt(seed(times), touched + GRACE_MS)).toBe(1)
  })

  test('is no orphan when nothing says how old it is', async () => {
    const { metadata, ...secret } = seed([RECORDED])
    const { creationTimestamp: _, ...rest } = metadata
    expect(await orphansAt({ ...secret, metadata: rest }, created + 9 * GRACE_MS)).toBe(0)
  })
})
