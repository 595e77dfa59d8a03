import { describe, expect, test } from 'vitest'
import type { Fetch } from '../../src/core/deps.ts'
import type { Declaration } from '../../src/trust-anchor/declaration.ts'
import { reconcile } from '../../src/trust-anchor/reconcile.ts'
import {
  ALL_LEGS,
  type AnchorPlace,
  AUTHORITIES,
  anchorPlace,
  ENTRY,
  LABELLED,
  PROJECTION,
  PROJECTIONS,
  PUBLISH_LABELS,
  RELEASE,
  SOURCE,
  TARGET,
} from '../helpers/anchor-place.ts'
import { statusBody } from '../helpers/faults.ts'
import { type Actor, interleave, ordersOfTwo } from '../helpers/interleave.ts'
import { DEFINITION, encode, SECRETS } from '../helpers/sync-place.ts'

/** One more than a reconcile calls. */
const CALLS = 8
const ORDERS = ordersOfTwo(CALLS)

/** An instance that looks at the declaration, once something was done. */
const instanceOf =
  (place: AnchorPlace, declaration: Declaration, before?: (fetch: Fetch) => Promise<unknown>): Actor =>
  async (fetch) => {
    await before?.(fetch)
    const done = await reconcile(place.instance(fetch), declaration)
    if (!done.ok) throw new Error(done.failure.reason)
    return done.value
  }

/** A change by somebody else, whose call has its turn like any other. */
const changing = (change: () => Promise<unknown>) => async (fetch: Fetch) => {
  await fetch(new Request('https://kubernetes.default.svc/livez'))
  await change()
}

/** Runs all orders, each in a place of its own. */
async function inEveryOrder(
  make: () => Promise<AnchorPlace>,
  actorsIn: (place: AnchorPlace) => readonly [Actor, Actor],
  check: (place: AnchorPlace, order: string) => Promise<void>,
): Promise<void> {
  const seen = new Set<string>()
  for (const order of ORDERS) {
    const place = await make()
    const called = await interleave(place.way.fetch, actorsIn(place), order)
    const title = called.join('')
    if (seen.has(title)) continue
    seen.add(title)
    await check(place, title)
  }
  // Else they were never at it at once.
  expect(seen.size).toBeGreaterThan(CALLS)
}

const declared = async () => {
  const place = await anchorPlace()
  await place.secret()
  await place.projection()
  return place
}

const publishedBefore = async () => {
  const place = await declared()
  await place.reconcile()
  return place
}

/** What is there in the end, and that nobody has anything left to do. */
async function expectSettled(place: AnchorPlace, order: string, pem: string, declaration = PROJECTION) {
  expect(await place.published(), order).toEqual({ 'ca.crt': pem })
  expect(await place.reconcile(declaration), order).toMatchObject({ reason: 'Projected', wrote: false })
}

