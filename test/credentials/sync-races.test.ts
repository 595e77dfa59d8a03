import { beforeEach, describe, expect, test } from 'vitest'
import { type SyncServices, sync } from '../../src/credentials/sync.ts'
import { statusBody } from '../helpers/faults.ts'
import { BY, TENANT } from '../helpers/sync-cluster.ts'
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

const target = { namespace: TENANT, release: RELEASE }

let place: SyncPlace
beforeEach(async () => {
  place = await syncPlace()
})

describe('a delete', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['declares the account again', () => declareOld(place)],
    [
      'declares it again and has landed',
      async () => {
        await declareOld(place)
        await place.deployed()
      },
    ],
    ['is suspended', () => place.changeRelease(({ spec }) => Object.assign(spec, { suspend: true }))],
    [
      'takes values from the Secret',
      () =>
        place.changeRelease(({ spec }) =>
          Object.assign(spec, { valuesFrom: [{ kind: 'Secret', name: `${RELEASE}.old.account` }] }),
        ),
    ],
    ['is not ready any more', () => place.deployed({ conditions: [{ type: 'Ready', status: 'False' }] })],
    [
      'becomes an application of another kind',
      () =>
        place.changeRelease(({ metadata }) =>
          Object.assign(metadata.labels, { 'apps.cozystack.io/application.kind': 'Bucket' }),
        ),
    ],
    ['is gone', () => place.admin.remove(`${RELEASES}/${RELEASE}`)],
    [
      'is another of the same name',
      async () => {
        await place.admin.remove(`${RELEASES}/${RELEASE}`)
        await place.orders(users('web'))
        await place.deployed()
      },
    ],
  ])('does not happen when the release, read once more just before, %s', async (_, change) => {
    await aboutToDelete(place)
    await syncWith(place.services, ({ getHelmRelease }) => ({
      getHelmRelease: onceAfter(getHelmRelease, change),
    }))
    expect(place.writes().filter((write) => write.startsWith('DELETE'))).toEqual([])
  })

  test('does not hit a Secret that somebody has touched meanwhile, a mint for example', async () => {
    await aboutToDelete(place)
    const touch = () =>
      place.changeSecret('old', (secret) => Object.assign(secret.data, { password: 'bmV3' }))
    const outcome = await syncWith(place.services, ({ deleteSecret }) => {
      let tries = 0
      return {
        deleteSecret: async (...given) => {
          tries += 1
          if (tries === 1) {
            await touch()
            await declareOld(place)
          }
          return deleteSecret(...given)
        },
      }
    })
    expect(outcome).toMatchObject({ value: { report: { deleted: [], adopted: [`${RELEASE}.old`] } } })
    expect((await place.secret('old')).data.password).toBe('bmV3')
  })

  test('does not hit another Secret of the same name', async () => {
    await aboutToDelete(place)
    const swap = async () => {
      await place.admin.remove(`${SECRETS}/${RELEASE}.old.account`)
      await place.put('old', { origin: 'Revoked' })
    }
    await syncWith(place.services, ({ listSecrets }) => ({ listSecrets: onceAfter(listSecrets, swap) }))
    expect((await place.secret('old')).metadata.annotations).toMatchObject({
      'credentials.cozystack.io/origin': 'Revoked',
    })
  })

  test('is done where a quota refuses the write beside it', async () => {
    await aboutToDelete(place)
    await place.changeSecret('web', ({ metadata }) => {
      metadata.ownerReferences = []
    })
    const fault = {
      answer: 403,
      body: statusBody(
        403,
        'Forbidden',
        'secrets "x" is forbidden: exceeded quota: tenant, requested: secrets=1',
      ),
    }
    place.way.add({ when: ({ method }) => method === 'PUT', fault, times: 1 })
    await expect(place.sync()).rejects.toThrow('kube_quota_exceeded')
    expect(await place.secret('old')).toBeUndefined()
    expect(await place.sync()).toEqual({ ...NOTHING, adopted: [`${RELEASE}.web`] })
  })
})

describe('a write that loses a race', () => {
  const CONFLICT = { answer: 409, body: statusBody(409, 'Conflict', 'the object has been modified') }
  const EXISTS = { answer: 409, body: statusBody(409, 'AlreadyExists', 'already exists') }

  test('is planned anew, and the report names each thing once', async () => {
    await place.orders(users('a', 'b', 'c', 'd'))
    await place.put('b', { owner: null })
    place.way.add({ when: ({ method }) => method === 'PUT', fault: CONFLICT, times: 1 })
    place.way.add({ when: ({ body }) => body.includes('.c.account'), fault: EXISTS, times: 1 })
    expect(await place.sync()).toEqual({
      ...NOTHING,
      created: ['a', 'd', 'c'].map((name) => `${RELEASE}.${name}`),
      adopted: [`${RELEASE}.b`],
    })
  })

  test('each time is given up after a few rounds, and the others are done', async () => {
    await place.orders(users('a', 'b'))
    await place.put('a', { owner: null })
    place.way.add({ when: ({ method }) => method === 'PUT', fault: CONFLICT })
    await expect(place.sync()).rejects.toThrow('kube_conflict')
    expect(place.writes().filter((write) => write.startsWith('PUT'))).toHaveLength(4)
    expect(await place.secret('b')).toBeDefined()
  })

  test('to a mint leaves the minted value', async () => {
    await place.orders(users('web'))
    await place.put('web', { owner: null })
    const mint = () =>
      place.changeSecret('web', (secret) => Object.assign(secret.data, { password: 'bWludGVk' }))
    await syncWith(place.services, ({ listSecrets }) => ({ listSecrets: onceAfter(listSecrets, mint) }))
    expect(await place.secret('web')).toMatchObject({
      data: { password: 'bWludGVk' },
      metadata: { ownerReferences: [{ kind: 'HelmRelease' }] },
    })
  })
})

