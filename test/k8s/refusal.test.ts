import { describe, expect, test } from 'vitest'
import type { Secret, StoredSecret } from '../../src/k8s/objects.ts'
import { json, pageNotFound, scripted, status } from './scripted-fetch.ts'

/** Messages, details and causes are those that kube-apiserver 1.36.3 answered to the same calls. */

const fresh: Secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'tenant-a', name: 's' },
  data: { password: 'c3RvcmVkLXZhbHVl' },
}
const known: StoredSecret = {
  ...fresh,
  metadata: { ...fresh.metadata, uid: 'uid-1', resourceVersion: '240' },
}

const created = async (answer: Response) => {
  const { kube, sent } = scripted(answer)
  const result = await kube.createSecret(fresh)
  expect(sent).toHaveLength(1)
  return result
}
const updated = (answer: Response) => scripted(answer).kube.updateSecret(known)
const deleted = (answer: Response) =>
  scripted(answer).kube.deleteSecret('tenant-a', 's', { uid: 'uid-1', resourceVersion: '240' })
const got = (answer: Response) => scripted(answer).kube.getSecret('tenant-a', 's')
const failed = (failure: object) => ({ ok: false, failure })

describe('absent', () => {
  test('is a NotFound about the very name', async () => {
    const details = { name: 's', kind: 'secrets' }
    expect(await got(status(404, 'NotFound', { details }))).toEqual({ ok: true, value: undefined })
    expect(await updated(status(404, 'NotFound', { details }))).toEqual(failed({ reason: 'kube_absent' }))
    expect(await deleted(status(404, 'NotFound', { details }))).toEqual(failed({ reason: 'kube_absent' }))
  })

  test('is a release of that name, in a group of its own', async () => {
    const details = { name: 'r', group: 'helm.toolkit.fluxcd.io', kind: 'helmreleases' }
    const { kube } = scripted(status(404, 'NotFound', { details }))
    expect(await kube.getHelmRelease('tenant-a', 'r')).toEqual({ ok: true, value: undefined })
  })

  test('is the namespace of a create', async () => {
    const details = { name: 'tenant-a', kind: 'namespaces' }
    expect(await created(status(404, 'NotFound', { details }))).toEqual(failed({ reason: 'kube_absent' }))
  })

  test('is not what a read asked for when its namespace is said to be away', async () => {
    const answer = status(404, 'NotFound', { details: { name: 'tenant-a', kind: 'namespaces' } })
    expect(await got(answer)).toEqual(failed({ reason: 'kube_not_served', groupVersion: 'v1' }))
  })

  test.each([
    ['another name', () => status(404, 'NotFound', { details: { name: 'other', kind: 'secrets' } })],
    [
      'no name',
      () => status(404, 'NotFound', { message: 'the server could not find the requested resource' }),
    ],
    ['another reason', () => status(404, 'Unknown', { details: { name: 's', kind: 'secrets' } })],
    ['plain text', pageNotFound],
    ['JSON that is no Status', () => json({ error: 'no such route' }, 404)],
  ])('is not a 404 with %s: what was asked for is not known to be away', async (_, answer) => {
    const notServed = failed({ reason: 'kube_not_served', groupVersion: 'v1' })
    expect(await got(answer())).toEqual(notServed)
    expect(await deleted(answer())).toEqual(notServed)
    expect(await created(answer())).toEqual(notServed)
  })
})

describe('ACC-06: a group that the cluster does not serve', () => {
  test('is named, and is not an absent release', async () => {
    expect(await scripted(pageNotFound()).kube.getHelmRelease('tenant-a', 'r')).toEqual(
      failed({ reason: 'kube_not_served', groupVersion: 'helm.toolkit.fluxcd.io/v2' }),
    )
  })

  test('is named, and is not an empty list of definitions', async () => {
    expect(await scripted(pageNotFound()).kube.listDefinitions()).toEqual(
      failed({ reason: 'kube_not_served', groupVersion: 'cozystack.io/v1alpha1' }),
    )
  })
})

