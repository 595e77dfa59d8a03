import { expect, test } from 'vitest'
import { createAuthorize } from '../../src/auth/access-review.ts'
import type { Caller } from '../../src/auth/authenticator.ts'
import type { Access, KubeFailure } from '../../src/core/failure.ts'
import { fail, ok, type Result } from '../../src/core/result.ts'
import type { Kube } from '../../src/k8s/kube.ts'

const caller: Caller = {
  username: 'jane',
  uid: '42',
  groups: ['db-admins', 'system:authenticated'],
  extra: { 'example.org/scope': ['mint', 'read'] },
}
const access: Access = {
  verb: 'create',
  group: 'core.cozystack.io',
  resource: 'credentials',
  subresource: 'mint',
  namespace: 'tenant-acme',
  name: 'postgres-orders.web',
}

/** An API server that decides by this rule, and what it was asked. */
function authorizerOf(rule: (...asked: Parameters<Kube['reviewAccess']>) => Result<boolean>) {
  const asked: Parameters<Kube['reviewAccess']>[] = []
  const authorize = createAuthorize({
    kube: {
      reviewAccess: async (...question) => {
        asked.push(question)
        return rule(...question)
      },
    },
  })
  return { authorize, asked }
}

test('FPX-08: the review carries user, uid, every group and extra, and is made anew each time', async () => {
  const { authorize, asked } = authorizerOf(() => ok(true))
  const { signal } = new AbortController()
  expect(await authorize(caller, access, { signal })).toEqual({ ok: true, value: undefined })
  expect(await authorize(caller, access, { signal })).toEqual({ ok: true, value: undefined })
  expect(asked).toEqual([
    [caller, access, { signal }],
    [caller, access, { signal }],
  ])
})

test('FPX-08: people who are allowed only through a group or through extra are allowed', async () => {
  const { authorize } = authorizerOf(({ groups, extra }) =>
    ok(groups.includes('db-admins') || extra['example.org/scope']?.includes('mint') === true),
  )
  expect(await authorize({ ...caller, extra: {} }, access)).toMatchObject({ ok: true })
  expect(await authorize({ ...caller, groups: [] }, access)).toMatchObject({ ok: true })
  expect(await authorize({ ...caller, groups: [], extra: {} }, access)).toMatchObject({ ok: false })
})

test('FPX-10: the review names the credential, so that a role can be for one of them', async () => {
  const { authorize } = authorizerOf((_, { name }) => ok(name === 'postgres-orders.web'))
  expect(await authorize(caller, access)).toMatchObject({ ok: true })
  const other = { ...access, name: 'postgres-orders.report' }
  expect(await authorize(caller, other)).toEqual({
    ok: false,
    failure: { reason: 'forbidden', user: 'jane', access: other },
  })
})

test.each([false, undefined, null, 'true', 1])('the answer %j is not a yes', async (answer) => {
  const { authorize } = authorizerOf(() => ok(answer as boolean))
  expect(await authorize(caller, access)).toMatchObject({ ok: false, failure: { reason: 'forbidden' } })
})

test.each<KubeFailure>([
  { reason: 'kube_timeout', call: 'create subjectaccessreviews' },
  { reason: 'kube_forbidden', call: 'create subjectaccessreviews' },
  { reason: 'kube_error', call: 'create subjectaccessreviews', code: 500 },
])('$reason of the review itself is passed on, and is not a no', async (failure) => {
  expect(await authorizerOf(() => fail(failure)).authorize(caller, access)).toEqual({ ok: false, failure })
})

test('a group that may have lost its white space on the way counts only where kube-apiserver was asked first', async () => {
  const groups = ['system:masters', 'system:authenticated']
  const masters = async (of: Partial<Caller>, options?: { isAskedUpstream: boolean }) => {
    const { authorize, asked } = authorizerOf(() => ok(true))
    await authorize({ ...caller, groups, ...of }, access, options)
    return asked[0]?.[0].groups
  }
  const proxied = { vouchedBy: 'front-proxy' } as const
  expect(await masters(proxied)).toEqual(['system:authenticated'])
  expect(await masters(proxied, { isAskedUpstream: false })).toEqual(['system:authenticated'])
  expect(await masters(proxied, { isAskedUpstream: true })).toEqual(groups)
  expect(await masters({})).toEqual(groups)
})

test('nothing but what a subject has goes into the review', async () => {
  const { authorize, asked } = authorizerOf(() => ok(true))
  await authorize({ ...caller, impersonator: 'bob', vouchedBy: 'front-proxy' }, access)
  expect(asked).toEqual([[caller, access, {}]])
})
