import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { binary, reference, structured } from '../../helpers/cloud-events.ts'
import { EVENTS_KEY, FLUX_KEY } from '../backends/settings.ts'
import type { Contract } from '../contract.ts'
import type { Tenant } from '../tenant.ts'

const CREDENTIAL = 'mariadb-shop.app'
const HISTORY = 'credentials.cozystack.io/history'
const bearer = { Authorization: `Bearer ${EVENTS_KEY}` }

/** What is told that something happened: events, Flux, ticks. */
export function hints({ backend, tenant }: Contract): void {
  const post = (path: string, headers: Readonly<Record<string, string>>, body = '') =>
    backend().call(path, { method: 'POST', headers, body })
  const shop = async () => {
    const acme = await tenant()
    await acme.release('MariaDB', 'shop', { users: { app: {} } })
    return acme
  }
  const release = ({ namespace }: Tenant) => ({ namespace, name: 'mariadb-shop' })
  /** Answered without a body, and seeded once, by the function itself. */
  const expectSeeded = async (acme: Tenant, answer: Response) => {
    expect([answer.status, await answer.text()]).toEqual([204, ''])
    const { metadata } = await acme.secret(CREDENTIAL)
    expect(JSON.parse(metadata.annotations[HISTORY])).toMatchObject([
      { operation: 'Create', by: 'system:serviceaccount:mintonce:mintonce' },
    ])
  }

  describe('a CloudEvent', () => {
    test('in binary mode has its release synced', async () => {
      const acme = await shop()
      const { headers, body } = binary(release(acme))
      await expectSeeded(acme, await post('/events', { ...headers, ...bearer }, body))
      const before = await acme.secret(CREDENTIAL)
      expect((await post('/events', { ...headers, ...bearer }, body)).status).toBe(204)
      expect(await acme.secret(CREDENTIAL)).toEqual(before)
    })

    test('in structured mode, with the key as its attribute', async () => {
      const acme = await shop()
      const event = structured('dev.knative.apiserver.resource.add', {
        mintoncekey: EVENTS_KEY,
        data: { ...reference, metadata: release(acme) },
      })
      const headers = { 'Content-Type': 'application/cloudevents+json' }
      await expectSeeded(acme, await post('/events', headers, JSON.stringify(event)))
    })

    test('in a batch, which may have more', async () => {
      const [one, two] = [await shop(), await shop()]
      const events = [one, two, one].map((acme) =>
        structured('dev.knative.apiserver.ref.update', { data: { ...reference, ...release(acme) } }),
      )
      const headers = { ...bearer, 'Content-Type': 'application/cloudevents-batch+json' }
      const answer = await post('/events', headers, JSON.stringify(events))
      await expectSeeded(one, answer.clone())
      await expectSeeded(two, answer)
    })

    test('by the token of its source, which the cluster reviews', async () => {
      const acme = await shop()
      const { headers, body } = binary(release(acme))
      const token = await backend().tokenOf('mintonce', 'mintonce')
      await expectSeeded(acme, await post('/events', { ...headers, Authorization: `Bearer ${token}` }, body))
      const broken = `Bearer ${token.slice(0, -4)}AAAA`
      expect((await post('/events', { ...headers, Authorization: broken }, body)).status).toBe(401)
    })

    test('about something else, or nothing that is there, is done with', async () => {
      const acme = await tenant()
      for (const event of [
        binary({ ...release(acme), name: 'nothing' }),
        binary({ ...release(acme), kind: 'HelmChart' }),
        binary({ ...release(acme), type: 'com.example.other' }),
        binary({ namespace: 'no-such-namespace' }),
      ]) {
        const answer = await post('/events', { ...event.headers, ...bearer }, event.body)
        expect([answer.status, await answer.text()]).toEqual([204, ''])
      }
    })

    test('of somebody without the key is 401, of a tenant’s administrator too', async () => {
      const acme = await shop()
      const { headers, body } = binary(release(acme))
      for (const more of [
        {},
        { Authorization: `Bearer ${acme.tokens.admin}` },
        { 'ce-mintoncekey': 'wrong' },
      ]) {
        expect((await post('/events', { ...headers, ...more }, body)).status).toBe(401)
      }
      expect(await acme.secret(CREDENTIAL)).toBeUndefined()
    })

    test('whose name leads elsewhere is 400', async () => {
      const acme = await shop()
      for (const name of ['../../../../api/v1/secrets', 'mariadb-shop%2f..', 'A']) {
        const data = { ...reference, ...release(acme), name }
        const event = structured('dev.knative.apiserver.ref.add', { data })
        const headers = { ...bearer, 'Content-Type': 'application/cloudevents+json' }
        expect((await post('/events', headers, JSON.stringify(event))).status).toBe(400)
      }
    })
  })

  describe('an event of Flux', () => {
    const signed = (body: string, key = FLUX_KEY) => ({
      'Content-Type': 'application/json',
      'X-Signature': `sha256=${createHmac('sha256', key).update(body).digest('hex')}`,
    })

    test('has the release synced that it is about, also when it is sent again', async () => {
      const acme = await shop()
      const body = JSON.stringify({
        involvedObject: { ...reference, ...release(acme) },
        message: 'upgraded ✓',
      })
      await expectSeeded(acme, await post('/hooks/flux', signed(body), body))
      const before = await acme.secret(CREDENTIAL)
      expect((await post('/hooks/flux', signed(body), body)).status).toBe(204)
      expect(await acme.secret(CREDENTIAL)).toEqual(before)
    })

    test('that nobody has signed is 401', async () => {
      const acme = await shop()
      const body = JSON.stringify({ involvedObject: { ...reference, ...release(acme) } })
      for (const headers of [{}, signed(body, 'another-key-altogether'), signed(`${body} `), bearer]) {
        expect((await post('/hooks/flux', headers, body)).status).toBe(401)
      }
      expect(await acme.secret(CREDENTIAL)).toBeUndefined()
    })
  })

  describe('a tick', () => {
    test('has all releases synced, and one right after it none again', async () => {
      const acme = await shop()
      const ticks = async () => (await post('/tick', bearer)).status
      await expect
        .poll(async () => [await ticks(), await acme.secret(CREDENTIAL)], { timeout: 20_000, interval: 1000 })
        .toEqual([204, expect.anything()])
      await acme.release('MariaDB', 'second', { users: { app: {} } })
      expect(await ticks()).toBe(204)
      expect(await acme.secret('mariadb-second.app')).toBeUndefined()
    })

    test('of somebody without the key is 401', async () => {
      expect((await post('/tick', {})).status).toBe(401)
      expect((await post('/tick', { 'ce-mintoncekey': 'wrong' })).status).toBe(401)
    })
  })

  test('neither key was logged', () => {
    expect(backend().logged()).toContain('"event":"hinted"')
    for (const key of [EVENTS_KEY, FLUX_KEY]) expect(backend().logged()).not.toContain(key)
  })
}
