import { beforeEach, describe, expect, test } from 'vitest'
import { declarationsBeside } from '../../src/trust-anchor/beside.ts'
import type { Declaration } from '../../src/trust-anchor/declaration.ts'
import {
  ALL_LEGS,
  type AnchorPlace,
  anchorPlace,
  ENTRY,
  LABELLED,
  NAMED,
  PROJECTION,
  PROJECTIONS,
  PUBLISH_LABELS,
  RELEASE,
  SOURCE,
} from '../helpers/anchor-place.ts'
import { statusBody } from '../helpers/faults.ts'
import { TENANT } from '../helpers/sync-cluster.ts'

const SECOND: Declaration = { leg: 'projection', namespace: TENANT, name: 'second' }

let place: AnchorPlace
beforeEach(async () => {
  place = await anchorPlace(ALL_LEGS)
})

/** Whom it concerns that a TenantProjection of the namespace was looked at, or was found to be gone. */
async function beside(isGone = false, namespace = TENANT): Promise<readonly Declaration[]> {
  const found = await declarationsBeside(place.services, { namespace, isGone })
  if (!found.ok) throw new Error(found.failure.reason)
  return found.value
}

describe('a TenantProjection that comes or goes', () => {
  const published = async () => {
    await place.secret()
    await place.projection()
    await place.reconcile()
  }
  const contested = async () => {
    await published()
    await place.projection({ name: 'second' })
    await place.reconcile(SECOND)
    await place.reconcile()
  }

  test('concerns nobody whose status is as it should be', async () => {
    await published()
    expect(await beside()).toEqual([])
    await place.projection({ name: 'second', release: 'other' })
    expect(await beside()).toEqual([])
  })

  test('concerns the one that it contests, until that says so', async () => {
    await published()
    await place.projection({ name: 'second' })
    await place.reconcile(SECOND)
    expect(await beside()).toEqual([PROJECTION])
    await place.reconcile()
    expect(await beside()).toEqual([])
  })

  const goes: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['is deleted', () => place.admin.remove(`${PROJECTIONS}/second`)],
    [
      'is on its way out',
      async () => {
        await place.admin.change(`${PROJECTIONS}/second`, ({ metadata }) => {
          metadata.finalizers = ['example.org/wait']
        })
        await place.admin.remove(`${PROJECTIONS}/second`)
      },
    ],
    [
      'is of another release',
      async () => {
        await place.admin.change(`${PROJECTIONS}/second`, ({ metadata }) => {
          metadata.labels['helm.toolkit.fluxcd.io/name'] = 'other'
        })
        await place.reconcile(SECOND)
      },
    ],
    [
      'asks for no CA any more',
      async () => {
        await place.admin.change(`${PROJECTIONS}/second`, ({ spec }) => {
          spec.projections = [{ ...ENTRY, type: 'ConnectionString' }]
        })
        await place.reconcile(SECOND)
      },
    ],
  ]

  test.each(goes)('and %s concerns the one that it contested, until that is published', async (_, go) => {
    await contested()
    expect(await beside()).toEqual([])
    await go()
    expect(await beside()).toEqual([PROJECTION])
    expect(await place.reason()).toBe('Projected')
    expect(await beside()).toEqual([])
  })

  test('concerns nobody in another namespace', async () => {
    await contested()
    await place.admin.remove(`${PROJECTIONS}/second`)
    expect(await beside(true, 'tenant-b')).toEqual([])
  })
})

describe('a TenantProjection that is gone', () => {
  test('leaves its release to a label, or to a name', async () => {
    await place.order('orders', [])
    await place.secret()
    expect(await beside(true)).toEqual([NAMED])
    await place.change(SOURCE, ({ metadata }) => {
      metadata.labels = PUBLISH_LABELS
    })
    expect(await beside(true)).toEqual([LABELLED])
    expect(await beside()).toEqual([])
  })

  test('leaves alone a release that another one speaks for', async () => {
    await place.order('orders', [])
    await place.secret()
    await place.projection()
    await place.reconcile()
    expect(await beside(true)).toEqual([])
  })

  test('costs one list where nothing else is switched on', async () => {
    place = await anchorPlace()
    await place.order('orders', [])
    await place.secret({ metadata: { labels: PUBLISH_LABELS } })
    expect(await beside(true)).toEqual([])
    expect(place.way.calls().map(({ path }) => path.split('?')[0])).toEqual([PROJECTIONS])
  })

  test('where the kind is gone with it leaves the release to the others', async () => {
    await place.order('orders', [])
    place.way.add({
      when: ({ path }) => path.includes('tenantprojections'),
      fault: { answer: 404, body: '404 page not found\n' },
    })
    expect(await beside(true)).toEqual([NAMED])
  })

  test.each([
    ['TenantProjections', '/tenantprojections'],
    ['Secrets', '/secrets'],
    ['releases', '/helmreleases'],
  ])('is a failure when %s cannot be listed', async (_, part) => {
    place.way.add({
      when: ({ path }) => path.includes(part),
      fault: { answer: 500, body: statusBody(500, 'InternalError', 'x') },
    })
    await expect(beside(true)).rejects.toThrow('kube_error')
  })

  test('hands what it published to a name before the garbage collector comes: there is no gap', async () => {
    await place.order('orders', [])
    await place.secret()
    await place.projection()
    await place.reconcile()
    const { uid } = (await place.target()).metadata
    await place.admin.change(`${PROJECTIONS}/${SOURCE}`, ({ metadata }) => {
      metadata.finalizers = ['example.org/wait']
    })
    await place.admin.remove(`${PROJECTIONS}/${SOURCE}`)
    for (const declaration of await beside(true)) await place.reconcile(declaration)
    expect((await place.target()).metadata).toMatchObject({
      uid,
      ownerReferences: [{ kind: 'HelmRelease', name: RELEASE }],
    })
  })
})