describe('two instances at once', { timeout: 60_000 }, () => {
  test('create it once, and agree on what is said of it', async () => {
    await inEveryOrder(
      declared,
      (place) => [instanceOf(place, PROJECTION), instanceOf(place, PROJECTION)],
      async (place, order) => {
        await expectSettled(place, order, AUTHORITIES.first)
        expect(await place.ready(), order).toMatchObject({ status: 'True', reason: 'Projected' })
        const { items } = await place.admin.get(SECRETS)
        expect(items, order).toHaveLength(2)
      },
    )
  })

  test('heal it once', async () => {
    await inEveryOrder(
      async () => {
        const place = await publishedBefore()
        await place.change(TARGET, ({ data }) => Object.assign(data, { 'ca.crt': encode('drifted') }))
        return place
      },
      (place) => [instanceOf(place, PROJECTION), instanceOf(place, PROJECTION)],
      async (place, order) => {
        await expectSettled(place, order, AUTHORITIES.first)
        const { resourceVersion } = (await place.target()).metadata
        await place.reconcile()
        expect((await place.target()).metadata.resourceVersion, order).toBe(resourceVersion)
      },
    )
  })

  test.each([
    ['that is there', publishedBefore],
    ['that is not there yet', declared],
  ])('with a source that changes in between leave the new CA in a projection %s', async (_, make) => {
    await inEveryOrder(
      make,
      (place) => [
        instanceOf(place, PROJECTION),
        instanceOf(
          place,
          PROJECTION,
          changing(() => place.fill({ 'ca.crt': AUTHORITIES.second })),
        ),
      ],
      (place, order) => expectSettled(place, order, AUTHORITIES.second),
    )
  })

  test('with a source that turns into garbage in between leave a good CA', async () => {
    await inEveryOrder(
      publishedBefore,
      (place) => [
        instanceOf(place, PROJECTION),
        instanceOf(
          place,
          PROJECTION,
          changing(() => place.fill({ 'ca.crt': 'garbage' })),
        ),
      ],
      async (place, order) => {
        expect(await place.published(), order).toEqual({ 'ca.crt': AUTHORITIES.first })
        expect(await place.reason(), order).toBe('SourceRejected')
      },
    )
  })

  test('with a declaration that names another source in between leave that one', async () => {
    await inEveryOrder(
      async () => {
        const place = await publishedBefore()
        await place.secret({ name: 'other', data: { 'ca.crt': AUTHORITIES.second } })
        return place
      },
      (place) => [
        instanceOf(place, PROJECTION),
        instanceOf(
          place,
          PROJECTION,
          changing(() =>
            place.admin.change(`${PROJECTIONS}/${SOURCE}`, ({ spec }) => {
              spec.projections = [{ ...ENTRY, sourceSecretName: 'other' }]
            }),
          ),
        ),
      ],
      (place, order) => expectSettled(place, order, AUTHORITIES.second),
    )
  })

  const entries = (projections: readonly object[]) => (place: AnchorPlace) =>
    place.admin.change(`${PROJECTIONS}/${SOURCE}`, ({ spec }) => {
      spec.projections = projections
    })

  test('do not withdraw what is asked for again, looked at once more just before', async () => {
    const place = await publishedBefore()
    await entries([])(place)
    const { uid } = (await place.target()).metadata
    const again: Actor = changing(() => entries([ENTRY])(place))
    // It has read the declaration and the target.
    await interleave(place.way.fetch, [instanceOf(place, PROJECTION), again], [0, 0, 1])
    expect((await place.target()).metadata.uid).toBe(uid)
  })

  test('with a declaration that was empty and asks again in between publish it', async () => {
    await inEveryOrder(
      async () => {
        const place = await publishedBefore()
        await entries([])(place)
        return place
      },
      (place) => [
        instanceOf(place, PROJECTION),
        instanceOf(
          place,
          PROJECTION,
          changing(() => entries([ENTRY])(place)),
        ),
      ],
      (place, order) => expectSettled(place, order, AUTHORITIES.first),
    )
  })

  test('of which one hears labels leave it to a TenantProjection that comes in between', async () => {
    await inEveryOrder(
      async () => {
        const place = await anchorPlace(ALL_LEGS)
        await place.order('orders', [])
        await place.secret({ metadata: { labels: PUBLISH_LABELS } })
        await place.secret({ name: 'other', data: { 'ca.crt': AUTHORITIES.second } })
        return place
      },
      (place) => [
        instanceOf(place, LABELLED),
        instanceOf(
          place,
          PROJECTION,
          changing(() => place.projection({ projections: [{ ...ENTRY, sourceSecretName: 'other' }] })),
        ),
      ],
      async (place, order) => {
        await expectSettled(place, order, AUTHORITIES.second)
        expect(await place.reason(LABELLED), order).toBe('Superseded')
        expect((await place.target()).metadata.ownerReferences, order).toMatchObject([
          { kind: 'TenantProjection' },
        ])
      },
    )
  })
})

describe('two instances that have read the definitions at different times', () => {
  const show = (place: AnchorPlace, label: string) =>
    place.admin.change(DEFINITION, ({ spec }) => {
      spec.secrets = { include: [{ matchLabels: { [label]: 'true' } }] }
    })

  const apart = async () => {
    const place = await anchorPlace()
    await place.order('orders', [])
    await place.secret()
    await place.projection()
    await show(place, 'before')
    await place.reconcile()
    await show(place, 'after')
    return { place, other: place.instance(place.way.fetch) }
  }

  test('write the digest of the newer ones once, in whatever turns they look', async () => {
    const { place, other } = await apart()
    const written = place.writes().length
    for (let turn = 1; turn <= 4; turn += 1) {
      for (const services of [other, place.services]) {
        expect(await reconcile(services, PROJECTION)).toMatchObject({ ok: true, value: { ready: true } })
      }
    }
    expect(place.writes().slice(written)).toEqual([`PUT secrets/${TARGET}`])
  })

  test('leave the mark of the platform where it has looked by the newer ones', async () => {
    const { place, other } = await apart()
    await reconcile(other, PROJECTION)
    await place.change(TARGET, ({ metadata }) => {
      metadata.labels['internal.cozystack.io/managed-by-cozystack'] = 'true'
      metadata.labels['internal.cozystack.io/tenant-ca'] = 'changed'
    })
    // Something else is to be put right, by the one with the older definitions.
    expect(await place.reconcile()).toMatchObject({ wrote: true })
    expect((await place.target()).metadata.labels).toEqual({
      'internal.cozystack.io/managed-by-cozystack': 'true',
      'internal.cozystack.io/tenant-ca': 'true',
      'internal.cozystack.io/ca-cert-copy': 'true',
    })
  })

  test('write nothing while the newer ones cannot be read', async () => {
    const { place, other } = await apart()
    await reconcile(other, PROJECTION)
    const before = await place.target()
    place.way.add({ when: ({ path }) => path.includes('applicationdefinitions'), fault: { answer: 503 } })
    await expect(place.reconcile()).rejects.toThrow('kube_error')
    expect(await place.target()).toEqual(before)
  })
})

