import { describe, expect, test } from 'vitest'
import type { JobServices } from '../../src/conversion/job-options.ts'
import { fail, ok } from '../../src/core/result.ts'
import type { Anything } from '../contract/kube.ts'
import { PLATFORM, TENANT } from './hook-place.ts'
import { jobPlace, mysqlHash } from './job-place.ts'
import {
  EVENTS,
  engineOf,
  events,
  expectRotatedOnce,
  MARK,
  pending,
  SHOP,
  shop,
  switched,
  withExec,
} from './rotate-place.ts'

describe('the root of MariaDB', () => {
  test('is changed with the release suspended by a mark, and both passwords kept meanwhile', async () => {
    const place = await shop()
    const seen: Anything[] = []
    const services = withExec(place, (exec) => async (target, stdin) => {
      const { metadata, spec } = await place.release(SHOP)
      seen.push({
        target,
        suspend: spec.suspend,
        mark: metadata.annotations[MARK],
        kept: await pending(place, metadata.uid),
      })
      return exec(target, stdin)
    })
    await place.run({}, services)
    expect(seen.length).toBeGreaterThan(1)
    for (const { target, suspend, mark, kept } of seen) {
      expect(target).toMatchObject({ namespace: TENANT, pod: `${SHOP}-0`, container: 'mariadb' })
      expect(JSON.stringify(target)).not.toContain('root-of-old')
      expect(suspend).toBe(true)
      expect(mark).toMatch(/^\d{4}-\d\d-\d\dT/)
      expect(kept).toMatchObject({ type: 'Opaque', data: { rotation: expect.any(String) } })
    }
    await expectRotatedOnce(place, SHOP, 'root')
  })

  test('is tried with both passwords after a crash between the engine and the Secret', async () => {
    const place = await shop()
    const away = fail({ reason: 'kube_timeout', call: 'create pods/exec' })
    let isAway = false
    const lost = withExec(place, (exec) => async (target, stdin) => {
      if (isAway) return away
      const answer = await exec(target, stdin)
      isAway = stdin.includes('ALTER')
      return isAway ? away : answer
    })
    const outcome = await place.run({}, lost)
    expect(outcome).toMatchObject({ skipped: [{ cause: 'RotationFailed' }] })
    expect(engineOf(place, SHOP).changes).toBe(1)
    expect(await place.data(`${SHOP}-credentials`)).toEqual({ root: 'root-of-old' })
    expect((await place.release(SHOP)).spec.suspend).toBeUndefined()
    expect(await place.job()).toMatchObject({ skipped: [] })
    await expectRotatedOnce(place, SHOP, 'root')
  })

  test('is held again when the tenant changes the application in the middle, which resumes the release', async () => {
    const place = await shop()
    let edits = 0
    const services = withExec(place, (exec) => async (target, stdin) => {
      if (stdin.includes('ALTER') && edits === 0) {
        edits += 1
        await place.changeRelease(SHOP, ({ metadata, spec }) => {
          delete metadata.annotations
          delete spec.suspend
          spec.values = { users: { more: {} } }
        })
        await place.flux()
      }
      return exec(target, stdin)
    })
    expect(await place.run({}, services)).toMatchObject({ skipped: [] })
    expect(edits).toBe(1)
    await expectRotatedOnce(place, SHOP, 'root')
    expect((await place.release(SHOP)).spec.values).toEqual({ users: { more: {} } })
  })

  test('is written again when an upgrade that the tenant set off has written the old one over it', async () => {
    const place = await shop()
    let isUnderWay = false
    const services = withExec(place, (exec) => async (target, stdin) => {
      if (stdin.includes('ALTER')) {
        isUnderWay = true
        await place.changeRelease(SHOP, ({ metadata, spec }) => {
          delete metadata.annotations
          delete spec.suspend
        })
      }
      return exec(target, stdin)
    })
    // It ends before Flux looks at the release again, with what the chart had read at its beginning.
    const end = async () => {
      if (!isUnderWay) return
      isUnderWay = false
      await place.before.changeSecret(`${SHOP}-credentials`, ({ data }) => {
        data.root = btoa('root-of-old')
      })
    }
    const raced: JobServices = {
      ...services,
      kube: {
        ...services.kube,
        deleteSecret: async (...args) => {
          await end()
          return services.kube.deleteSecret(...args)
        },
      },
      wait: async (...args) => {
        await end()
        await services.wait(...args)
      },
    }
    expect(await place.run({}, raced)).toMatchObject({ skipped: [] })
    await expectRotatedOnce(place, SHOP, 'root')
  })

  test('is not given another one by a run that was overtaken by a whole other run', async () => {
    const place = await shop()
    const services = place.servicesWith()
    let overtaken = 0
    const slow: JobServices = {
      ...services,
      kube: {
        ...services.kube,
        createSecret: async (secret, options) => {
          overtaken += 1
          await place.job()
          return services.kube.createSecret(secret, options)
        },
      },
    }
    expect(await place.run({}, slow)).toMatchObject({ skipped: [] })
    expect(overtaken).toBe(1)
    await expectRotatedOnce(place, SHOP, 'root')
  })

  test('is left when it takes neither password, and the suspension is lifted', async () => {
    const place = await shop()
    engineOf(place, SHOP).password = { sha1: mysqlHash('changed by hand') }
    const outcome = await place.job()
    expect(outcome.skipped).toMatchObject([{ cause: 'RotationFailed' }])
    expect(await place.data(`${SHOP}-credentials`)).toEqual({ root: 'root-of-old' })
    const { metadata, spec } = await place.release(SHOP)
    expect(spec.suspend).toBeUndefined()
    // What the password is to be is kept for the run after it was mended.
    expect(await pending(place, metadata.uid)).toBeDefined()
    engineOf(place, SHOP).password = { sha1: mysqlHash('root-of-old') }
    expect((await place.job()).skipped).toEqual([])
    await expectRotatedOnce(place, SHOP, 'root')
  })

  test('is changed in no pod when none is the one primary', async () => {
    const place = await shop()
    const pod = `/api/v1/namespaces/${TENANT}/pods/${SHOP}-0`
    await place.admin.change(pod, ({ metadata }) => {
      metadata.labels['k8s.mariadb.com/role'] = 'replica'
    })
    const { skipped } = await place.job()
    expect(skipped).toMatchObject([{ cause: 'RotationFailed', message: expect.stringContaining('primary') }])
    expect(engineOf(place, SHOP).changes).toBe(0)
  })

  test('is not given another one when what is pending cannot be read any more', async () => {
    const place = await shop()
    const { metadata } = await place.release(SHOP)
    const secrets = `/api/v1/namespaces/${PLATFORM}/secrets`
    const name = `credential-rotation-${metadata.uid}`
    await place.admin.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { name }, data: {} })
    const { skipped } = await place.job()
    expect(skipped).toMatchObject([{ cause: 'RotationFailed', message: expect.stringContaining(name) }])
    expect(engineOf(place, SHOP).changes).toBe(0)
    expect((await place.release(SHOP)).spec.suspend).toBeUndefined()
    await place.admin.remove(`${secrets}/${name}`)
    expect((await place.job()).skipped).toEqual([])
    await expectRotatedOnce(place, SHOP, 'root')
  })

  test('says nothing of what a client complains of but its number', async () => {
    const place = await shop()
    const services = withExec(
      place,
      () => async () =>
        ok({ stdout: '', stderr: "ERROR 1064 (42000) at line 1: near 'hunter2'\n", exitCode: 1 }),
    )
    const outcome = await place.run({}, services)
    expect(JSON.stringify([outcome, place.logged])).not.toContain('hunter2')
    expect(JSON.stringify(outcome)).toContain('error 1064')
  })
})

