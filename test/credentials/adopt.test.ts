import { beforeEach, describe, expect, test } from 'vitest'
import { encodeData } from '../../src/core/text.ts'
import { adopt } from '../../src/credentials/adopt.ts'
import { sweep } from '../../src/credentials/sweep.ts'
import { type SyncReport, sync } from '../../src/credentials/sync.ts'
import type { Anything } from '../contract/kube.ts'
import { BY, type SyncCluster, syncCluster, TENANT } from '../helpers/sync-cluster.ts'

const SECRETS = `/api/v1/namespaces/${TENANT}/secrets`
const WEB = `${SECRETS}/postgres-orders.web.account`
const MARK = 'credentials.cozystack.io/adopt'
const RELEASE_UID = 'credentials.cozystack.io/release-uid'

let cluster: SyncCluster
beforeEach(async () => {
  cluster = await syncCluster()
  await cluster.order('orders', ['web', 'report'])
  await cluster.order('second', ['web'])
  await sweep(cluster.services, { by: BY })
})

const run = (target: { readonly namespace?: string; readonly release?: string } = {}, dryRun = false) =>
  adopt(cluster.services.kube, { namespace: TENANT, release: undefined, ...target }, { dryRun })
const results = async (...given: Parameters<typeof run>) => {
  const adopted = await run(...given)
  if (!adopted.ok) throw new Error(adopted.failure.reason)
  return adopted.value.map(({ secret, result }) => `${secret}: ${result}`)
}
const everything = (): Promise<readonly Anything[]> =>
  cluster.admin.get(SECRETS).then(({ items }: { readonly items: readonly Anything[] }) => items)
const writes = () => cluster.way.calls().filter(({ method }) => method !== 'GET')

describe('adopt', () => {
  test('takes away what names the release, and leaves value, record and all the rest', async () => {
    await cluster.admin.change(WEB, (secret) => {
      secret.metadata.ownerReferences.push({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: 'x',
        uid: 'of-another',
      })
      secret.metadata.annotations['example.org/note'] = 'kept'
      secret.data.more = encodeData('kept')
    })
    const before = await cluster.admin.get(WEB)
    expect(await results()).toEqual([
      'postgres-orders.report.account: marked',
      'postgres-orders.web.account: marked',
      'postgres-second.web.account: marked',
    ])
    const { [RELEASE_UID]: uid, ...annotations } = before.metadata.annotations
    expect(uid).toBe((await cluster.release('orders')).metadata.uid)
    expect(await cluster.admin.get(WEB)).toEqual({
      ...before,
      metadata: {
        ...before.metadata,
        resourceVersion: expect.stringMatching(/^\d+$/),
        annotations: { ...annotations, [MARK]: 'true' },
        ownerReferences: [before.metadata.ownerReferences[1]],
      },
    })
  })

  test('a second time changes nothing', async () => {
    await run()
    const before = writes().length
    expect(await results()).toEqual([
      'postgres-orders.report.account: unchanged',
      'postgres-orders.web.account: unchanged',
      'postgres-second.web.account: unchanged',
    ])
    expect(writes()).toHaveLength(before)
  })

  test('of one release leaves the others alone', async () => {
    expect(await results({ release: 'postgres-second' })).toEqual(['postgres-second.web.account: marked'])
    // A release whose name another begins with.
    expect(await results({ release: 'postgres' })).toEqual([])
  })

  test('of all namespaces, and of none that is not asked for', async () => {
    await cluster.admin.create('/api/v1/namespaces', { kind: 'Namespace', metadata: { name: 'tenant-b' } })
    await cluster.order('orders', ['web'], { namespace: 'tenant-b' })
    await sweep(cluster.services, { by: BY })
    const all = await adopt(
      cluster.services.kube,
      { namespace: undefined, release: 'postgres-orders' },
      { dryRun: true },
    )
    expect(all).toMatchObject({
      value: [{ namespace: TENANT }, { namespace: TENANT }, { namespace: 'tenant-b' }],
    })
    await run({ namespace: 'tenant-b' })
    const { metadata } = await cluster.admin.get(WEB)
    expect(metadata.annotations).not.toHaveProperty([MARK])
  })

  test('as a dry run is checked by the API server and stores nothing', async () => {
    const before = await everything()
    expect(await results({}, true)).toContain('postgres-orders.web.account: marked')
    expect(await everything()).toEqual(before)
    const puts = cluster.way.calls().filter(({ method }) => method === 'PUT')
    expect(puts.map(({ path }) => path)).toEqual(Array(3).fill(expect.stringContaining('?dryRun=All&')))
  })

  test.each<[string, (secret: Anything) => void]>([
    [
      'was not written by mintonce',
      ({ metadata }) => delete metadata.annotations['credentials.cozystack.io/origin'],
    ],
    ['has no label of ours', ({ metadata }) => delete metadata.labels['credentials.cozystack.io/account']],
    [
      'is of another account than its name says',
      ({ data }) => Object.assign(data, { username: encodeData('other') }),
    ],
  ])('a Secret that %s is left alone', async (_, change) => {
    await cluster.admin.change(WEB, (secret) => void change(secret))
    const before = await cluster.admin.get(WEB)
    expect(await results()).not.toContainEqual(expect.stringContaining('postgres-orders.web'))
    expect(await cluster.admin.get(WEB)).toEqual(before)
  })

  test('what somebody writes at the same time is marked as they wrote it', async () => {
    const { kube } = cluster.services
    let isFirst = true
    const minted = { password: encodeData('minted') }
    const updateSecret: typeof kube.updateSecret = async (...given) => {
      if (isFirst) await cluster.admin.change(WEB, ({ data }) => void Object.assign(data, minted))
      isFirst = false
      return kube.updateSecret(...given)
    }
    const adopted = await adopt(
      { ...kube, updateSecret },
      { namespace: TENANT, release: 'postgres-orders' },
      { dryRun: false },
    )
    expect(adopted).toMatchObject({ value: [{ result: 'marked' }, { result: 'marked' }] })
    const { data, metadata } = await cluster.admin.get(WEB)
    expect(data.password).toBe(encodeData('minted'))
    expect(metadata.annotations).toHaveProperty([MARK], 'true')
  })

  test('what is deleted under way is gone, and what is refused has failed', async () => {
    const { kube } = cluster.services
    const updateSecret: typeof kube.updateSecret = async (secret, ...given) => {
      if (secret.metadata.name === 'postgres-orders.web.account') await cluster.admin.remove(WEB)
      return kube.updateSecret(secret, ...given)
    }
    cluster.way.add({
      when: ({ method, path }) => method === 'PUT' && path.includes('report'),
      fault: { answer: 403, body: 'no' },
    })
    const adopted = await adopt(
      { ...kube, updateSecret },
      { namespace: TENANT, release: 'postgres-orders' },
      { dryRun: false },
    )
    expect(adopted).toMatchObject({
      value: [{ result: 'failed', failure: 'kube_forbidden' }, { result: 'gone' }],
    })
  })

  test('a list that fails marks nothing', async () => {
    cluster.way.add({ when: ({ path }) => path.includes('/secrets?'), fault: { answer: 500, body: '' } })
    expect(await run()).toMatchObject({ ok: false, failure: { reason: 'kube_error' } })
  })
})

