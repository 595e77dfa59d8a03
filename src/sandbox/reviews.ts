import type { Cause } from '../core/failure.ts'
import { at, isObject, own, textAt, textsOf } from '../core/json.ts'
import { ok } from '../core/result.ts'
import { type Attributes, authorize, type Identity } from './rbac.ts'
import { badRequest, invalid, invalidValue, type Outcome } from './status.ts'
import type { Store } from './store.ts'

/** Who a token stands for, and what it is good for. */
export interface TokenOf extends Identity {
  readonly audiences: readonly string[]
  /** Milliseconds since the epoch; a token without one does not expire. */
  readonly expires?: number
}

export const ANONYMOUS: Identity = { username: 'system:anonymous', groups: ['system:unauthenticated'] }

/** What `--api-audiences` lists: the API server itself accepts tokens of these. */
export const API_AUDIENCES = ['https://kubernetes.default.svc.cluster.local', 'api']

export type Tokens = ReadonlyMap<string, TokenOf>

/** A token's owner, when it is known, in time and good for one of the audiences. */
export function authenticate(
  tokens: Tokens,
  token: string,
  wanted: readonly string[],
  nowMs: number,
): { readonly user: Identity; readonly audiences: readonly string[] } | { readonly error: string } {
  const known = tokens.get(token)
  if (known === undefined) return { error: 'invalid bearer token' }
  if (known.expires !== undefined && known.expires <= nowMs) {
    return { error: '[invalid bearer token, service account token has expired]' }
  }
  const audiences = wanted.filter((audience) => known.audiences.includes(audience))
  if (audiences.length > 0) return { user: known, audiences }
  const list = (values: readonly string[]) => `[${values.map((value) => JSON.stringify(value)).join(' ')}]`
  const why = `token audiences ${list(known.audiences)} is invalid for the target audiences ${list(wanted)}`
  return { error: `[invalid bearer token, ${why}]` }
}

/** `authentication.k8s.io/v1` TokenReview. */
export function reviewToken(store: Store, tokens: Tokens, body: unknown): Outcome<unknown> {
  const token = textAt(body, 'spec', 'token') ?? ''
  if (token === '') return badRequest('token is required for TokenReview in authentication')
  const asked = textsOf(at(body, 'spec', 'audiences'))
  const wanted = asked.length === 0 ? API_AUDIENCES.slice(0, 1) : asked
  const base = {
    kind: 'TokenReview',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: {},
    spec: own(body, 'spec'),
  }
  // A header with two spaces holds no token, and whoever brings none is anonymous: for every audience.
  const found = /^\s/.test(token)
    ? { user: ANONYMOUS, audiences: wanted }
    : authenticate(tokens, token.trimEnd(), wanted, store.now())
  if ('error' in found) return ok({ ...base, status: { user: {}, error: found.error } })
  return ok({
    ...base,
    status: { authenticated: true, user: userInfo(found.user), audiences: found.audiences },
  })
}

const userInfo = ({ username, groups, uid }: Identity) => ({
  username,
  ...(uid === undefined ? {} : { uid }),
  groups,
})

/** `authorization.k8s.io/v1` SubjectAccessReview. */
export function reviewAccess(store: Store, body: unknown): Outcome<unknown> {
  const spec = own(body, 'spec') ?? {}
  const subject = { username: textAt(spec, 'user') ?? '', groups: textsOf(own(spec, 'groups')) }
  const causes = accessCauses(spec, subject)
  if (causes.length > 0) return invalid({ group: 'authorization.k8s.io', kind: '' }, '', causes)
  const { allowed, reason } = authorize(store, subject, attributesOf(spec))
  return ok({
    kind: 'SubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    metadata: {},
    spec,
    status: { allowed, ...(reason === '' ? {} : { reason }) },
  })
}

/** `k8s.io/kubernetes/pkg/apis/authorization/validation`. */
function accessCauses(spec: unknown, { username, groups }: Identity): readonly Cause[] {
  const resource = own(spec, 'resourceAttributes') ?? undefined
  const path = own(spec, 'nonResourceAttributes') ?? undefined
  return [
    ...(resource !== undefined && path !== undefined
      ? [
          invalidValue(
            'spec.nonResourceAttributes',
            path,
            'cannot be specified in combination with resourceAttributes',
          ),
        ]
      : []),
    ...(resource === undefined && path === undefined
      ? [
          invalidValue(
            'spec.resourceAttributes',
            null,
            'exactly one of nonResourceAttributes or resourceAttributes must be specified',
          ),
        ]
      : []),
    ...(username === '' && groups.length === 0
      ? [invalidValue('spec.user', '', 'at least one of user or group must be specified')]
      : []),
  ]
}

function attributesOf(spec: unknown): Attributes {
  const path = own(spec, 'nonResourceAttributes')
  if (isObject(path)) return { verb: textAt(path, 'verb') ?? '', path: textAt(path, 'path') ?? '' }
  const text = (field: string) => textAt(spec, 'resourceAttributes', field) ?? ''
  return {
    verb: text('verb'),
    group: text('group'),
    resource: text('resource'),
    subresource: text('subresource'),
    namespace: text('namespace'),
    name: text('name'),
  }
}

/** `authentication.k8s.io/v1` SelfSubjectReview. */
export const reviewSelf = (store: Store, identity: Identity): unknown => ({
  kind: 'SelfSubjectReview',
  apiVersion: 'authentication.k8s.io/v1',
  metadata: { creationTimestamp: store.timestamp() },
  status: { userInfo: userInfo(identity) },
})
