import { describe, expect, test } from 'vitest'
import { newPlace } from '../asking.ts'
import type { Served } from '../kube-api.ts'

const eventOf = (namespace: string, more: object = {}) => ({
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { namespace, generateName: 'orders-' },
  eventTime: '2026-10-02T09:14:07.000000Z',
  reportingController: 'example.org/controller',
  reportingInstance: 'one',
  type: 'Normal',
  reason: 'Tested',
  action: 'Test',
  note: 'a note',
  regarding: { apiVersion: 'v1', kind: 'Secret', namespace, name: 'orders' },
  ...more,
})

const pathOf = (namespace: string) => `/apis/events.k8s.io/v1/namespaces/${namespace}/events`

export function events(served: Served): void {
  describe('an Event', () => {
    test('is stored, and listed again', async () => {
      const { ask, create, namespace } = await newPlace(served)
      const { metadata } = await create(pathOf(namespace), eventOf(namespace))
      expect(metadata.name).toMatch(/^orders-[a-z0-9]{5}$/)
      const { items } = (await ask('GET', pathOf(namespace))).body
      expect(items).toMatchObject([
        { note: 'a note', reason: 'Tested', eventTime: '2026-10-02T09:14:07.000000Z' },
      ])
    })

    test('keeps its time in UTC', async () => {
      const { create, namespace } = await newPlace(served)
      const event = eventOf(namespace, { eventTime: '2026-10-02T09:14:07.123456+02:00' })
      expect((await create(pathOf(namespace), event)).eventTime).toBe('2026-10-02T07:14:07.123456Z')
    })

    test.each(['2026-10-02T09:14:07Z', '2026-10-02T09:14:07.123Z'])(
      'refuses the time %s',
      async (eventTime) => {
        const { ask, namespace } = await newPlace(served)
        const answer = await ask('POST', pathOf(namespace), eventOf(namespace, { eventTime }))
        expect(answer.body).toMatchObject({ code: 400, reason: 'BadRequest' })
        expect(answer.body.message).toContain('parsing time')
      },
    )

    // Lengths are bytes: "é" has two.
    test.each([
      [{ eventTime: undefined }, ['eventTime: Required value']],
      [{ note: 'é'.repeat(513) }, ['message: Invalid value: "": can have at most 1024 characters']],
      [{ reason: 'é'.repeat(65) }, ['reason: Invalid value: "": can have at most 128 characters']],
      [{ reason: '' }, ['reason: Required value']],
      [{ action: '' }, ['action: Required value']],
      [{ reportingInstance: '' }, ['reportingInstance: Required value']],
      [{ type: 'Banana' }, ['type: Invalid value: "": has invalid value: Banana']],
      [{ deprecatedCount: 3 }, ['count: Invalid value: "": needs to be unset']],
      [
        { regarding: { apiVersion: 'v1', kind: 'Secret', name: 'orders' } },
        ['involvedObject.namespace: Invalid value: "": does not match event.namespace'],
      ],
    ])('with %j is Invalid', async (more, causes) => {
      const { ask, namespace } = await newPlace(served)
      const { body } = await ask('POST', pathOf(namespace), eventOf(namespace, more))
      expect(body).toMatchObject({ code: 422, reason: 'Invalid', details: { kind: 'Event' } })
      expect(
        body.details.causes.map(({ field, message }: Record<string, string>) => `${field}: ${message}`),
      ).toEqual(causes)
    })

    test.each([{ note: 'é'.repeat(512) }, { reason: 'é'.repeat(64) }])('with %j is taken', async (more) => {
      const { ask, namespace } = await newPlace(served)
      expect((await ask('POST', pathOf(namespace), eventOf(namespace, more))).status).toBe(201)
    })

    test('cannot have a generated name whose prefix ends in a dot', async () => {
      const { ask, namespace } = await newPlace(served)
      const event = eventOf(namespace, { metadata: { namespace, generateName: 'orders.' } })
      const { body } = await ask('POST', pathOf(namespace), event)
      expect(body.details.causes[0].field).toBe('metadata.generateName')
    })
  })
}
