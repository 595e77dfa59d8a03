import { beforeEach, describe, expect, test } from 'vitest'
import { eventOf } from '../../src/k8s/event.ts'
import type { KubeEvent } from '../../src/k8s/objects.ts'
import { reconcile } from '../../src/trust-anchor/reconcile.ts'
import {
  type AnchorPlace,
  AUTHORITIES,
  anchorPlace,
  ENTRY,
  PROJECTION,
  SOURCE,
  TARGET,
} from '../helpers/anchor-place.ts'
import { TENANT } from '../helpers/sync-cluster.ts'

const { first, second, expired, early, leaf } = AUTHORITIES

let place: AnchorPlace
beforeEach(async () => {
  place = await anchorPlace()
  await place.projection()
})

const notes = () => place.events.map(({ reason, note }) => `${reason}: ${note}`)

/** Dates as `openssl x509 -noout -dates` has them. */
describe('a certificate that does not do what it is meant for is published, and an Event says so', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    [
      'expired',
      [first, expired],
      [
        `CACertExpired: published, but clients refuse what has expired: certificate 2 (2021-01-01T00:00:00Z) of key ca.crt of Secret ${SOURCE}; renew the CA, or take it out`,
      ],
    ],
    [
      'not valid yet',
      [early],
      [
        `CACertNotYetValid: published, but not valid yet: certificate 1 (2040-01-01T00:00:00Z) of key ca.crt of Secret ${SOURCE}; look at the clock of whoever issued it`,
      ],
    ],
    [
      'of a server',
      [leaf],
      [
        `CACertNotAuthority: published, but no certificate of key ca.crt of Secret ${SOURCE} is a CA's: many clients trust only a CA as an anchor`,
      ],
    ],
    ['of a server beside a CA: that is a chain, and nothing to talk about', [leaf, first], []],
    [
      'of many that have expired',
      Array<string>(7).fill(expired),
      [expect.stringContaining(`5 (2021-01-01T00:00:00Z) and 2 more of key`)],
    ],
  ])('%s', async (_, certificates, expected) => {
    await place.secret({ data: { 'ca.crt': certificates.join('') } })
    expect(await place.reconcile()).toMatchObject({ ready: true, reason: 'Projected' })
    expect(await place.published()).toEqual({ 'ca.crt': certificates.join('') })
    expect(notes()).toEqual(expected)
    for (const event of place.events) {
      expect(event).toMatchObject({
        type: 'Warning',
        isStanding: true,
        regarding: { apiVersion: 'v1', kind: 'Secret', namespace: TENANT, name: SOURCE },
      })
    }
  })

  test('by the clock: once it has passed a date', async () => {
    await place.secret({ data: { 'ca.crt': first } })
    await place.reconcile()
    expect(place.events).toEqual([])
    place.pass(Date.parse('2049-01-01T00:00:01Z') - place.services.deps.now())
    await place.reconcile()
    expect(place.reasons()).toEqual(['CACertExpired'])
  })
})

describe('an Event', () => {
  const stored = (event: KubeEvent | undefined) => {
    if (event === undefined) throw new Error('nothing was said')
    return eventOf(event, 0, 'test')
  }

  test('for the same thing is the same object each time, so that the API server keeps one', async () => {
    await place.secret({ data: { 'ca.crt': 'garbage' } })
    await place.reconcile()
    place.pass(300_000)
    await place.reconcile()
    const [one, two] = place.events.map(stored)
    expect(place.events).toHaveLength(2)
    expect(two).toEqual(one)
  })

  test('about another thing is another', async () => {
    await place.secret({ data: { 'ca.crt': 'garbage' } })
    await place.reconcile()
    await place.fill({ 'ca.crt': `${first}garbage` })
    await place.reconcile()
    const names = place.events.map((event) => Reflect.get(Object(stored(event).metadata), 'name'))
    expect(new Set(names).size).toBe(2)
  })

  test('fits into a note, however long the names are', async () => {
    const name = 'x'.repeat(253)
    const key = 'k'.repeat(253)
    place = await anchorPlace()
    await place.secret({ name, data: { [key]: Array<string>(9).fill(expired).join('') } })
    await place.projection({ projections: [{ ...ENTRY, sourceSecretName: name, sourceKey: key }] })
    expect(await place.reason()).toBe('Projected')
    const [event] = place.events
    expect(new TextEncoder().encode(event?.note ?? '').length).toBeLessThanOrEqual(1024)
    expect(event?.note).toContain('renew the CA')
  })

  test('is not sent when the rest of a look is lost: the next one says it', async () => {
    await place.secret({ data: { 'ca.crt': expired } })
    place.way.add({ when: ({ path }) => path.includes('/status'), fault: { answer: 500 }, times: 1 })
    expect(await reconcile(place.services, PROJECTION)).toMatchObject({ ok: false })
    expect(place.events).toEqual([])
    await place.reconcile()
    expect(place.reasons()).toEqual(['CACertExpired'])
    expect(await place.target()).toMatchObject({ metadata: { name: TARGET } })
  })
})

test('of many declarations for one release a message names a few', async () => {
  place = await anchorPlace()
  await place.secret()
  for (let number = 1; number <= 8; number += 1) await place.projection({ name: `p${number}` })
  await place.reconcile({ ...PROJECTION, name: 'p1' } as typeof PROJECTION)
  expect(await place.ready('p1')).toMatchObject({
    reason: 'ReleaseContested',
    message: expect.stringContaining('p1, p2, p3, p4, p5 and 3 more; leave one of them'),
  })
})

test('two certificates, of which nothing is to be said, are published in their order', async () => {
  await place.secret({ data: { 'ca.crt': second + first } })
  await place.reconcile()
  expect(place.events).toEqual([])
  expect(await place.published()).toEqual({ 'ca.crt': second + first })
})