describe('a write that loses a race', () => {
  const CONFLICT = { answer: 409, body: statusBody(409, 'Conflict', 'the object has been modified') }

  test('is tried again with what is there by then', async () => {
    const place = await publishedBefore()
    await place.fill({ 'ca.crt': AUTHORITIES.second })
    place.way.add({ when: ({ method }) => method === 'PUT', fault: CONFLICT, times: 2 })
    expect(await place.reconcile()).toMatchObject({ reason: 'Projected', wrote: true })
    expect(await place.published()).toEqual({ 'ca.crt': AUTHORITIES.second })
  })

  test('each time is given up after a few rounds', async () => {
    const place = await publishedBefore()
    await place.fill({ 'ca.crt': AUTHORITIES.second })
    const before = place.writes().length
    place.way.add({ when: ({ method }) => method === 'PUT', fault: CONFLICT })
    await expect(place.reconcile()).rejects.toThrow('kube_conflict')
    expect(place.writes().slice(before)).toEqual(Array(5).fill(`PUT secrets/${TARGET}`))
  })

  test('that of the status, does not write the Secret again, and still says that it was written', async () => {
    const place = await declared()
    const isStatus = ({ path }: { readonly path: string }) => path.includes('/status')
    place.way.add({ when: isStatus, fault: CONFLICT, times: 1 })
    expect(await place.reconcile()).toMatchObject({ reason: 'Projected', wrote: true })
    const status = `PUT tenantprojections/${SOURCE}/status`
    expect(place.writes()).toEqual([`POST secrets/${TARGET}`, status, status])
  })

  test('to the end of its declaration, that of the status, is no failure', async () => {
    const place = await declared()
    const remove: Actor = async (fetch) => {
      await fetch(new Request('https://kubernetes.default.svc/livez'))
      await place.admin.remove(`${PROJECTIONS}/${SOURCE}`)
    }
    // Six calls before that of the status.
    const order = [...Array<number>(6).fill(0), 1]
    await interleave(place.way.fetch, [instanceOf(place, PROJECTION), remove], order)
    expect(place.writes()).toEqual([`POST secrets/${TARGET}`, `PUT tenantprojections/${SOURCE}/status`])
    expect(await place.target()).toBeUndefined()
  })
})

/** What the server did, and nobody heard. */
describe('a write whose answer is lost', () => {
  const lose = (place: AnchorPlace, method: string, part: string) =>
    place.way.add({
      when: (call) => call.method === method && call.path.includes(part),
      fault: { breaks: 'after' },
      times: 1,
    })

  test.each<[string, string, string, (place: AnchorPlace) => Promise<unknown>]>([
    ['a creation', 'POST', 'secrets', async () => undefined],
    [
      'a change',
      'PUT',
      'secrets',
      async (place) => {
        await place.reconcile()
        await place.change(TARGET, ({ data }) => Object.assign(data, { more: encode('x') }))
      },
    ],
    ['a status', 'PUT', 'status', async () => undefined],
    [
      'a withdrawal',
      'DELETE',
      'secrets',
      async (place) => {
        await place.reconcile()
        await place.admin.change(`${PROJECTIONS}/${SOURCE}`, ({ spec }) => {
          spec.projections = []
        })
      },
    ],
  ])('fails, is not sent again, and the next look finds it done: %s', async (_, method, part, given) => {
    const place = await declared()
    await given(place)
    const before = place.writes().length
    lose(place, method, part)
    await expect(place.reconcile()).rejects.toThrow('kube_unreachable')
    const sent = place.writes().slice(before)
    expect(sent.at(-1)).toMatch(new RegExp(`^${method} .*${part}`))
    const after = await place.target()
    expect(await place.reconcile()).toMatchObject({ reason: 'Projected', wrote: false })
    expect(await place.target()).toEqual(after)
    expect(
      place
        .writes()
        .slice(before)
        .filter((write) => write === sent.at(-1)),
    ).toHaveLength(1)
  })
})

test('a caller that has gone ends it before anything is written', async () => {
  const place = await declared()
  const gone = AbortSignal.abort()
  expect(await reconcile(place.services, PROJECTION, { signal: gone })).toMatchObject({
    ok: false,
    failure: { reason: 'kube_timeout' },
  })
  expect(place.writes()).toEqual([])
})

test.each([
  ['TenantProjections', 'tenantprojections'],
  ['HelmReleases', `helmreleases/${RELEASE}`],
  ['the target', `secrets/${TARGET}`],
  ['the source', `secrets/${SOURCE}`],
])('while %s cannot be read nothing is written', async (_, part) => {
  const place = await publishedBefore()
  await place.fill({ 'ca.crt': AUTHORITIES.second })
  const before = place.writes().length
  place.way.add({
    when: ({ method, path }) => method === 'GET' && path.includes(part),
    fault: { answer: 503 },
  })
  await expect(place.reconcile()).rejects.toThrow('kube_error')
  expect(place.writes()).toHaveLength(before)
})
