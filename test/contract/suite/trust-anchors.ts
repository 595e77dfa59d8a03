import { describe, expect, test } from 'vitest'
import { binary, structured } from '../../helpers/cloud-events.ts'
import { createEngineCa } from '../../helpers/engine-ca.ts'
import { ANCHOR, type Anchoring, createAnchoring, keyLines, PROJECTION, SOURCE } from '../anchoring.ts'
import { GROUP } from '../backend.ts'
import { EVENTS_KEY } from '../backends/settings.ts'
import type { Contract } from '../contract.ts'
import { adminOf, decode } from '../kube.ts'
import { leaks } from '../passwords.ts'

/** Everything that a look with nothing to do must leave as it is. */
const versionsOf = async ({ published, projection }: Anchoring) => [
  (await published())?.metadata.resourceVersion,
  (await projection()).metadata.resourceVersion,
]

/** An engine's CA, published without its key. */
export function trustAnchors(context: Contract): void {
  const anchoring = () => createAnchoring(context)
  const send = (headers: Readonly<Record<string, string>>, body = '') =>
    context.backend().call('/events', {
      method: 'POST',
      headers: { Authorization: `Bearer ${EVENTS_KEY}`, ...headers },
      body,
    })

  describe('a trust anchor', () => {
    test('CAP-15: is the certificate of a source that holds the key beside it', async () => {
      const acme = await anchoring()
      const { metadata } = await acme.declare()
      await acme.leave()
      const { status, body } = await acme.publish()
      expect(status).toBe(200)
      expect(body).toMatchObject({
        kind: 'Status',
        status: 'Success',
        message: expect.stringMatching(/^Projected: /),
        details: { name: PROJECTION, group: GROUP, kind: 'tenantprojections' },
      })
      expect(body.details.causes).toEqual([{ reason: 'Projected', message: expect.any(String) }])
      const published = await acme.published()
      expect(published.type).toBe('Opaque')
      expect(Object.keys(published.data)).toEqual(['ca.crt'])
      expect(decode(published.data['ca.crt'])).toBe(acme.ca.certificate)
      expect(published.metadata.labels).toMatchObject({
        'internal.cozystack.io/tenant-ca': 'true',
        'internal.cozystack.io/ca-cert-copy': 'true',
      })
      expect(published.metadata.labels).not.toHaveProperty(['internal.cozystack.io/tenantresource'])
      expect(published.metadata.annotations['internal.cozystack.io/ca-cert-source']).toBe(
        `${acme.namespace}/${SOURCE}`,
      )
      expect(published.metadata.ownerReferences).toEqual([
        {
          apiVersion: 'internal.cozystack.io/v1alpha1',
          kind: 'TenantProjection',
          name: PROJECTION,
          uid: metadata.uid,
          controller: true,
          blockOwnerDeletion: false,
        },
      ])
      expect(await acme.ready()).toBe('True Projected')
      expect((await acme.projection()).status.observedGeneration).toBe(metadata.generation)
    })

    test('is not written again when nothing differs, nor is its status', async () => {
      const acme = await anchoring()
      await acme.declare()
      await acme.leave()
      await acme.publish()
      const before = await versionsOf(acme)
      for (let i = 0; i < 3; i += 1) expect((await acme.publish()).status).toBe(200)
      expect(await versionsOf(acme)).toEqual(before)
    })

    test('is the same whoever publishes it at the same time', async () => {
      const acme = await anchoring()
      await acme.declare()
      await acme.leave()
      const answers = await Promise.all(Array.from({ length: 8 }, () => acme.publish()))
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200))
      expect(decode((await acme.published()).data['ca.crt'])).toBe(acme.ca.certificate)
      expect(await acme.ready()).toBe('True Projected')
    })

    test('waits for a source, and says for what', async () => {
      const acme = await anchoring()
      await acme.declare()
      expect((await acme.publish()).body.details.causes[0].reason).toBe('SourceNotFound')
      expect(await acme.ready()).toBe('False SourceNotFound')
      await acme.leave(SOURCE, { 'ca.crt': ' \n' })
      expect((await acme.publish()).body.details.causes[0].reason).toBe('SourceNotReady')
      await acme.source({ 'ca.crt': acme.ca.certificate })
      expect((await acme.publish()).body.details.causes[0].reason).toBe('Projected')
      expect(await acme.ready()).toBe('True Projected')
    })

    test.each<
      [what: string, data: (acme: Anchoring) => Readonly<Record<string, string>> | undefined, string]
    >([
      ['garbage', () => ({ 'ca.crt': 'no certificate' }), 'SourceRejected'],
      ['a key', ({ ca }) => ({ 'ca.crt': ca.key }), 'SourceRejected'],
      ['a certificate and a key', ({ ca }) => ({ 'ca.crt': ca.certificate + ca.key }), 'SourceRejected'],
      ['nothing', () => ({ 'ca.crt': '' }), 'SourceNotReady'],
      ['another key of the Secret', ({ ca }) => ({ 'tls.crt': ca.certificate }), 'SourceNotReady'],
      ['no Secret at all', () => undefined, 'SourceNotFound'],
    ])('stays as it is when its source becomes %s', async (_, data, reason) => {
      const acme = await anchoring()
      await acme.declare()
      await acme.leave()
      await acme.publish()
      const before = await acme.published()
      await acme.source(data(acme))
      expect((await acme.publish()).body.details.causes[0].reason).toBe(reason)
      expect(await acme.published()).toEqual(before)
      expect(await acme.ready()).toBe(`False ${reason}`)
    })

    test('never takes the place of what somebody else has put there', async () => {
      const acme = await anchoring()
      await acme.declare()
      await acme.leave()
      const labels = {
        'internal.cozystack.io/tenant-ca': 'true',
        'internal.cozystack.io/ca-cert-copy': 'true',
      }
      const forged = await acme.leave(ANCHOR, { 'ca.crt': 'theirs' }, { metadata: { name: ANCHOR, labels } })
      expect((await acme.publish()).body.details.causes[0].reason).toBe('ProjectionCollision')
      expect(await acme.published()).toEqual(forged)
      expect(await acme.ready()).toBe('False ProjectionCollision')
      await expect.poll(acme.reasons).toContain('CACertSecretCollision')
    })

    test('is published by nobody of the tenant', async () => {
      const acme = await anchoring()
      await acme.declare()
      await acme.leave()
      for (const as of ['admin', 'viewer', 'stranger'] as const) {
        for (const name of [PROJECTION, 'nothing']) {
          const { status, body } = await acme.publish(name, { as })
          expect(status).toBe(403)
          expect(body.message).toContain(
            `cannot create resource "tenantprojections/sync" in API group "${GROUP}"`,
          )
        }
      }
      expect(await acme.published()).toBeUndefined()
    })

    test('of nothing that is declared is 404, and has no dry run', async () => {
      const acme = await anchoring()
      const { status, body } = await acme.publish('nothing')
      expect([status, body.reason]).toEqual([404, 'NotFound'])
      // The kind's own group, not that of the call.
      expect(body.details).toEqual({
        name: 'nothing',
        group: 'internal.cozystack.io',
        kind: 'tenantprojections',
      })
      await acme.declare()
      await acme.leave()
      expect((await acme.publish(PROJECTION, { query: 'dryRun=All' })).status).toBe(400)
      const headers = { 'Content-Type': 'application/json' }
      expect((await acme.publish(PROJECTION, { body: 'no JSON', headers })).status).toBe(400)
      expect(await acme.published()).toBeUndefined()
      expect((await acme.publish(PROJECTION, { body: {}, headers })).status).toBe(200)
    })

    test('is published for an event about what declares it, and renewed for one about its source', async () => {
      const acme = await anchoring()
      await acme.declare()
      await acme.leave()
      const about = (kind: string, apiVersion: string) =>
        structured('dev.knative.apiserver.ref.update', {
          data: { kind, apiVersion, namespace: acme.namespace, name: SOURCE },
        })
      const headers = { 'Content-Type': 'application/cloudevents+json' }
      const projected = about('TenantProjection', 'internal.cozystack.io/v1alpha1')
      expect((await send(headers, JSON.stringify(projected))).status).toBe(204)
      expect(decode((await acme.published()).data['ca.crt'])).toBe(acme.ca.certificate)

      const { certificate } = await createEngineCa('another')
      await acme.source({ 'ca.crt': acme.ca.certificate + certificate })
      expect((await send(headers, JSON.stringify(about('Secret', 'v1')))).status).toBe(204)
      expect(decode((await acme.published()).data['ca.crt'])).toBe(acme.ca.certificate + certificate)
    })

    test('is put right for an event about itself', async () => {
      const acme = await anchoring()
      await acme.declare()
      await acme.leave()
      await acme.publish()
      const path = `/api/v1/namespaces/${acme.namespace}/secrets/${ANCHOR}`
      await acme.admin.change(path, (secret) => {
        secret.data = { 'ca.crt': 'dGhlaXJz', 'ca.key': 'dGhlaXJz' }
      })
      const event = binary({ kind: 'Secret', namespace: acme.namespace, name: ANCHOR })
      expect((await send({ ...event.headers, 'ce-apiversion': 'v1' })).status).toBe(204)
      const { data } = await acme.published()
      expect(Object.keys(data)).toEqual(['ca.crt'])
      expect(decode(data['ca.crt'])).toBe(acme.ca.certificate)
    })

    test('takes nothing from an event that brings the data of a Secret along', async () => {
      const acme = await anchoring()
      await acme.declare()
      await acme.leave()
      const secret = await acme.admin.get(`/api/v1/namespaces/${acme.namespace}/secrets/${SOURCE}`)
      const headers = { 'Content-Type': 'application/cloudevents+json' }
      const { namespace } = acme
      for (const more of [{}, { kind: 'Secret', apiversion: 'v1', namespace, name: SOURCE }]) {
        const event = structured('dev.knative.apiserver.resource.add', { data: secret, ...more })
        expect((await send(headers, JSON.stringify(event))).status).toBe(204)
      }
      expect(await acme.published()).toBeUndefined()
    })

    test('is not what a label of the tenant’s own asks for', async () => {
      const acme = await anchoring()
      const labels = {
        'internal.cozystack.io/publish-ca-cert': 'true',
        'internal.cozystack.io/publish-ca-cert-release': 'postgres-orders',
      }
      await acme.release('Postgres', 'orders', { users: {} })
      await acme.leave(SOURCE, { 'ca.crt': acme.ca.certificate }, { metadata: { name: SOURCE, labels } })
      const event = binary({ kind: 'Secret', namespace: acme.namespace, name: SOURCE })
      expect((await send({ ...event.headers, 'ce-apiversion': 'v1' })).status).toBe(204)
      expect(await acme.published()).toBeUndefined()
    })

    test('leaves its key where it was: in no log line, and in no Event', async () => {
      expect(keyLines.length).toBeGreaterThan(10)
      const events = await adminOf(context.backend().admin).get('/apis/events.k8s.io/v1/events')
      expect(JSON.stringify(events)).toContain('CACertPrivateKeyRefused')
      const texts = [context.backend().logged(), JSON.stringify(events)]
      for (const text of texts) expect(leaks(text, keyLines)).toEqual([])
    })
  })
}
