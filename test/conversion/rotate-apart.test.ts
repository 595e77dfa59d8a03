import { describe, expect, test } from 'vitest'
import type { JobServices } from '../../src/conversion/job-options.ts'
import { fail, ok } from '../../src/core/result.ts'
import { type Anything, decode } from '../contract/kube.ts'
import { PLATFORM, TENANT } from './hook-place.ts'
import { type JobPlace, takes } from './job-place.ts'
import {
  EVENTS,
  engineOf,
  events,
  expectRotatedOnce,
  MARK,
  pending,
  SHOP,
  shop,
  withExec,
} from './rotate-place.ts'

const RELEASES = `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${TENANT}/helmreleases`
const PODS = `/api/v1/namespaces/${TENANT}/pods`
const HELM_RELEASE = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease' }

/** Its engine has the new password, the Secret of its readers does not, and the job is dead. */
async function altered(): Promise<{ readonly place: JobPlace; readonly uid: string }> {
  const place = await shop()
  const killed = Promise.withResolvers<void>()
  const services = place.servicesWith()
  const dying: JobServices = {
    ...services,
    kube: {
      ...services.kube,
      updateSecret: () => {
        killed.resolve()
        return new Promise<never>(() => {})
      },
    },
  }
  await Promise.race([place.run({}, dying), killed.promise])
  expect(engineOf(place, SHOP).changes).toBe(1)
  return { place, uid: (await place.release(SHOP)).metadata.uid }
}

/** That it is what the engine takes. */
async function expectKept(place: JobPlace, uid: string): Promise<void> {
  const kept = await pending(place, uid)
  const [{ password }] = JSON.parse(decode(kept.data.rotation)).accounts
  expect(takes(engineOf(place, SHOP), password)).toBe(true)
}

const abandoned = (uid: string) => [
  { cause: 'RotationAbandoned', message: expect.stringContaining(`credential-rotation-${uid}`) },
]

describe('what is pending for a release', () => {
  test('that was deleted meanwhile is kept and listed, until somebody has deleted it', async () => {
    const { place, uid } = await altered()
    await place.admin.remove(`${RELEASES}/${SHOP}`)
    expect((await place.job({ dryRun: true })).skipped).toMatchObject(abandoned(uid))
    expect((await place.job()).skipped).toMatchObject(abandoned(uid))
    await expectKept(place, uid)
    expect(await place.before.events()).toMatchObject([
      {
        reason: 'ConversionSkipped',
        regarding: { kind: 'HelmRelease', namespace: TENANT, name: SHOP, uid },
        note: expect.stringContaining('RotationAbandoned'),
      },
    ])
    expect(await place.before.record()).toMatchObject({ [`${TENANT}.${SHOP}`]: { uid, skipped: [{}] } })
    expect((await place.job()).skipped).toMatchObject(abandoned(uid))
    await place.admin.remove(`/api/v1/namespaces/${PLATFORM}/secrets/credential-rotation-${uid}`)
    expect((await place.job()).skipped).toEqual([])
    expect(await place.before.record()).toEqual({})
  })

  test('that is deleted while the job holds it is kept and listed', async () => {
    const place = await shop()
    const { metadata } = await place.release(SHOP)
    const services = withExec(place, (exec) => async (target, stdin) => {
      const answer = await exec(target, stdin)
      if (!stdin.includes('ALTER')) return answer
      await place.admin.remove(`${RELEASES}/${SHOP}`)
      return fail({ reason: 'kube_timeout', call: 'create pods/exec' })
    })
    expect(await place.run({}, services)).toMatchObject({ skipped: abandoned(metadata.uid) })
    await expectKept(place, metadata.uid)
  })

  test('that another one has replaced is left, and listed', async () => {
    const { place, uid } = await altered()
    const { metadata, spec } = await place.release(SHOP)
    await place.admin.remove(`${RELEASES}/${SHOP}`)
    const { name, labels } = metadata
    await place.admin.create(RELEASES, { ...HELM_RELEASE, metadata: { name, labels }, spec })
    expect((await place.job()).skipped).toMatchObject(abandoned(uid))
    await expectKept(place, uid)
  })

  test('is deleted at its end, though somebody has touched it meanwhile', async () => {
    const place = await shop()
    const services = place.servicesWith()
    let touched = 0
    const touching: JobServices = {
      ...services,
      kube: {
        ...services.kube,
        deleteSecret: async (namespace, name, read, options) => {
          if (namespace === PLATFORM && touched === 0) {
            touched += 1
            await place.admin.change(`/api/v1/namespaces/${namespace}/secrets/${name}`, ({ metadata }) => {
              metadata.labels = { backup: 'yes' }
            })
          }
          return services.kube.deleteSecret(namespace, name, read, options)
        },
      },
    }
    expect(await place.run({}, touching)).toMatchObject({ skipped: [] })
    expect(touched).toBe(1)
    await expectRotatedOnce(place, SHOP, 'root')
  })
})

