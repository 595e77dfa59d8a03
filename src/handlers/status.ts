import type { Access, Failure } from '../core/failure.ts'
import {
  about,
  conflict,
  internal,
  invalid,
  type Row,
  type StatusAnswer,
  unavailable,
} from './status-answer.ts'
import { kubeRows, refusedAnchor, refusedSync, refusedWrite } from './status-kube.ts'

const PROJECTION_GROUP = 'internal.cozystack.io'
const AGAIN = 'mint again: the newest password is the one that counts'

const requestRows = {
  request_malformed: ({ message }) => ({ code: 400, reason: 'BadRequest', message }),
  request_invalid: ({ name, causes }, group) => invalid(name, group, causes),
  media_type_unsupported: ({ contentType }) => ({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: `the body is ${JSON.stringify(contentType)}: send JSON, with the header "Content-Type: application/json"`,
  }),
  not_acceptable: ({ served = ['application/json', 'application/json;as=Table;v=v1;g=meta.k8s.io'] }) => ({
    code: 406,
    reason: 'NotAcceptable',
    message: `only the following media types are accepted: ${served.join(', ')}`,
  }),
  body_too_large: ({ maxBytes }) => ({
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: `the body is larger than ${maxBytes} bytes`,
    headers: { Connection: 'close' },
  }),
  route_unknown: () => ({
    code: 404,
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
  }),
  method_not_allowed: ({ allow, message }) => ({
    code: 405,
    reason: 'MethodNotAllowed',
    message,
    headers: { Allow: allow.join(', ') },
  }),
  caller_gone: () => ({
    code: 504,
    reason: 'Timeout',
    message: 'the caller has gone, or the time was over: nothing was written',
  }),
} satisfies Partial<{ readonly [R in Failure['reason']]: Row<R> }>

const callerRows = {
  unauthenticated: ({ hint }) => ({
    code: 401,
    reason: 'Unauthorized',
    message: hint === undefined ? 'Unauthorized' : `Unauthorized: ${hint}`,
    headers: { 'WWW-Authenticate': 'Bearer' },
  }),
  issuer_unavailable: ({ issuer }) =>
    unavailable(`the keys of issuer ${issuer} cannot be read: the token could not be checked`),
  forbidden: ({ user, access }) => ({
    code: 403,
    reason: 'Forbidden',
    message: forbiddenMessage(user, access),
    details: {
      ...(access.name === undefined ? {} : { name: access.name }),
      ...(access.group === '' ? {} : { group: access.group }),
      kind: access.resource,
    },
  }),
  impersonation_unknown: ({ header }) => ({
    code: 403,
    reason: 'Forbidden',
    message: `forbidden: the header ${JSON.stringify(header)} is none of Impersonate-User, Impersonate-Uid, Impersonate-Group and Impersonate-Extra-KEY`,
  }),
} satisfies Partial<{ readonly [R in Failure['reason']]: Row<R> }>