describe('403', () => {
  test('SEC-08: a namespace that is being terminated is told from missing rights, by its cause, in one attempt', async () => {
    const causes = [
      {
        reason: 'NamespaceTerminating',
        message: 'namespace tenant-a is being terminated',
        field: 'metadata.namespace',
      },
    ]
    expect(
      await created(status(403, 'Forbidden', { details: { name: 's', kind: 'secrets', causes } })),
    ).toEqual(failed({ reason: 'kube_namespace_terminating', namespace: 'tenant-a' }))
  })

  test('SEC-08: so is it by its message, which older servers send alone', async () => {
    const message =
      'secrets "s" is forbidden: unable to create new content in namespace tenant-a because it is being terminated'
    expect(await created(status(403, 'Forbidden', { message }))).toEqual(
      failed({ reason: 'kube_namespace_terminating', namespace: 'tenant-a' }),
    )
  })

  test('SEC-08: an Event there names the same namespace', async () => {
    const regarding = { apiVersion: 'v1', kind: 'K', namespace: 'tenant-a', name: 'n', uid: 'u' }
    const { kube } = scripted(
      status(403, 'Forbidden', { details: { causes: [{ reason: 'NamespaceTerminating' }] } }),
    )
    const event = { type: 'Normal', reason: 'R', action: 'A', note: 'n', regarding } as const
    expect(await kube.createEvent(event, 0)).toEqual(
      failed({ reason: 'kube_namespace_terminating', namespace: 'tenant-a' }),
    )
  })

  test('SEC-09: a full quota is named, and nothing else of the message is kept', async () => {
    const message =
      'secrets "s" is forbidden: exceeded quota: no-secrets.v1, requested: secrets=1, used: secrets=0, limited: secrets=0'
    expect(await created(status(403, 'Forbidden', { message }))).toEqual(
      failed({ reason: 'kube_quota_exceeded', quota: 'no-secrets.v1' }),
    )
  })

  test('is our own lack of rights otherwise, with the call named', async () => {
    const message = 'secrets "s" is forbidden: User "x" cannot create resource "secrets" in API group ""'
    expect(await created(status(403, 'Forbidden', { message }))).toEqual(
      failed({ reason: 'kube_forbidden', call: 'create Secret' }),
    )
  })
})

describe('AGG-09: each refusal keeps its reason', () => {
  test.each([
    ['400', () => status(400, 'BadRequest'), { reason: 'kube_invalid', call: 'update Secret' }],
    ['401', () => status(401, 'Unauthorized'), { reason: 'kube_unauthenticated' }],
    ['409 Conflict', () => status(409, 'Conflict'), { reason: 'kube_conflict' }],
    ['409 AlreadyExists', () => status(409, 'AlreadyExists'), { reason: 'kube_exists' }],
    ['410', () => status(410, 'Expired'), { reason: 'kube_expired' }],
    ['413', () => status(413, 'RequestEntityTooLarge'), { reason: 'kube_invalid', call: 'update Secret' }],
    ['500', () => status(500, 'InternalError'), { reason: 'kube_error', call: 'update Secret', code: 500 }],
    [
      '503',
      () => status(503, 'ServiceUnavailable'),
      { reason: 'kube_error', call: 'update Secret', code: 503 },
    ],
    [
      '504 in HTML',
      () => new Response('<html>', { status: 504 }),
      { reason: 'kube_error', call: 'update Secret', code: 504 },
    ],
    [
      '302',
      () => new Response(null, { status: 302 }),
      { reason: 'kube_error', call: 'update Secret', code: 302 },
    ],
  ])('%s', async (_, answer, failure) => {
    expect(await updated(answer())).toEqual(failed(failure))
  })

  test('422: data of an immutable Secret', async () => {
    const message = 'Forbidden: field is immutable when `immutable` is set'
    const causes = [{ reason: 'FieldValueForbidden', message, field: 'data' }]
    expect(await updated(status(422, 'Invalid', { details: { causes } }))).toEqual(
      failed({ reason: 'kube_immutable' }),
    )
  })

  test('422: another type, a field that is immutable on every Secret', async () => {
    const message = 'Invalid value: "Opaque": field is immutable'
    const causes = [{ reason: 'FieldValueInvalid', message, field: 'type' }]
    expect(await updated(status(422, 'Invalid', { details: { causes } }))).toEqual(
      failed({ reason: 'kube_invalid', call: 'update Secret' }),
    )
  })

  test('no text of the API server travels on: a policy may quote the object', async () => {
    const message = 'ValidatingAdmissionPolicy denied request: data.password is c3RvcmVkLXZhbHVl'
    const details = { name: 's', causes: [{ reason: 'x', message, field: message }] }
    for (const code of [400, 401, 403, 404, 409, 410, 413, 422, 429, 500, 503]) {
      const result = await updated(status(code, message, { message, details }))
      expect(result.ok).toBe(false)
      expect(JSON.stringify(result)).not.toContain('c3RvcmVk')
    }
  })
})

describe('CLI-07: an overloaded API server', () => {
  const overloaded = (retryAfter: string | undefined) =>
    status(429, 'TooManyRequests', retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } })

  test.each([
    ['1', 1],
    ['0', 0],
    ['60', 60],
    ['86400', 60],
    ['99999999999999999999', 60],
    ['-1', undefined],
    ['1.5', undefined],
    ['Fri, 31 Dec 2027 23:59:59 GMT', undefined],
    ['', undefined],
    [undefined, undefined],
  ])(
    'that says Retry-After: %s is answered at once, in one attempt, with %s seconds',
    async (value, seconds) => {
      expect(await created(overloaded(value))).toEqual(
        failed({ reason: 'kube_overloaded', retryAfterSeconds: seconds }),
      )
    },
  )

  test('neither allows nor denies', async () => {
    const { kube, sent } = scripted(overloaded('1'))
    const subject = { username: 'u', uid: undefined, groups: [], extra: {} }
    expect(await kube.reviewAccess(subject, { verb: 'get', group: 'g', resource: 'r' })).toEqual(
      failed({ reason: 'kube_overloaded', retryAfterSeconds: 1 }),
    )
    expect(sent).toHaveLength(1)
  })
})
