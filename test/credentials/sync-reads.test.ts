import { beforeEach, describe, expect, test } from 'vitest'
import type { Anything } from '../contract/kube.ts'
import { statusBody } from '../helpers/faults.ts'
import { TENANT } from '../helpers/sync-cluster.ts'
import {
  aboutToDelete,
  declareOld,
  NOTHING,
  onceAfter,
  RELEASE,
  RELEASES,
  SECRETS,
  type SyncPlace,
  syncPlace,
  syncWith,
  UNDECLARED_SINCE,
  users,
} from '../helpers/sync-place.ts'

const DEFINITIONS = '/apis/cozystack.io/v1alpha1/applicationdefinitions'
const APPLICATION_KIND = 'apps.cozystack.io/application.kind'
const APPLICATION_NAME = 'apps.cozystack.io/application.name'

let place: SyncPlace
beforeEach(async () => {
  place = await syncPlace()
})

describe('what is read', () => {
  test('is the release and the definitions first, and the Secrets of that application after them', async () => {
    await place.orders(users('web'))
    await place.sync()
    const calls = place.way.calls().map(({ method, path }) => `${method} ${path.split('?')[0]}`)
    expect(calls.slice(0, 2).toSorted()).toEqual([`GET ${DEFINITIONS}`, `GET ${RELEASES}/${RELEASE}`])
    expect(calls[2]).toBe(`GET ${SECRETS}`)
  })

  test('is never the Secrets of another application, however many there are', async () => {
    await place.orders(users('web'))
    await place.put('web')
    await place.put('other', { labels: { [APPLICATION_NAME]: 'ledger' } })
    await place.put('else', { labels: { [APPLICATION_KIND]: 'Bucket' } })
    const listed: unknown[] = []
    const outcome = await syncWith(place.services, ({ listSecrets }) => ({
      listSecrets: async (namespace, options) => {
        const answer = await listSecrets(namespace, options)
        listed.push(namespace, answer.ok && answer.value.items.map(({ metadata }) => metadata.name))
        return answer
      },
    }))
    expect(outcome).toMatchObject({ value: { report: NOTHING } })
    expect(listed).toEqual([TENANT, [`${RELEASE}.web.account`]])
  })

  // An update that adds an account and seeds it, between two reads: whichever comes first.
  test.each([
    ['without a mark', {}],
    ['with a mark from long ago', { [UNDECLARED_SINCE]: '2026-01-01T00:00:00Z' }],
  ])('never deletes a Secret that is younger than the release that was read, %s', async (_, annotations) => {
    await place.orders(users('web'))
    await place.put('web')
    await place.deployed()
    const seeded: Anything[] = []
    const between = async () => {
      if (seeded.length > 0) return
      seeded.push(await place.put('old', { owner: null, origin: 'NotIssued', annotations }))
      await declareOld(place)
      await place.deployed()
    }
    const outcome = await syncWith(place.services, (kube) => ({
      listSecrets: onceAfter(kube.listSecrets, between),
      getHelmRelease: onceAfter(kube.getHelmRelease, between),
    }))
    expect(outcome).toMatchObject({ value: { report: { deleted: [] } } })
    await place.sync()
    const { data, metadata } = await place.secret('old')
    expect([metadata.uid, data]).toEqual([seeded[0]?.metadata.uid, seeded[0]?.data])
    expect(metadata.annotations).not.toHaveProperty([UNDECLARED_SINCE])
    expect(await place.sync()).toEqual(NOTHING)
  })

  test('is in pages of 500, and the whole list is begun again when it expires under way', async () => {
    await place.orders(users('web', 'z'))
    await place.put('web')
    await place.put('z')
    const asked: unknown[] = []
    const outcome = await syncWith(place.services, ({ listSecrets }) => ({
      listSecrets: async (namespace, options) => {
        asked.push([options.limit, options.continue !== undefined])
        // Page by page, one Secret each.
        if (asked.length === 2) place.sandbox.expireContinueTokens()
        return listSecrets(namespace, { ...options, limit: 1 })
      },
    }))
    expect(outcome).toMatchObject({ value: { report: NOTHING } })
    expect(asked).toEqual([
      [500, false],
      [500, true],
      [500, false],
      [500, true],
    ])
  })

  test('is the definition as it is now, not as it was half a minute ago', async () => {
    await place.orders(users('web'))
    await place.services.definitions.load()
    await place.admin.change('/apis/cozystack.io/v1alpha1/applicationdefinitions/postgres', ({ spec }) => {
      spec.credentials.accounts.push({ kind: 'Static', name: 'web', owner: 'platform' })
    })
    expect(await place.sync()).toEqual(NOTHING)
  })
})