describe('the backup of ClickHouse', () => {
  test('is written with the release suspended, and then an upgrade is forced', async () => {
    const place = await events()
    const before = (await place.release(EVENTS)).status.history.length
    await place.job()
    await expectRotatedOnce(place, EVENTS, 'backup')
    const { metadata, status } = await place.release(EVENTS)
    expect(status.history.length).toBe(before + 1)
    const { annotations } = metadata
    expect(annotations['reconcile.fluxcd.io/forceAt']).toBe(annotations['reconcile.fluxcd.io/requestedAt'])
  })

  test('is asked for again when Flux has taken note of the request and done nothing', async () => {
    const place = await events()
    let ignored = 0
    const services = place.servicesWith()
    const outcome = await place.run(
      {},
      {
        ...services,
        wait: async (milliseconds, signal) => {
          const { metadata, status } = await place.release(EVENTS)
          const token = metadata.annotations?.['reconcile.fluxcd.io/requestedAt']
          if (token !== undefined && ignored === 0) {
            ignored += 1
            await place.admin.change(
              `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${TENANT}/helmreleases/${EVENTS}/status`,
              (release) => {
                const { generation } = release.metadata
                release.status = {
                  ...status,
                  observedGeneration: generation,
                  lastHandledReconcileAt: token,
                  conditions: [{ type: 'Ready', status: 'True', observedGeneration: generation }],
                }
              },
            )
          }
          await services.wait(milliseconds, signal)
        },
      },
    )
    expect(ignored).toBe(1)
    expect(outcome).toMatchObject({ skipped: [] })
    await expectRotatedOnce(place, EVENTS, 'backup')
  })
})