describe('two syncs at once', () => {
  const both = () => Promise.all([1, 2].map(() => sync(place.services, target, { by: BY })))
  const told = (
    outcomes: Awaited<ReturnType<typeof both>>,
    what: 'created' | 'adopted' | 'marked' | 'deleted',
  ) =>
    outcomes
      .flatMap((each) => (each.ok && each.value.is === 'synced' ? each.value.report[what] : ['failed']))
      .toSorted()

  test('seed each of many accounts once, and both are content', async () => {
    const names = Array.from({ length: 60 }, (_, index) => `u${index}`)
    await place.orders(users(...names))
    const created = told(await both(), 'created')
    expect(created).toEqual(names.map((name) => `${RELEASE}.${name}`).toSorted())
    expect(await place.secrets()).toHaveLength(60)
  })

  test('adopt, mark and delete each once', async () => {
    await aboutToDelete(place)
    await place.put('gone')
    await place.changeSecret('web', ({ metadata }) => {
      metadata.ownerReferences = []
    })
    const outcomes = await both()
    expect(told(outcomes, 'adopted')).toEqual([`${RELEASE}.web`])
    expect(told(outcomes, 'marked')).toEqual([`${RELEASE}.gone`])
    expect(told(outcomes, 'deleted')).toEqual([`${RELEASE}.old`])
  })

  test('replace a leftover once', async () => {
    await place.orders(users('web'))
    await place.put('web', { origin: 'NotIssued', owner: 'x', annotation: 'x' })
    expect(told(await both(), 'created')).toEqual([`${RELEASE}.web`])
  })
})

/** What the server did, and nobody heard. */
describe('a write whose answer is lost', () => {
  const lost = (method: string) =>
    place.way.add({ when: (call) => call.method === method, fault: { breaks: 'after' }, times: 1 })

  test.each<[string, string, () => Promise<unknown>]>([
    ['a seed', 'POST', () => place.orders(users('web'))],
    [
      'an adoption',
      'PUT',
      async () => {
        await place.orders(users('web'))
        await place.put('web', { owner: null })
      },
    ],
    [
      'a mark',
      'PUT',
      async () => {
        await aboutToDelete(place)
        await place.changeSecret('old', ({ metadata }) => delete metadata.annotations[UNDECLARED_SINCE])
      },
    ],
    ['a delete', 'DELETE', () => aboutToDelete(place)],
  ])('fails the sync, and the next one finds it done: %s', async (_, method, given) => {
    await given()
    lost(method)
    await expect(place.sync()).rejects.toThrow('kube_unreachable')
    const after = await place.secrets()
    expect(await place.sync()).toEqual(NOTHING)
    expect(await place.secrets()).toEqual(after)
    expect(place.writes()).toHaveLength(1)
  })

  test('in the middle of a replacement leaves a name that the next sync seeds', async () => {
    await place.orders(users('web'))
    await place.put('web', { origin: 'NotIssued', owner: 'x', annotation: 'x' })
    lost('DELETE')
    await expect(place.sync()).rejects.toThrow('kube_unreachable')
    expect(await place.secret('web')).toBeUndefined()
    expect((await place.sync()).created).toEqual([`${RELEASE}.web`])
  })

  test('ends the sync: while nobody answers the rest is not tried', async () => {
    await place.orders(users('a', 'b', 'c'))
    lost('POST')
    await expect(place.sync()).rejects.toThrow('kube_unreachable')
    expect(place.writes()).toHaveLength(1)
  })
})

test('a caller that has gone ends it before the next write', async () => {
  await place.orders(users('a', 'b', 'c'))
  const gone = new AbortController()
  const services: SyncServices = {
    ...place.services,
    kube: {
      ...place.services.kube,
      createSecret: onceAfter(place.services.kube.createSecret, async () => gone.abort()),
    },
  }
  expect(await sync(services, target, { by: BY, signal: gone.signal })).toMatchObject({
    ok: false,
    failure: { reason: 'kube_timeout' },
  })
  expect(await place.secrets()).toHaveLength(1)
})

/** `k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle`. */
test('a namespace that goes away refuses one seed, and the others are not tried', async () => {
  await place.orders(users('a', 'b'))
  const details = { causes: [{ reason: 'NamespaceTerminating', field: 'metadata.namespace' }] }
  const body = { ...statusBody(403, 'Forbidden', 'because it is being terminated'), details }
  place.way.add({ when: ({ method }) => method === 'POST', fault: { answer: 403, body } })
  await expect(place.sync()).rejects.toThrow('kube_namespace_terminating')
  expect(place.writes()).toHaveLength(1)
})