describe('a release that is held is looked at again, and nothing is rotated', () => {
  /** Runs with something that happens while the job waits for Flux to let the release go. */
  const whileHeld = (place: JobPlace, happen: () => Promise<unknown>) => {
    const services = place.servicesWith()
    let isFirst = true
    const wait: JobServices['wait'] = async (...args) => {
      if (isFirst) await happen()
      isFirst = false
      await services.wait(...args)
    }
    return place.run({}, { ...services, wait })
  }

  async function expectUntouched(place: JobPlace): Promise<void> {
    expect(await place.data(`${SHOP}-credentials`)).toEqual({ root: 'root-of-old' })
    expect(engineOf(place, SHOP).changes).toBe(0)
    const { metadata, spec } = await place.release(SHOP)
    expect(await pending(place, metadata.uid)).toBeUndefined()
    expect(spec.suspend).toBeUndefined()
  }

  test('when tenants can read the Secret again', async () => {
    const place = await shop()
    const label = { 'internal.cozystack.io/tenantresource': 'true' }
    const open = () =>
      place.before.changeSecret(`${SHOP}-credentials`, ({ metadata }) => {
        metadata.labels = label
      })
    expect(await whileHeld(place, open)).toMatchObject({ skipped: [{ cause: 'StillTenantReadable' }] })
    await expectUntouched(place)
    await place.before.changeSecret(`${SHOP}-credentials`, ({ metadata }) => {
      metadata.labels = {}
    })
    expect((await place.job()).skipped).toEqual([])
    await expectRotatedOnce(place, SHOP, 'root')
  })

  test('when its chart is the recorded one again', async () => {
    const place = await shop()
    const rollBack = () =>
      place.admin.change(`${RELEASES}/${SHOP}/status`, ({ status }) => {
        status.history = [{ version: 9, status: 'deployed', chartVersion: '1.0.0' }, ...status.history]
      })
    expect(await whileHeld(place, rollBack)).toMatchObject({ skipped: [{ cause: 'NotSwitched' }] })
    await expectUntouched(place)
  })
})

describe('a pod that is not of the database', () => {
  const labels = {
    'app.kubernetes.io/name': 'mariadb',
    'app.kubernetes.io/instance': SHOP,
    'k8s.mariadb.com/role': 'primary',
  }
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: SHOP, uid: '1', controller: true }

  const withPod = async (metadata: Anything): Promise<JobPlace> => {
    const place = await shop()
    const spec = { containers: [{ name: 'mariadb', image: 'mariadb' }] }
    await place.admin.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { labels, ...metadata }, spec })
    return place
  }

  test.each([
    ['nobody owns', { name: `${SHOP}-1` }],
    ['a StatefulSet of another name owns', { name: `${SHOP}-1`, ownerReferences: [{ ...owner, name: 'x' }] }],
    ['a Deployment owns', { name: `${SHOP}-1`, ownerReferences: [{ ...owner, kind: 'Deployment' }] }],
    [
      'is not the one of its owner to run',
      { name: `${SHOP}-1`, ownerReferences: [{ ...owner, controller: false }] },
    ],
    ['has no number', { name: 'evil', ownerReferences: [owner] }],
    ['has the name of another release', { name: `${SHOP}-more-1`, ownerReferences: [owner] }],
  ])('because %s, is asked nothing and hinders nothing', async (_, metadata) => {
    const place = await withPod(metadata)
    const asked = new Set<string>()
    const services = withExec(place, (exec) => (target, stdin) => {
      asked.add(target.pod)
      return exec(target, stdin)
    })
    expect(await place.run({}, services)).toMatchObject({ skipped: [] })
    expect([...asked]).toEqual([`${SHOP}-0`])
    await expectRotatedOnce(place, SHOP, 'root')
  })

  test('is given nothing when it is the only one', async () => {
    const place = await withPod({ name: 'evil' })
    await place.admin.remove(`${PODS}/${SHOP}-0`)
    const services = withExec(place, () => () => {
      throw new Error('no command is to be run')
    })
    expect(await place.run({}, services)).toMatchObject({
      skipped: [{ cause: 'RotationFailed', message: expect.stringContaining('primary') }],
    })
  })
})

