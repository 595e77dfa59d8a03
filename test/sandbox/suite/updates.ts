import { describe, expect, test } from 'vitest'
import { encode, MERGE_PATCH, newPlace, releaseOf, secretOf, statusOf } from '../asking.ts'
import type { Served } from '../kube-api.ts'

const MODIFIED =
  'Operation cannot be fulfilled on secrets "a": the object has been modified; please apply your changes to the latest version and try again'

export function updates(served: Served): void {
  describe('a PUT', () => {
    test('stores under a new version, and under the old one when nothing changed', async () => {
      const { ask, secrets, create } = await newPlace(served)
      const created = await create(secrets, secretOf('a'))
      const same = await ask('PUT', `${secrets}/a`, created)
      expect(same.status).toBe(200)
      expect(same.body.metadata.resourceVersion).toBe(created.metadata.resourceVersion)
      const changed = await ask('PUT', `${secrets}/a`, { ...created, data: { username: encode('you') } })
      expect(Number(changed.body.metadata.resourceVersion)).toBeGreaterThan(
        Number(created.metadata.resourceVersion),
      )
      expect(changed.body.metadata.uid).toBe(created.metadata.uid)
      expect((await ask('GET', `${secrets}/a`)).body.data).toEqual({ username: encode('you') })
    })

    test.each(['', '?dryRun=All'])('with a stale version is a conflict%s', async (query) => {
      const { ask, secrets, create } = await newPlace(served)
      const created = await create(secrets, secretOf('a'))
      await ask('PUT', `${secrets}/a`, { ...created, data: { username: encode('you') } })
      expect(statusOf(await ask('PUT', `${secrets}/a${query}`, created))).toEqual({
        code: 409,
        reason: 'Conflict',
        message: MODIFIED,
        details: { name: 'a', kind: 'secrets' },
      })
    })

    test('sent twice succeeds once', async () => {
      const { ask, secrets, create } = await newPlace(served)
      const created = await create(secrets, secretOf('a'))
      const changed = { ...created, data: { username: encode('you') } }
      expect((await ask('PUT', `${secrets}/a`, changed)).status).toBe(200)
      expect((await ask('PUT', `${secrets}/a`, changed)).status).toBe(409)
    })

    test.each(['', '?dryRun=All'])('with the UID of another object is a conflict%s', async (query) => {
      const { ask, secrets, create } = await newPlace(served)
      const created = await create(secrets, secretOf('a'))
      const other = {
        ...created,
        metadata: { ...created.metadata, uid: '00000000-0000-4000-8000-000000000000' },
      }
      const answer = await ask('PUT', `${secrets}/a${query}`, other)
      expect(answer.body).toMatchObject({
        code: 409,
        reason: 'Conflict',
        details: { name: 'a', kind: 'secrets' },
      })
      expect(answer.body.message).toContain(
        `Precondition failed: UID in precondition: ${other.metadata.uid}, UID in object meta: ${created.metadata.uid}`,
      )
    })

    test.each([undefined, '', '0'])(
      'with the version %j overwrites whatever is there',
      async (resourceVersion) => {
        const { ask, secrets, create } = await newPlace(served)
        await create(secrets, secretOf('a'))
        const mine = secretOf('a', { metadata: { resourceVersion }, data: { username: encode('you') } })
        expect((await ask('PUT', `${secrets}/a`, mine)).status).toBe(200)
        expect((await ask('GET', `${secrets}/a`)).body.data).toEqual({ username: encode('you') })
      },
    )

    test.each([undefined, '0'])('of a custom resource needs a version, not %j', async (resourceVersion) => {
      const { ask, releases, create } = await newPlace(served)
      await create(releases, releaseOf('r'))
      expect(
        (await ask('PUT', `${releases}/r`, releaseOf('r', { metadata: { resourceVersion } }))).body,
      ).toMatchObject({
        code: 422,
        reason: 'Invalid',
        message:
          'helmreleases.helm.toolkit.fluxcd.io "r" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
      })
    })

    test('with a version that is no number is an error without a reason', async () => {
      const { ask, secrets, create } = await newPlace(served)
      await create(secrets, secretOf('a'))
      const answer = await ask('PUT', `${secrets}/a`, secretOf('a', { metadata: { resourceVersion: 'abc' } }))
      expect(statusOf(answer)).toEqual({
        code: 500,
        message: 'strconv.ParseUint: parsing "abc": invalid syntax',
      })
    })

    test('to a name that is not there is NotFound', async () => {
      const { ask, secrets } = await newPlace(served)
      const metadata = { resourceVersion: '5', uid: 'x' }
      expect(statusOf(await ask('PUT', `${secrets}/a`, secretOf('a', { metadata })))).toEqual({
        code: 404,
        reason: 'NotFound',
        message: 'secrets "a" not found',
        details: { name: 'a', kind: 'secrets' },
      })
    })

    test.each([
      ['b', 'the name of the object (b) does not match the name on the URL (a)'],
      ['', 'the name of the object (a based on URL) was undeterminable: name must be provided'],
    ])('of the name %j to the name "a" is a bad request', async (name, message) => {
      const { ask, secrets, create } = await newPlace(served)
      await create(secrets, secretOf('a'))
      expect((await ask('PUT', `${secrets}/a`, secretOf(name))).body).toMatchObject({ code: 400, message })
    })

    test('cannot change a type', async () => {
      const { ask, secrets, create } = await newPlace(served)
      await create(secrets, secretOf('a'))
      expect((await ask('PUT', `${secrets}/a`, secretOf('a', { type: 'Opaque' }))).body).toMatchObject({
        code: 422,
        message: 'Secret "a" is invalid: type: Invalid value: "Opaque": field is immutable',
      })
    })

    test('cannot change the data of an immutable Secret, nor make it mutable; its metadata it can', async () => {
      const { ask, secrets, create } = await newPlace(served)
      await create(secrets, secretOf('a', { immutable: true }))
      const other = secretOf('a', { immutable: true, data: { username: encode('you') } })
      const why = 'Forbidden: field is immutable when `immutable` is set'
      expect((await ask('PUT', `${secrets}/a`, other)).body.message).toBe(
        `Secret "a" is invalid: data: ${why}`,
      )
      expect((await ask('PUT', `${secrets}/a`, secretOf('a'))).body.message).toBe(
        `Secret "a" is invalid: immutable: ${why}`,
      )
      const labelled = secretOf('a', { immutable: true, metadata: { labels: { team: 'x' } } })
      expect((await ask('PUT', `${secrets}/a`, labelled)).status).toBe(200)
    })

    test('as a dry run answers the change and stores nothing', async () => {
      const { ask, secrets, create } = await newPlace(served)
      const created = await create(secrets, secretOf('a'))
      const dry = await ask('PUT', `${secrets}/a?dryRun=All`, {
        ...created,
        data: { username: encode('you') },
      })
      expect(dry.body.data).toEqual({ username: encode('you') })
      expect((await ask('GET', `${secrets}/a`)).body).toEqual(created)
    })

    test('of a spec counts a generation, and of labels does not; a status has a path of its own', async () => {
      const { ask, releases, create } = await newPlace(served)
      const created = await create(releases, releaseOf('r'))
      const status = { observedGeneration: 1, history: [] }
      const reported = await ask('PUT', `${releases}/r/status`, { ...created, spec: {}, status })
      expect(reported.body).toMatchObject({ spec: created.spec, status, metadata: { generation: 1 } })
      const labelled = await ask('PUT', `${releases}/r`, {
        ...reported.body,
        metadata: { ...reported.body.metadata, labels: { team: 'x' } },
        status: {},
      })
      expect(labelled.body).toMatchObject({ status, metadata: { generation: 1, labels: { team: 'x' } } })
      const values = { users: {}, kept: { deeply: null } }
      const changed = await ask('PUT', `${releases}/r`, {
        ...labelled.body,
        spec: { ...created.spec, values },
      })
      expect(changed.body).toMatchObject({ spec: { values }, metadata: { generation: 2 } })
    })
  })

  describe('a JSON merge patch', () => {
    test('changes what it names and removes what it names null', async () => {
      const { ask, secrets, create } = await newPlace(served)
      await create(secrets, secretOf('a', { metadata: { labels: { old: '1', kept: '2' } } }))
      const patch = { metadata: { labels: { old: null, added: '3' } } }
      const { body } = await ask('PATCH', `${secrets}/a`, patch, MERGE_PATCH)
      expect(body.metadata.labels).toEqual({ kept: '2', added: '3' })
      expect(body.data).toEqual(secretOf('a').data)
    })

    test('keeps to a version when it names one', async () => {
      const { ask, secrets, create } = await newPlace(served)
      await create(secrets, secretOf('a'))
      const patch = { metadata: { resourceVersion: '1', labels: { team: 'x' } } }
      expect((await ask('PATCH', `${secrets}/a`, patch, MERGE_PATCH)).body.message).toBe(MODIFIED)
    })

    test('needs its own media type', async () => {
      const { ask, secrets, create } = await newPlace(served)
      await create(secrets, secretOf('a'))
      const answer = await ask('PATCH', `${secrets}/a`, {}, { contentType: 'application/json' })
      expect(answer.body).toMatchObject({ code: 415, reason: 'UnsupportedMediaType' })
    })
  })
}
