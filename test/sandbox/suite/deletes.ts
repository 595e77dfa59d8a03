import { describe, expect, test } from 'vitest'
import { MERGE_PATCH, newPlace, releaseOf, secretOf, statusOf } from '../asking.ts'
import type { Served } from '../kube-api.ts'

const HOLD = 'example.org/hold'

export function deletes(served: Served): void {
  describe('a DELETE', () => {
    test('answers a Status that says what is gone', async () => {
      const { ask, secrets, releases, create } = await newPlace(served)
      const secret = await create(secrets, secretOf('a'))
      const release = await create(releases, releaseOf('r'))
      expect((await ask('DELETE', `${secrets}/a`)).body).toEqual({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Success',
        details: { name: 'a', kind: 'secrets', uid: secret.metadata.uid },
      })
      expect((await ask('DELETE', `${releases}/r`)).body.details).toEqual({
        name: 'r',
        group: 'helm.toolkit.fluxcd.io',
        kind: 'helmreleases',
        uid: release.metadata.uid,
      })
      expect((await ask('DELETE', `${secrets}/a`)).body).toMatchObject({ code: 404, reason: 'NotFound' })
    })

    test.each([
      [
        { uid: 'other' },
        (uid: string) =>
          `the UID in the precondition (other) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
      ],
      [
        { uid: '' },
        (uid: string) =>
          `the UID in the precondition () does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
      ],
      [
        { resourceVersion: '1' },
        (_uid: string, version: string) =>
          `the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (${version}). The object might have been modified`,
      ],
      [
        { resourceVersion: '0' },
        (_uid: string, version: string) =>
          `the ResourceVersion in the precondition (0) does not match the ResourceVersion in record (${version}). The object might have been modified`,
      ],
    ])('on the condition %j is a conflict', async (preconditions, why) => {
      const { ask, secrets, create } = await newPlace(served)
      const { metadata } = await create(secrets, secretOf('a'))
      for (const query of ['', '?dryRun=All']) {
        expect(statusOf(await ask('DELETE', `${secrets}/a${query}`, { preconditions }))).toEqual({
          code: 409,
          reason: 'Conflict',
          message: `Operation cannot be fulfilled on Secret "a": ${why(metadata.uid, metadata.resourceVersion)}`,
          details: { name: 'a', kind: 'Secret' },
        })
      }
      expect((await ask('GET', `${secrets}/a`)).status).toBe(200)
    })

    test('on conditions that hold deletes', async () => {
      const { ask, secrets, create } = await newPlace(served)
      const { uid, resourceVersion } = (await create(secrets, secretOf('a'))).metadata
      const options = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } }
      expect((await ask('DELETE', `${secrets}/a`, options)).status).toBe(200)
      expect((await ask('GET', `${secrets}/a`)).status).toBe(404)
    })

    test.each([
      ['?dryRun=All', undefined],
      ['', { kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All'] }],
    ])('as a dry run (%s %j) deletes nothing', async (query, options) => {
      const { ask, secrets, create } = await newPlace(served)
      await create(secrets, secretOf('a'))
      expect((await ask('DELETE', `${secrets}/a${query}`, options)).body).toMatchObject({ status: 'Success' })
      expect((await ask('GET', `${secrets}/a`)).status).toBe(200)
    })

    test('takes no notice of the query when it has a body: a dry run in the query alone deletes', async () => {
      const { ask, secrets, create } = await newPlace(served)
      await create(secrets, secretOf('a'))
      await ask('DELETE', `${secrets}/a?dryRun=All`, { kind: 'DeleteOptions', apiVersion: 'v1' })
      expect((await ask('GET', `${secrets}/a`)).status).toBe(404)
    })

    test.each([
      [{ kind: 'Secret', apiVersion: 'v1' }, 400],
      [{ kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['Some'] }, 422],
      [{ kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Sideways' }, 422],
    ])('with the options %j answers %i', async (options, code) => {
      const { ask, secrets, create } = await newPlace(served)
      await create(secrets, secretOf('a'))
      expect((await ask('DELETE', `${secrets}/a`, options)).status).toBe(code)
    })

    test('of a collection deletes what is selected', async () => {
      const { ask, secrets, create } = await newPlace(served)
      for (const name of ['a', 'b'])
        await create(secrets, secretOf(name, { metadata: { labels: { team: name } } }))
      const { body } = await ask('DELETE', `${secrets}?labelSelector=team%3Da`)
      expect(body.items).toHaveLength(1)
      const left = (await ask('GET', `${secrets}?labelSelector=team`)).body.items
      expect(left.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual(['b'])
    })
  })

  describe('a finalizer', () => {
    test('keeps what is deleted, which can still be changed, until it is taken off', async () => {
      const { ask, secrets, create } = await newPlace(served)
      await create(secrets, secretOf('a', { metadata: { finalizers: [HOLD] } }))
      const marked = (await ask('DELETE', `${secrets}/a`)).body
      expect(marked).toMatchObject({
        kind: 'Secret',
        metadata: { finalizers: [HOLD], deletionGracePeriodSeconds: 0 },
      })
      expect(marked.metadata.deletionTimestamp).toMatch(/^\d{4}-/)

      expect((await ask('DELETE', `${secrets}/a`)).body.metadata.deletionTimestamp).toBe(
        marked.metadata.deletionTimestamp,
      )
      expect((await ask('POST', secrets, secretOf('a'))).body).toMatchObject({
        code: 409,
        reason: 'AlreadyExists',
        message: 'object is being deleted: secrets "a" already exists',
      })
      const labelled = secretOf('a', { metadata: { finalizers: [HOLD], labels: { team: 'x' } } })
      expect((await ask('PUT', `${secrets}/a`, labelled)).status).toBe(200)

      const released = await ask('PATCH', `${secrets}/a`, { metadata: { finalizers: null } }, MERGE_PATCH)
      expect(released.status).toBe(200)
      expect((await ask('GET', `${secrets}/a`)).status).toBe(404)
    })

    test('cannot be added to what is being deleted', async () => {
      const { ask, secrets, create } = await newPlace(served)
      await create(secrets, secretOf('a', { metadata: { finalizers: [HOLD] } }))
      await ask('DELETE', `${secrets}/a`)
      const more = secretOf('a', { metadata: { finalizers: [HOLD, 'example.org/more'] } })
      expect((await ask('PUT', `${secrets}/a`, more)).body).toMatchObject({
        code: 422,
        message:
          'Secret "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.org/more"}',
      })
      await ask('PATCH', `${secrets}/a`, { metadata: { finalizers: null } }, MERGE_PATCH)
    })

    test('makes the deletion of a custom resource a generation', async () => {
      const { ask, releases, create } = await newPlace(served)
      await create(releases, releaseOf('r', { metadata: { finalizers: ['finalizers.fluxcd.io'] } }))
      expect((await ask('DELETE', `${releases}/r`)).body.metadata.generation).toBe(2)
      await ask('PATCH', `${releases}/r`, { metadata: { finalizers: null } }, MERGE_PATCH)
    })
  })
}
