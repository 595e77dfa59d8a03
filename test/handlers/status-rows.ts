import type { Failure, KubeFailure } from '../../src/core/failure.ts'
import type { StatusAnswer } from '../../src/handlers/status-answer.ts'

export const GROUP = 'core.cozystack.io'
export const NAME = 'postgres-orders.web'
const ABOUT = { name: NAME, group: GROUP, kind: 'credentials' } as const

type Of<R extends Failure['reason']> = Extract<Failure, { readonly reason: R }>
export interface Row<F extends Failure> {
  readonly failure: F
  readonly answer: Partial<StatusAnswer>
  /** What the message must tell. */
  readonly says: RegExp
}

/** Before a write: the API server's failure as such. A new reason does not compile until it is listed. */
export const kubeTable: { readonly [R in KubeFailure['reason']]: Row<Of<R>> } = {
  kube_conflict: { failure: { reason: 'kube_conflict' }, answer: internal(), says: /conflict/ },
  kube_exists: { failure: { reason: 'kube_exists' }, answer: internal(), says: /AlreadyExists/ },
  kube_absent: { failure: { reason: 'kube_absent' }, answer: internal(), says: /not find/ },
  kube_forbidden: {
    failure: { reason: 'kube_forbidden', call: 'get Secret' },
    answer: internal(),
    says: /get Secret.*ClusterRole/,
  },
  kube_quota_exceeded: {
    failure: { reason: 'kube_quota_exceeded', quota: 'secrets' },
    answer: internal(),
    says: /quota secrets/,
  },
  kube_namespace_terminating: {
    failure: { reason: 'kube_namespace_terminating', namespace: 'tenant-acme' },
    answer: internal(),
    says: /namespace tenant-acme is being terminated/,
  },
  kube_immutable: { failure: { reason: 'kube_immutable' }, answer: internal(), says: /immutable/ },
  kube_invalid: {
    failure: { reason: 'kube_invalid', call: 'list Secrets' },
    answer: { code: 400, reason: 'BadRequest' },
    says: /list Secrets.*continue/,
  },
  kube_expired: {
    failure: { reason: 'kube_expired' },
    answer: { code: 410, reason: 'Expired' },
    says: /start the list again/,
  },
  kube_overloaded: {
    failure: { reason: 'kube_overloaded', retryAfterSeconds: 7 },
    answer: {
      code: 429,
      reason: 'TooManyRequests',
      details: { retryAfterSeconds: 7 },
      headers: { 'Retry-After': '7' },
    },
    says: /overloaded/,
  },
  kube_unauthenticated: {
    failure: { reason: 'kube_unauthenticated' },
    answer: internal(),
    says: /credentials of this function/,
  },
  kube_not_served: {
    failure: { reason: 'kube_not_served', groupVersion: 'helm.toolkit.fluxcd.io/v2' },
    answer: internal(),
    says: /helm\.toolkit\.fluxcd\.io\/v2.*not installed/,
  },
  kube_error: {
    failure: { reason: 'kube_error', call: 'get Secret', code: 500 },
    answer: internal(),
    says: /code 500.*get Secret/,
  },
  kube_unreachable: {
    failure: { reason: 'kube_unreachable', call: 'get Secret', why: 'ECONNREFUSED', sent: false },
    answer: { code: 503, reason: 'ServiceUnavailable' },
    says: /cannot be reached.*get Secret/,
  },
  kube_timeout: {
    failure: { reason: 'kube_timeout', call: 'get Secret' },
    answer: { code: 504, reason: 'Timeout' },
    says: /in time.*get Secret/,
  },
}

function internal(): Partial<StatusAnswer> {
  return { code: 500, reason: 'InternalError' }
}
const conflict = { code: 409, reason: 'Conflict' }

