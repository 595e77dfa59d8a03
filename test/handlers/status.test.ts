import { describe, expect, test } from 'vitest'
import type { Failure, KubeFailure } from '../../src/core/failure.ts'
import { statusOf } from '../../src/handlers/answer.ts'
import { toStatus } from '../../src/handlers/status.ts'
import { GROUP, kubeTable, NAME, type Row, table } from './status-rows.ts'

const rows = [...Object.values(kubeTable), ...Object.values(table)] as readonly Row<Failure>[]

describe.each(rows.map((row) => [row.failure.reason, row] as const))('%s', (_, { failure, answer, says }) => {
  const status = toStatus(failure, GROUP)

  test('has its code, reason, details and headers', () => {
    expect(status).toMatchObject(answer)
    expect(status.details === undefined).toBe(answer.details === undefined)
  })

  test('says what happened', () => {
    expect(status.message).toMatch(says)
  })

  test('is answered as a metav1.Status of the same code', () => {
    const response = statusOf(failure, GROUP)
    expect(response.status).toBe(status.code)
    expect(response.headers).toMatchObject({
      'Content-Type': 'application/json',
      'Cache-Control': 'no-store',
    })
    const { code, reason, message, details } = status
    expect(JSON.parse(response.body)).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      reason,
      code,
      ...(details === undefined ? {} : { details }),
    })
  })
})

// As in `errors_test.go` of k8s.io/apiserver/pkg/endpoints/handlers/responsewriters: no dot, and no group in details.
test('a 403 about the core group names it without a group', () => {
  const users = { verb: 'impersonate', group: '', resource: 'users', name: 'jane' }
  expect(toStatus({ reason: 'forbidden', user: 'bob', access: users }, GROUP)).toEqual({
    code: 403,
    reason: 'Forbidden',
    message:
      'users "jane" is forbidden: User "bob" cannot impersonate resource "users" in API group "" at the cluster scope',
    details: { name: 'jane', kind: 'users' },
  })
})

test('a name in a 403 is quoted as Go quotes it', () => {
  const access = { verb: 'list', group: GROUP, resource: 'credentials', namespace: 'tenant-acme' }
  const { message, details } = toStatus({ reason: 'forbidden', user: 'a "b" \\c', access }, GROUP)
  expect(message).toBe(
    'credentials.core.cozystack.io is forbidden: User "a \\"b\\" \\\\c" cannot list resource "credentials" in API group "core.cozystack.io" in the namespace "tenant-acme"',
  )
  expect(details).toEqual({ group: GROUP, kind: 'credentials' })
})

test('an API server that is not available reads as 503, one that fails as 500', () => {
  const codes = [500, 502, 503, 504, 302].map(
    (code) => toStatus({ reason: 'kube_error', call: 'get Secret', code }, GROUP).code,
  )
  expect(codes).toEqual([500, 503, 503, 500, 500])
})

/** What a caller sees of a write that was refused: by what refused it. */
const refused: { readonly [R in KubeFailure['reason']]: { readonly code: number; readonly says: RegExp } } = {
  kube_conflict: { code: 409, says: /read it again/ },
  kube_exists: { code: 409, says: /read it again/ },
  kube_absent: { code: 409, says: /no longer exists, or its namespace/ },
  kube_forbidden: { code: 500, says: /ClusterRole and admission policies/ },
  kube_quota_exceeded: { code: 409, says: /quota "secrets"/ },
  kube_namespace_terminating: { code: 409, says: /"tenant-acme" is being terminated/ },
  kube_immutable: { code: 409, says: /immutable: delete it/ },
  kube_invalid: { code: 500, says: /policy.*nothing was stored/ },
  kube_expired: { code: 500, says: /nothing was stored/ },
  kube_overloaded: { code: 429, says: /nothing was stored/ },
  kube_unauthenticated: { code: 500, says: /credentials of this function/ },
  kube_not_served: { code: 500, says: /helm\.toolkit\.fluxcd\.io\/v2/ },
  kube_error: { code: 500, says: /code 500/ },
  kube_unreachable: { code: 503, says: /cannot be reached/ },
  kube_timeout: { code: 504, says: /in time/ },
}

describe.each(Object.values(kubeTable).map(({ failure }) => [failure.reason, failure] as const))(
  'a write refused by %s',
  (reason, cause) => {
    test.each([false, true])('answers its own code, leftover deleted before: %s', (leftoverDeleted) => {
      const { code, message } = toStatus(
        { reason: 'write_refused', name: NAME, cause, leftoverDeleted },
        GROUP,
      )
      expect(code).toBe(refused[reason].code)
      expect(message).toMatch(refused[reason].says)
      expect(message.includes('had been deleted before')).toBe(leftoverDeleted)
    })

    test('never invites a retry: a retry is another mint', () => {
      const { headers, details } = toStatus(
        { reason: 'write_refused', name: NAME, cause, leftoverDeleted: false },
        GROUP,
      )
      expect(Object.keys(headers ?? {})).not.toContain('Retry-After')
      expect(details?.retryAfterSeconds).toBeUndefined()
    })

    test('is never a 403: only our own access review says that somebody may not', () => {
      expect(
        toStatus({ reason: 'write_refused', name: NAME, cause, leftoverDeleted: false }, GROUP).code,
      ).not.toBe(403)
    })
  },
)

test('an altered value of a dry run has changed nothing', () => {
  const failure = { reason: 'value_altered', name: NAME, secret: 'pg.web.account', dryRun: true } as const
  expect(toStatus(failure, GROUP).message).toMatch(/would change .*nothing was stored/)
})

test.each([false, true])(
  'an unknown outcome never invites a retry, leftover deleted: %s',
  (leftoverDeleted) => {
    const status = toStatus({ reason: 'outcome_unknown', name: NAME, leftoverDeleted }, GROUP)
    expect(status.headers).toBeUndefined()
    expect(status.message.includes('Secret of an earlier release')).toBe(leftoverDeleted)
  },
)