const PAGE_NOT_FOUND = {
  answer: 404,
  body: '404 page not found\n',
  headers: { 'Content-Type': 'text/plain' },
}

/** Whatever of it cannot be read: nothing is written, and nothing taken away. */
describe('nothing happens at all when', () => {
  const READS: readonly (readonly [string, string])[] = [
    ['the Secrets', SECRETS],
    ['the release', `${RELEASES}/${RELEASE}`],
    ['the definitions', DEFINITIONS],
  ]
  const FAULTS = [
    ['answered 500', { answer: 500, body: statusBody(500, 'InternalError', 'etcd') }],
    ['answered 403', { answer: 403, body: statusBody(403, 'Forbidden', 'no') }],
    ['answered 429', { answer: 429, body: statusBody(429, 'TooManyRequests', 'later') }],
    ['answered as of a group that is not there', PAGE_NOT_FOUND],
    [
      'answered 404 about something else',
      { answer: 404, body: statusBody(404, 'NotFound', 'namespaces "x" not found') },
    ],
    ['answered 200 without sense', { answer: 200, body: {} }],
    ['answered with another kind', { answer: 200, body: { kind: 'Status', status: 'Success' } }],
    ['not answered', { breaks: 'after' }],
  ] as const

  test.each(READS.flatMap(([what, path]) => FAULTS.map(([how, fault]) => [what, how, path, fault] as const)))(
    '%s are %s',
    async (_what, _how, path, fault) => {
      await aboutToDelete(place)
      await place.changeSecret('web', ({ metadata }) => {
        metadata.ownerReferences = []
      })
      const before = await place.secrets()
      place.way.add({ when: (call) => call.path.split('?')[0] === path, fault })
      await expect(place.sync()).rejects.toThrow(/^kube_/)
      expect(await place.secrets()).toEqual(before)
      expect(place.writes()).toEqual([])
      expect(place.events).toEqual([])
    },
  )

  test('one of many that could stand at the name of an account cannot be read', async () => {
    await place.orders(users(...Array.from({ length: 20 }, (_, index) => `u${index}`)))
    place.way.add({ when: ({ path }) => path === `${SECRETS}/${RELEASE}.u9.account`, fault: { answer: 500 } })
    await expect(place.sync()).rejects.toThrow('kube_error')
    expect(place.writes()).toEqual([])
    expect(place.events).toEqual([])
  })

  test('a second page of the Secrets does not come', async () => {
    await aboutToDelete(place)
    place.way.add({ when: ({ path }) => path.includes('continue='), fault: { answer: 500 } })
    const outcome = await syncWith(place.services, ({ listSecrets }) => ({
      listSecrets: (namespace, options) => listSecrets(namespace, { ...options, limit: 1 }),
    }))
    expect(outcome).toMatchObject({ ok: false, failure: { reason: 'kube_error' } })
    expect(place.writes()).toEqual([])
  })

  test.each<[string, () => unknown, string]>([
    ['the CRD no longer keeps the block', () => place.sandbox.setDefinitionPatched(false), 'unserved'],
    ['the definition is gone', () => place.admin.remove(`${DEFINITIONS}/postgres`), 'unserved'],
  ])('%s', async (_, given, is) => {
    await aboutToDelete(place)
    await given()
    expect(await place.outcome()).toMatchObject({ is })
    expect(place.writes()).toEqual([])
  })

  test.each<[string, (definition: Anything) => void, string]>([
    [
      'names a format that nobody knows',
      ({ spec }) => Object.assign(spec.credentials.format, { name: 'md5' }),
      'definition_wrong',
    ],
    [
      'has a source of a kind that is to come',
      ({ spec }) => spec.credentials.accounts.push({ kind: 'Webhook' }),
      'definition_wrong',
    ],
    [
      'has a field that nobody knows',
      ({ spec }) => Object.assign(spec.credentials, { acounts: [] }),
      'definition_wrong',
    ],
    [
      'shares its kind with another',
      ({ spec }) => Object.assign(spec.application, { kind: 'MariaDB' }),
      'definitions_ambiguous',
    ],
  ])('the definition %s', async (_, change, reason) => {
    await aboutToDelete(place)
    await place.admin.change(`${DEFINITIONS}/postgres`, change)
    if (reason === 'definitions_ambiguous') {
      await place.changeRelease(({ metadata }) => {
        metadata.labels['apps.cozystack.io/application.kind'] = 'MariaDB'
      })
    }
    await expect(place.sync()).rejects.toThrow(reason)
    expect(place.writes()).toEqual([])
  })
})