const credentialRows = {
  credential_not_found: ({ name, why }, group) => ({
    code: 404,
    reason: 'NotFound',
    message: `credentials.${group} "${name}" not found${why === undefined ? '' : `: ${why}`}`,
    ...about(name, group),
  }),
  account_invalid: ({ name, causes }, group) => invalid(name, group, causes),
  accounts_collide: ({ name, usernames }, group) =>
    conflict(
      `the usernames ${usernames.map((username) => JSON.stringify(username)).join(' and ')} map to one credential ${name}: rename one of them`,
      name,
      group,
    ),
  release_terminating: ({ name, release }, group) =>
    conflict(`HelmRelease "${release}" is being deleted, and its credentials with it`, name, group),
  credential_changed: ({ name, message, fields }, group) => {
    const causes = fields.map((field) => ({
      reason: 'FieldValueInvalid',
      message,
      field: `spec.preconditions.${field}`,
    }))
    return conflict(message, name, group, causes.length === 0 ? undefined : causes)
  },
  secret_foreign: ({ name, secret, why }, group) =>
    conflict(
      `Secret "${secret}" is not an account Secret of this credential and is left alone: ${why}; delete it to mint`,
      name,
      group,
    ),
  secret_terminating: ({ name, secret }, group) =>
    conflict(`Secret "${secret}" is being deleted: try again when it is gone`, name, group),
  secret_immutable: ({ name, secret }, group) =>
    conflict(`Secret "${secret}" is immutable: delete it, and a mint creates it anew`, name, group),
  definition_wrong: ({ definition, field, problem }) =>
    internal(`ApplicationDefinition "${definition}" is wrong: ${field}: ${problem}`),
  definitions_ambiguous: ({ kind, definitions }) =>
    internal(
      `several ApplicationDefinitions define the kind ${kind}: ${definitions.join(', ')}; one of them has to go`,
    ),
  value_not_canonical: ({ format }) =>
    internal(
      `format ${format} derived a value that its engine would not take as a verifier; nothing was written`,
    ),
  // As kube-apiserver words it (`k8s.io/apiserver/pkg/util/webhook/error.go`).
  webhook_failed: ({ definition, field, why }) =>
    internal(
      `Internal error occurred: failed calling webhook ${JSON.stringify(field)}: ApplicationDefinition ${JSON.stringify(definition)}: ${why}; the stored password is as it was`,
    ),
  write_refused: ({ name, cause, leftoverDeleted }, group) => {
    const { headers: _retry, ...answer } = refusedWrite(cause, name, group)
    if (!leftoverDeleted) return answer
    return {
      ...answer,
      message: `${answer.message}; the Secret of an earlier release had been deleted before`,
    }
  },
  value_altered: ({ name, secret, dryRun }, group) => ({
    ...internal(
      `an admission plug-in ${dryRun ? 'would change' : 'changed'} the value of Secret "${secret}" on its way into the cluster: ${dryRun ? 'nothing was stored' : `nobody has the password of credential ${name} now`}; exempt account Secrets from that plug-in, then mint again`,
    ),
    ...about(name, group),
  }),
  outcome_unknown: ({ name, leftoverDeleted }, group) => ({
    ...internal(
      `the answer to the write was lost: the password of credential ${name} may have been replaced${leftoverDeleted ? ', and the Secret of an earlier release may have been deleted' : ''}; ${AGAIN}`,
    ),
    ...about(name, group),
  }),
} satisfies Partial<{ readonly [R in Failure['reason']]: Row<R> }>

const releaseRows = {
  release_not_found: ({ release, why }, group) => ({
    code: 404,
    reason: 'NotFound',
    message: `helmreleases.${group} "${release}" not found${why === undefined ? '' : `: ${why}`}`,
    details: { name: release, group, kind: 'helmreleases' },
  }),
  sync_refused: ({ release, cause }, group) => ({
    code: 409,
    reason: 'Conflict',
    message: `HelmRelease "${release}" was not synced, or in part: ${refusedSync(cause)}`,
    details: { name: release, group, kind: 'helmreleases' },
  }),
  // The kind is in a group of its platform's, whatever ours is.
  projection_not_found: ({ name }) => ({
    code: 404,
    reason: 'NotFound',
    message: `tenantprojections.${PROJECTION_GROUP} "${name}" not found`,
    details: { name, group: PROJECTION_GROUP, kind: 'tenantprojections' },
  }),
  anchor_refused: ({ name, cause }, group) => ({
    code: 409,
    reason: 'Conflict',
    message: `TenantProjection "${name}" was not published: ${refusedAnchor(cause)}`,
    details: { name, group, kind: 'tenantprojections' },
  }),
} satisfies Partial<{ readonly [R in Failure['reason']]: Row<R> }>

const rows: { readonly [R in Failure['reason']]: Row<R> } = {
  ...kubeRows,
  ...requestRows,
  ...callerRows,
  ...credentialRows,
  ...releaseRows,
}

/** The only place that knows both a failure and an HTTP status. */
export function toStatus(failure: Failure, group: string): StatusAnswer {
  const row = rows[failure.reason] as Row<Failure['reason']>
  return row(failure, group)
}

/** As kube-apiserver words it (`k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go`). */
function forbiddenMessage(
  user: string,
  { verb, group, resource, subresource, namespace, name }: Access,
): string {
  const what = subresource === undefined ? resource : `${resource}/${subresource}`
  const kind = group === '' ? resource : `${resource}.${group}`
  const named = name === undefined ? '' : ` ${JSON.stringify(name)}`
  const where = namespace === undefined ? ' at the cluster scope' : ` in the namespace "${namespace}"`
  return `${kind}${named} is forbidden: User ${JSON.stringify(user)} cannot ${verb} resource ${JSON.stringify(what)} in API group "${group}"${where}`
}
