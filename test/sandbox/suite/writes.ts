import { describe, expect, test } from 'vitest'
import { type Answer, encode, newPlace, releaseOf, secretOf, statusOf } from '../asking.ts'
import type { Served } from '../kube-api.ts'

const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

const causesOf = ({ body }: Answer) =>
  body.details.causes.map(({ field, message }: { field: string; message: string }) => `${field}: ${message}`)

export function writes(served: Served): void {
  describe('a POST', () => {
    test('answers the object with what only the server decides', async () => {
      const { ask, secrets, namespace } = await newPlace(served)
      const chosen = {
        uid: 'mine',
        creationTimestamp: '2001-01-01T00:00:00Z',
        unknown: 1,
        labels: { team: 'x' },
      }
      const { status, body } = await ask('POST', secrets, secretOf('a', { metadata: chosen, unknown: true }))
      expect(status).toBe(201)
      expect(body).toMatchObject({
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'kubernetes.io/basic-auth',
        metadata: { name: 'a', namespace, labels: { team: 'x' } },
      })
      expect(body.metadata.uid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
      expect(body.metadata.resourceVersion).toMatch(/^[1-9]\d*$/)
      expect(body.metadata.creationTimestamp).not.toMatch(/^2001/)
      expect(body.unknown).toBeUndefined()
      expect(body.metadata.unknown).toBeUndefined()
    })

    test('fills in the kind, the type and a generated name', async () => {
      const { ask, secrets } = await newPlace(served)
      const { body } = await ask('POST', secrets, { metadata: { generateName: 'web-' } })
      expect(body).toMatchObject({ apiVersion: 'v1', kind: 'Secret', type: 'Opaque' })
      expect(body.metadata.name).toMatch(/^web-[a-z0-9]{5}$/)
    })

    test('to a name that is taken is AlreadyExists', async () => {
      const { ask, secrets, releases, create } = await newPlace(served)
      await create(secrets, secretOf('a'))
      await create(releases, releaseOf('r'))
      expect(statusOf(await ask('POST', secrets, secretOf('a')))).toEqual({
        code: 409,
        reason: 'AlreadyExists',
        message: 'secrets "a" already exists',
        details: { name: 'a', kind: 'secrets' },
      })
      expect(statusOf(await ask('POST', releases, releaseOf('r')))).toEqual({
        code: 409,
        reason: 'AlreadyExists',
        message: 'helmreleases.helm.toolkit.fluxcd.io "r" already exists',
        details: { name: 'r', group: 'helm.toolkit.fluxcd.io', kind: 'helmreleases' },
      })
    })

    test('into a namespace that is not there is NotFound, about the namespace', async () => {
      const { ask } = await newPlace(served)
      for (const query of ['', '?dryRun=All']) {
        const answer = await ask('POST', `/api/v1/namespaces/nowhere/secrets${query}`, secretOf('a'))
        expect(statusOf(answer)).toEqual({
          code: 404,
          reason: 'NotFound',
          message: 'namespaces "nowhere" not found',
          details: { name: 'nowhere', kind: 'namespaces' },
        })
      }
    })

    test('of an object of another namespace is a bad request', async () => {
      const { ask, secrets } = await newPlace(served)
      const answer = await ask('POST', secrets, secretOf('a', { metadata: { namespace: 'default' } }))
      expect(statusOf(answer)).toMatchObject({
        code: 400,
        reason: 'BadRequest',
        message: 'the namespace of the provided object does not match the namespace sent on the request',
      })
    })

    test('with a resourceVersion is an error without a reason, unless it is "0"', async () => {
      const { ask, secrets } = await newPlace(served)
      const answer = await ask('POST', secrets, secretOf('a', { metadata: { resourceVersion: '5' } }))
      expect(statusOf(answer)).toEqual({
        code: 500,
        message: 'resourceVersion should not be set on objects to be created',
      })
      const zero = await ask('POST', secrets, secretOf('a', { metadata: { resourceVersion: '0' } }))
      expect(zero.status).toBe(201)
    })

    test.each([
      ['dryRun=All', 201],
      ['dryRun=All&dryRun=All', 201],
      ['dryRun=all', 422],
      ['dryRun=', 422],
      ['dryRun=&dryRun=All', 422],
    ])('with ?%s answers %i and stores nothing', async (query, code) => {
      const { ask, secrets } = await newPlace(served)
      const answer = await ask('POST', `${secrets}?${query}`, secretOf('a'))
      expect(answer.status).toBe(code)
      expect((await ask('GET', `${secrets}/a`)).status).toBe(404)
      if (code === 201) expect(answer.body.metadata.resourceVersion).toBeUndefined()
      else expect(answer.body.details).toMatchObject({ group: 'meta.k8s.io', kind: 'CreateOptions' })
    })

    test('as a dry run makes every check', async () => {
      const { ask, secrets, create } = await newPlace(served)
      await create(secrets, secretOf('a'))
      expect((await ask('POST', `${secrets}?dryRun=All`, secretOf('a'))).status).toBe(409)
      expect((await ask('POST', `${secrets}?dryRun=All`, secretOf('A'))).status).toBe(422)
    })

    test.each([
      ['A_b', [`metadata.name: Invalid value: "A_b": ${SUBDOMAIN}`]],
      ['-a', [`metadata.name: Invalid value: "-a": ${SUBDOMAIN}`]],
      [
        'a'.repeat(254),
        [`metadata.name: Invalid value: "${'a'.repeat(254)}": must be no more than 253 characters`],
      ],
      ['', ['metadata.name: Required value: name or generateName is required']],
    ])('with the name %j is Invalid, with a cause', async (name, causes) => {
      const { ask, secrets } = await newPlace(served)
      const answer = await ask('POST', secrets, secretOf(name))
      expect(answer.body).toMatchObject({ code: 422, reason: 'Invalid', details: { kind: 'Secret' } })
      expect(causesOf(answer)).toEqual(causes)
    })

    test.each([
      ['a label value', { labels: { team: 'a b' } }, 'metadata.labels'],
      ['a label key', { labels: { 'te am': 'a' } }, 'metadata.labels'],
      ['an annotation key', { annotations: { 'a b': '' } }, 'metadata.annotations'],
      [
        'annotations of more than 262,144 bytes',
        { annotations: { a: 'x'.repeat(262_144) } },
        'metadata.annotations',
      ],
      ['a finalizer without a domain', { finalizers: ['hold'] }, 'metadata.finalizers[0]'],
      [
        'an owner without a UID',
        { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'a', uid: '' }] },
        'metadata.ownerReferences.uid',
      ],
    ])('refuses %s', async (_what, metadata, field) => {
      const { ask, secrets } = await newPlace(served)
      const answer = await ask('POST', secrets, secretOf('a', { metadata }))
      expect(answer.body).toMatchObject({ code: 422, reason: 'Invalid' })
      expect(answer.body.details.causes.map((cause: { field: string }) => cause.field)).toEqual([field])
    })

    test.each([
      ['%%%', 'illegal base64 data at input byte 0'],
      ['YQ', 'illegal base64 data at input byte 0'],
      ['YWJjYQ', 'illegal base64 data at input byte 4'],
      ['YWJj%%%%', 'illegal base64 data at input byte 4'],
      ['-_-_', 'illegal base64 data at input byte 0'],
    ])('refuses %j as data', async (value, why) => {
      const { ask, secrets } = await newPlace(served)
      const answer = await ask('POST', secrets, secretOf('a', { data: { username: value } }))
      expect(statusOf(answer)).toMatchObject({
        code: 400,
        reason: 'BadRequest',
        message: `Secret in version "v1" cannot be handled as a Secret: ${why}`,
      })
    })

    test('stores data as canonical base64, with stringData laid over it', async () => {
      const { ask, secrets } = await newPlace(served)
      const data = { stray: 'YR==', broken: 'YW\nE=', both: encode('old'), nothing: null }
      const stringData = { both: 'new', text: 'é' }
      const { body } = await ask('POST', secrets, secretOf('a', { type: 'Opaque', data, stringData }))
      expect(body.data).toEqual({
        stray: 'YQ==',
        broken: 'YWE=',
        both: encode('new'),
        text: encode('é'),
        nothing: '',
      })
      expect(body.stringData).toBeUndefined()
    })

    test('of basic-auth needs one of its two keys', async () => {
      const { ask, secrets } = await newPlace(served)
      const answer = await ask('POST', secrets, secretOf('a', { data: { user: encode('web') } }))
      expect(causesOf(answer)).toEqual(['data[username]: Required value', 'data[password]: Required value'])
      expect(answer.body.message).toBe(
        'Secret "a" is invalid: [data[username]: Required value, data[password]: Required value]',
      )
      expect((await ask('POST', secrets, secretOf('a', { data: { password: '' } }))).status).toBe(201)
    })

    test.each([
      ['{"a":', 'application/json', 400],
      ['[]', 'application/json', 400],
      [{ apiVersion: 'v2', kind: 'Secret', metadata: { name: 'a' } }, 'application/json', 400],
      [{ apiVersion: 'v1', kind: 'Banana', metadata: { name: 'a' } }, 'application/json', 400],
      [{ metadata: { name: 'a', labels: { team: 1 } } }, 'application/json', 400],
      ['metadata=a', 'application/x-www-form-urlencoded', 415],
      [{ metadata: { name: 'a' } }, 'application/json; charset=utf-8', 201],
    ])('of %j as %s answers %i', async (body, contentType, code) => {
      const { ask, secrets } = await newPlace(served)
      expect((await ask('POST', secrets, body, { contentType })).status).toBe(code)
    })

    test('of a custom resource names its kind and its version', async () => {
      const { ask, releases } = await newPlace(served)
      expect((await ask('POST', releases, { metadata: { name: 'r' } })).body).toMatchObject({ code: 400 })
      const older = releaseOf('r', { apiVersion: 'helm.toolkit.fluxcd.io/v1' })
      expect((await ask('POST', releases, older)).body).toMatchObject({
        code: 400,
        message:
          'the API version in the data (helm.toolkit.fluxcd.io/v1) does not match the expected API version (helm.toolkit.fluxcd.io/v2)',
      })
      expect((await ask('POST', releases, releaseOf('r', { kind: 'Banana' }))).body).toMatchObject({
        code: 422,
        message:
          'Banana.helm.toolkit.fluxcd.io "r" is invalid: kind: Invalid value: "Banana": must be HelmRelease',
      })
    })

    test('of a custom resource begins at generation 1, and leaves its status to the controller', async () => {
      const { create, releases } = await newPlace(served)
      const status = { observedGeneration: 7 }
      const release = await create(
        releases,
        releaseOf('r', { metadata: { generation: 9 }, status, unknown: 1 }),
      )
      expect(release.metadata.generation).toBe(1)
      expect(release.status).toEqual({ observedGeneration: -1 })
      expect(release.unknown).toBeUndefined()
    })
  })
}