describe('a Secret that is marked', () => {
  /** The release, once more under its name: with another UID. */
  const recreate = async () => {
    await cluster.admin.remove(
      `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${TENANT}/helmreleases/postgres-orders`,
    )
    cluster.sandbox.collect()
    await cluster.order('orders', ['web', 'report'])
  }
  const synced = async (): Promise<Partial<SyncReport>> => {
    const outcome = await sync(
      cluster.services,
      { namespace: TENANT, release: 'postgres-orders' },
      { by: BY },
    )
    if (!outcome.ok || outcome.value.is !== 'synced') throw new Error('not synced')
    return outcome.value.report
  }

  test.each(['NotIssued', 'Minted', 'Migrated', 'Revoked'])(
    'is taken over by the next release of its name, its value and record unchanged: %s',
    async (origin) => {
      await cluster.admin.change(WEB, ({ metadata }) => {
        metadata.annotations['credentials.cozystack.io/origin'] = origin
      })
      const before = await cluster.admin.get(WEB)
      await run()
      await recreate()
      expect(await synced()).toMatchObject({ created: [], warnings: 0 })
      const { metadata, data } = await cluster.admin.get(WEB)
      const { uid } = (await cluster.release('orders')).metadata
      expect(metadata.uid).toBe(before.metadata.uid)
      expect(metadata.ownerReferences).toMatchObject([{ kind: 'HelmRelease', uid }])
      expect(metadata.annotations).toEqual({ ...before.metadata.annotations, [RELEASE_UID]: uid })
      expect(data).toEqual(before.data)
      expect(await synced()).toMatchObject({ adopted: [] })
    },
  )

  test('is taken back by the release that it was of', async () => {
    const before = await everything()
    await run()
    expect(await sweep(cluster.services, { by: BY })).toMatchObject({ value: { adopted: 3, failures: 0 } })
    const withoutVersion = ({ metadata: { resourceVersion: _, ...metadata }, ...secret }: Anything) => ({
      ...secret,
      metadata,
    })
    expect((await everything()).map(withoutVersion)).toEqual(before.map(withoutVersion))
  })

  test('would be gone without the mark', async () => {
    await recreate()
    expect(await cluster.admin.find(WEB)).toBeUndefined()
  })

  test('has its time again before it is deleted as undeclared', async () => {
    await cluster.admin.change(WEB, ({ metadata }) => {
      metadata.annotations['credentials.cozystack.io/undeclared-since'] = '2020-01-01T00:00:00Z'
    })
    await run()
    const { metadata } = await cluster.admin.get(WEB)
    expect(metadata.annotations).not.toHaveProperty(['credentials.cozystack.io/undeclared-since'])
  })
})