test('a client that ends well and has not logged in counts for nothing', async () => {
  const place = await shop()
  const services = withExec(place, () => async () => ok({ stdout: '', stderr: '', exitCode: 0 }))
  expect(await place.run({}, services)).toMatchObject({ skipped: [{ cause: 'RotationFailed' }] })
  expect(await place.data(`${SHOP}-credentials`)).toEqual({ root: 'root-of-old' })
})

test('a pod that is gone for a moment is tried again', async () => {
  const place = await shop()
  let asked = 0
  const services = withExec(place, (exec) => async (target, stdin) => {
    asked += 1
    return asked === 1
      ? fail({ reason: 'kube_error', call: 'create pods/exec', code: 404 })
      : exec(target, stdin)
  })
  expect(await place.run({}, services)).toMatchObject({ skipped: [] })
  await expectRotatedOnce(place, SHOP, 'root')
})

test('a mark on a release that is not suspended is taken off, so that a later suspension is somebody’s', async () => {
  const place = await shop()
  await place.changeRelease(SHOP, ({ metadata }) => {
    metadata.annotations = { [MARK]: '2026-10-02T09:00:00Z', kept: 'yes' }
  })
  await place.before.changeSecret(`${SHOP}-credentials`, ({ metadata }) => {
    metadata.labels = { 'internal.cozystack.io/tenantresource': 'true' }
  })
  const services = place.servicesWith()
  // Whatever else hinders it, and before anything else.
  const stop = { ...services.kube, getSecret: async () => fail({ reason: 'kube_absent' } as const) }
  await place.run({}, { ...services, kube: stop })
  expect((await place.release(SHOP)).metadata.annotations).toEqual({ kept: 'yes' })
  await place.changeRelease(SHOP, ({ spec }) => {
    spec.suspend = true
  })
  expect((await place.job()).skipped).toMatchObject([{ cause: 'SuspendedElsewhere' }])
  expect((await place.release(SHOP)).spec.suspend).toBe(true)
})

test('a dry run leaves such a mark', async () => {
  const place = await shop()
  await place.changeRelease(SHOP, ({ metadata }) => {
    metadata.annotations = { [MARK]: '2026-10-02T09:00:00Z' }
  })
  await place.job({ dryRun: true })
  expect((await place.release(SHOP)).metadata.annotations).toEqual({ [MARK]: '2026-10-02T09:00:00Z' })
})

test('who has a MariaDB rotated is told that it restarts, and who has a ClickHouse is not', async () => {
  const told = async (place: JobPlace, name: string) => {
    const planned = await place.job({ dryRun: true })
    const { releases } = await place.job()
    expect(planned.releases[0]?.notes).toEqual(releases[0]?.notes)
    expect(releases[0]).toMatchObject({ release: name, rotated: [expect.any(String)] })
    return releases[0]?.notes
  }
  expect(await told(await shop(), SHOP)).toEqual([
    { is: 'Restarts', username: 'root', what: expect.stringContaining('probes') },
  ])
  expect(await told(await events(), EVENTS)).toEqual([])
})
