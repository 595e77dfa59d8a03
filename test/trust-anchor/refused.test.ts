import { beforeEach, describe, expect, test } from 'vitest'
import { reconcile } from '../../src/trust-anchor/reconcile.ts'
import {
  type AnchorPlace,
  AUTHORITIES,
  anchorPlace,
  ENTRY,
  PROJECTION,
  PROJECTIONS,
  SOURCE,
  TARGET,
} from '../helpers/anchor-place.ts'
import { statusBody } from '../helpers/faults.ts'

let place: AnchorPlace
beforeEach(async () => {
  place = await anchorPlace()
  await place.secret()
  await place.projection()
})

/** As kube-apiserver answers: its texts may quote what was refused, and are not passed on. */
const QUOTED = 'denied the request: c2VjcmV0'
const REFUSALS: readonly (readonly [string, number, string, string, RegExp, string])[] = [
  [
    'a quota',
    403,
    'Forbidden',
    `secrets "x" is forbidden: exceeded quota: few, requested: secrets=1, used: secrets=9, limited: secrets=9`,
    /^resource quota few has no room for another Secret; what is published already stays$/,
    'kube_quota_exceeded',
  ],
  [
    'a webhook, or our rights',
    403,
    'Forbidden',
    QUOTED,
    /^the API server forbids the write: /,
    'kube_forbidden',
  ],
  [
    'a policy',
    422,
    'Invalid',
    QUOTED,
    /^the API server, or an admission policy, takes the Secret /,
    'kube_invalid',
  ],
]

const refuse = (method: string, code: number, reason: string, text: string) =>
  place.way.add({
    when: (call) => call.method === method && !call.path.includes('/status'),
    fault: { answer: code, body: statusBody(code, reason, text) },
  })

describe.each(REFUSALS)('a write that %s refuses', (_title, code, reason, text, message, failure) => {
  test('is said in the status, once, and the look fails all the same', async () => {
    refuse('POST', code, reason, text)
    for (let time = 1; time <= 2; time += 1) {
      expect(await reconcile(place.services, PROJECTION)).toMatchObject({
        ok: false,
        failure: { reason: failure },
      })
    }
    expect(await place.ready()).toMatchObject({
      status: 'False',
      reason: 'WriteRefused',
      message: expect.stringMatching(message),
    })
    const status = `PUT tenantprojections/${SOURCE}/status`
    const create = `POST secrets/${TARGET}`
    expect(place.writes()).toEqual([create, status, create])
    expect(JSON.stringify([await place.ready(), place.events, place.logged])).not.toContain('c2VjcmV0')
  })

  test('leaves what is published, which was good before', async () => {
    await place.reconcile()
    const before = await place.target()
    await place.fill({ 'ca.crt': AUTHORITIES.second })
    refuse('PUT', code, reason, text)
    await expect(place.reconcile()).rejects.toThrow(failure)
    expect(await place.target()).toEqual(before)
    expect(await place.ready()).toMatchObject({ status: 'False', reason: 'WriteRefused' })
  })

  test('is one that withdraws what is published', async () => {
    await place.reconcile()
    await place.admin.change(`${PROJECTIONS}/${SOURCE}`, ({ spec }) => {
      spec.projections = [{ ...ENTRY, type: 'ConnectionString' }]
    })
    refuse('DELETE', code, reason, text)
    await expect(place.reconcile()).rejects.toThrow(failure)
    expect(await place.ready()).toMatchObject({ status: 'False', reason: 'WriteRefused' })
  })
})

test('is published as soon as nobody refuses it any more', async () => {
  const [, code, reason, text] = REFUSALS[0] ?? ['', 0, '', '']
  place.way.add({
    when: ({ method }) => method === 'POST',
    fault: { answer: code, body: statusBody(code, reason, text) },
    times: 1,
  })
  await expect(place.reconcile()).rejects.toThrow('kube_quota_exceeded')
  expect(await place.reason()).toBe('Projected')
  expect(await place.ready()).toMatchObject({ status: 'True', reason: 'Projected' })
})

test('a failure that passes by itself is none, and the status stays as it was', async () => {
  await place.reconcile()
  const before = await place.ready()
  await place.fill({ 'ca.crt': AUTHORITIES.second })
  place.way.add({ when: ({ method }) => method === 'PUT', fault: { answer: 503 } })
  await expect(place.reconcile()).rejects.toThrow('kube_error')
  expect(await place.ready()).toEqual(before)
})