describe('an account that nobody here can rotate', () => {
  test('is listed, and not again once it is marked as done by hand', async () => {
    const place = await jobPlace()
    await place.order(
      'orders',
      { web: 'hunter2', postgres: 'superuser-of-old' },
      { values: { users: { web: {} } } },
    )
    await switched(place)
    const outcome = await place.job()
    expect(outcome).toMatchObject({ skipped: [], releases: [{ notRotated: ['postgres'] }] })
    expect(await place.before.record()).toMatchObject({
      [`${TENANT}.postgres-orders`]: { notRotated: ['postgres'], done: expect.any(String) },
    })
    expect(await place.data('postgres-orders-credentials')).toEqual({ postgres: 'superuser-of-old' })
    expect(await place.before.events()).toMatchObject([{ reason: 'NotRotated' }])
    await place.before.changeSecret('postgres-orders-credentials', ({ metadata }) => {
      metadata.annotations = { 'credentials.cozystack.io/rotated': '{"postgres":"by hand"}' }
    })
    expect(await place.job()).toMatchObject({ releases: [{ notRotated: [] }] })
    expect((await place.before.record())[`${TENANT}.postgres-orders`].notRotated).toBeUndefined()
    expect(await place.job()).toMatchObject({ total: 0 })
  })
})

test('a suspension of ours is lifted by the next run, also when the rest is skipped', async () => {
  const place = await shop()
  await place.changeRelease(SHOP, ({ metadata, spec }) => {
    metadata.annotations = { [MARK]: '2026-10-02T09:00:00Z' }
    spec.suspend = true
  })
  await place.before.changeSecret(`${SHOP}-credentials`, ({ metadata }) => {
    metadata.labels = { 'internal.cozystack.io/tenantresource': 'true' }
  })
  expect((await place.job()).skipped).toMatchObject([{ cause: 'StillTenantReadable' }])
  const { metadata, spec } = await place.release(SHOP)
  expect(spec.suspend).toBeUndefined()
  expect(metadata.annotations?.[MARK]).toBeUndefined()
})

test('a run that is told to end leaves nothing suspended, and the next goes on', async () => {
  for (const name of [SHOP, EVENTS]) {
    const place = await (name === SHOP ? shop() : events())
    const ending = new AbortController()
    const services = place.servicesWith()
    const wait: JobServices['wait'] = async (milliseconds, signal) => {
      ending.abort()
      await services.wait(milliseconds, signal)
    }
    const outcome = await place.run({ signal: ending.signal }, { ...services, wait })
    expect(outcome).toMatchObject({ is: 'interrupted', releases: [] })
    const { metadata, spec } = await place.release(name)
    expect(spec.suspend).toBeUndefined()
    expect(metadata.annotations?.[MARK]).toBeUndefined()
    expect(await place.job()).toMatchObject({ is: 'finished', skipped: [] })
    await expectRotatedOnce(place, name, name === SHOP ? 'root' : 'backup')
  }
})