/** Everything else. Type-checked to be complete, too. */
export const table: { readonly [R in Exclude<Failure['reason'], KubeFailure['reason']>]: Row<Of<R>> } = {
  request_malformed: {
    failure: { reason: 'request_malformed', message: 'the body must be a JSON object' },
    answer: { code: 400, reason: 'BadRequest' },
    says: /^the body must be a JSON object$/,
  },
  request_invalid: {
    failure: {
      reason: 'request_invalid',
      name: NAME,
      causes: [
        { reason: 'FieldValueInvalid', field: 'spec.preconditions.uid', message: 'Invalid value: ""' },
      ],
    },
    answer: {
      code: 422,
      reason: 'Invalid',
      details: {
        name: NAME,
        group: GROUP,
        kind: 'CredentialRequest',
        causes: [
          { reason: 'FieldValueInvalid', field: 'spec.preconditions.uid', message: 'Invalid value: ""' },
        ],
      },
    },
    // As `apierrors.NewInvalid` words it.
    says: /^CredentialRequest\.core\.cozystack\.io "postgres-orders\.web" is invalid: spec\.preconditions\.uid: Invalid value: ""$/,
  },
  media_type_unsupported: {
    failure: { reason: 'media_type_unsupported', contentType: 'application/x-www-form-urlencoded' },
    answer: { code: 415, reason: 'UnsupportedMediaType' },
    says: /x-www-form-urlencoded.*Content-Type: application\/json/,
  },
  not_acceptable: {
    failure: { reason: 'not_acceptable' },
    answer: { code: 406, reason: 'NotAcceptable' },
    says: /application\/json/,
  },
  body_too_large: {
    failure: { reason: 'body_too_large', maxBytes: 65_536 },
    answer: { code: 413, reason: 'RequestEntityTooLarge', headers: { Connection: 'close' } },
    says: /65536 bytes/,
  },
  route_unknown: {
    failure: { reason: 'route_unknown' },
    answer: { code: 404, reason: 'NotFound' },
    says: /^the server could not find the requested resource$/,
  },
  method_not_allowed: {
    failure: { reason: 'method_not_allowed', allow: ['GET', 'HEAD'], message: 'PUT is not supported' },
    answer: { code: 405, reason: 'MethodNotAllowed', headers: { Allow: 'GET, HEAD' } },
    says: /^PUT is not supported$/,
  },
  caller_gone: {
    failure: { reason: 'caller_gone' },
    answer: { code: 504, reason: 'Timeout' },
    says: /nothing was written/,
  },
  unauthenticated: {
    failure: {
      reason: 'unauthenticated',
      why: 'the review said no: internal detail',
      hint: 'ask for mintonce',
    },
    answer: { code: 401, reason: 'Unauthorized', headers: { 'WWW-Authenticate': 'Bearer' } },
    says: /^Unauthorized: ask for mintonce$/,
  },
  issuer_unavailable: {
    failure: { reason: 'issuer_unavailable', issuer: 'https://idp.example', why: 'ENOTFOUND idp.internal' },
    answer: { code: 503, reason: 'ServiceUnavailable' },
    says: /^(?!.*idp\.internal).*https:\/\/idp\.example/,
  },
  forbidden: {
    failure: {
      reason: 'forbidden',
      user: 'victor@example.org',
      access: {
        verb: 'create',
        group: GROUP,
        resource: 'credentials',
        subresource: 'mint',
        namespace: 'tenant-acme',
        name: NAME,
      },
    },
    answer: { code: 403, reason: 'Forbidden', details: ABOUT },
    // Word for word what kube-apiserver says of a resource of its own.
    says: /^credentials\.core\.cozystack\.io "postgres-orders\.web" is forbidden: User "victor@example\.org" cannot create resource "credentials\/mint" in API group "core\.cozystack\.io" in the namespace "tenant-acme"$/,
  },
  impersonation_unknown: {
    failure: { reason: 'impersonation_unknown', header: 'impersonate-username' },
    answer: { code: 403, reason: 'Forbidden' },
    says: /^forbidden: the header "impersonate-username" .*Impersonate-User, /,
  },
  credential_not_found: {
    failure: { reason: 'credential_not_found', name: NAME, why: 'no such account' },
    answer: { code: 404, reason: 'NotFound', details: ABOUT },
    says: /^credentials\.core\.cozystack\.io "postgres-orders\.web" not found: no such account$/,
  },
  account_invalid: {
    failure: {
      reason: 'account_invalid',
      name: NAME,
      causes: [{ reason: 'FieldValueInvalid', field: 'spec.values.users', message: 'must be a map' }],
    },
    answer: {
      code: 422,
      reason: 'Invalid',
      details: {
        name: NAME,
        group: GROUP,
        kind: 'CredentialRequest',
        causes: [{ reason: 'FieldValueInvalid', field: 'spec.values.users', message: 'must be a map' }],
      },
    },
    says: /spec\.values\.users: must be a map/,
  },
  accounts_collide: {
    failure: { reason: 'accounts_collide', name: NAME, usernames: ['we b', 'we_b'] },
    answer: { ...conflict, details: ABOUT },
    says: /"we b" and "we_b"/,
  },
  release_terminating: {
    failure: { reason: 'release_terminating', name: NAME, release: 'postgres-orders' },
    answer: { ...conflict, details: ABOUT },
    says: /postgres-orders.*being deleted/,
  },
  credential_changed: {
    failure: {
      reason: 'credential_changed',
      name: NAME,
      message: `credential ${NAME} no longer exists`,
      fields: ['resourceVersion'],
    },
    answer: {
      ...conflict,
      details: {
        ...ABOUT,
        causes: [
          {
            reason: 'FieldValueInvalid',
            field: 'spec.preconditions.resourceVersion',
            message: `credential ${NAME} no longer exists`,
          },
        ],
      },
    },
    says: /^credential postgres-orders\.web no longer exists$/,
  },
  secret_foreign: {
    failure: { reason: 'secret_foreign', name: NAME, secret: `${NAME}.account`, why: 'its type is not ours' },
    answer: { ...conflict, details: ABOUT },
    says: /postgres-orders\.web\.account.*left alone: its type is not ours; delete it/,
  },
  secret_terminating: {
    failure: { reason: 'secret_terminating', name: NAME, secret: `${NAME}.account` },
    answer: { ...conflict, details: ABOUT },
    says: /being deleted: try again/,
  },
  secret_immutable: {
    failure: { reason: 'secret_immutable', name: NAME, secret: `${NAME}.account` },
    answer: { ...conflict, details: ABOUT },
    says: /immutable: delete it/,
  },
  release_not_found: {
    failure: { reason: 'release_not_found', release: 'postgres-orders', why: 'it is no application' },
    answer: {
      code: 404,
      reason: 'NotFound',
      details: { name: 'postgres-orders', group: GROUP, kind: 'helmreleases' },
    },
    says: /^helmreleases\.core\.cozystack\.io "postgres-orders" not found: it is no application$/,
  },
  sync_refused: {
    failure: {
      reason: 'sync_refused',
      release: 'postgres-orders',
      cause: { reason: 'kube_quota_exceeded', quota: 'few' },
    },
    answer: {
      code: 409,
      reason: 'Conflict',
      details: { name: 'postgres-orders', group: GROUP, kind: 'helmreleases' },
    },
    says: /"postgres-orders" was not synced, or in part: resource quota "few"/,
  },
  projection_not_found: {
    failure: { reason: 'projection_not_found', name: 'postgres-orders-ca' },
    answer: {
      code: 404,
      reason: 'NotFound',
      details: { name: 'postgres-orders-ca', group: 'internal.cozystack.io', kind: 'tenantprojections' },
    },
    // `api/internalapi/v1alpha1/groupversion_info.go` of cozystack/cozystack.
    says: /^tenantprojections\.internal\.cozystack\.io "postgres-orders-ca" not found$/,
  },
  anchor_refused: {
    failure: {
      reason: 'anchor_refused',
      name: 'postgres-orders-ca',
      cause: { reason: 'kube_quota_exceeded', quota: 'few' },
    },
    answer: {
      code: 409,
      reason: 'Conflict',
      details: { name: 'postgres-orders-ca', group: GROUP, kind: 'tenantprojections' },
    },
    says: /^TenantProjection "postgres-orders-ca" was not published: .*resource quota "few"/,
  },
  definition_wrong: {
    failure: {
      reason: 'definition_wrong',
      definition: 'postgres',
      field: 'spec.credentials.format',
      problem: 'unknown',
    },
    answer: internal(),
    says: /"postgres".*spec\.credentials\.format.*unknown/,
  },
  definitions_ambiguous: {
    failure: { reason: 'definitions_ambiguous', kind: 'Postgres', definitions: ['postgres', 'pg'] },
    answer: internal(),
    says: /Postgres: postgres, pg/,
  },
  webhook_failed: {
    failure: { reason: 'webhook_failed', definition: 'mongodb', field: 'spec.x', why: 'answered 302' },
    answer: internal(),
    says: /^Internal error occurred: failed calling webhook "spec\.x": ApplicationDefinition "mongodb": answered 302; /,
  },
  value_not_canonical: {
    failure: { reason: 'value_not_canonical', format: 'scram-sha-256' },
    answer: internal(),
    says: /scram-sha-256.*nothing was written/,
  },
  write_refused: {
    failure: {
      reason: 'write_refused',
      name: NAME,
      cause: { reason: 'kube_immutable' },
      leftoverDeleted: false,
    },
    answer: { ...conflict, details: ABOUT },
    says: /immutable/,
  },
  value_altered: {
    failure: { reason: 'value_altered', name: NAME, secret: 'pg.web.account', dryRun: false },
    answer: { ...internal(), details: ABOUT },
    says: /changed the value of Secret "pg.web.account".*exempt account Secrets.*mint again/,
  },
  outcome_unknown: {
    failure: { reason: 'outcome_unknown', name: NAME, leftoverDeleted: false },
    answer: { ...internal(), details: ABOUT },
    says: /may have been replaced.*mint again/,
  },
}
