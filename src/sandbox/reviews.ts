import { at, own, textAt, textsOf } from '../core/json.ts'
import { type Identity, isAllowed } from './rbac.ts'
import { badRequest } from './status.ts'
import type { Store } from './store.ts'

/** Who a token stands for, and what it is good for. */
export interface TokenOf extends Identity {
  readonly audiences: readonly string[]
}

const API_AUDIENCES = ['https://kubernetes.default.svc']

/** `authentication.k8s.io/v1`: a token counts for the audiences that it has and that were asked for. */
export function reviewToken(tokens: ReadonlyMap<string, TokenOf>, body: unknown): unknown {
  const token = textAt(body, 'spec', 'token') ?? ''
  if (token === '') throw badRequest('token is required for TokenReview in authentication')
  const asked = textsOf(at(body, 'spec', 'audiences'))
  const wanted = asked.length === 0 ? API_AUDIENCES : asked
  const known = tokens.get(token.trim())
  const audiences = wanted.filter((audience) => known?.audiences.includes(audience))
  const base = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', metadata: {} }
  if (known === undefined || audiences.length === 0) {
    return { ...base, status: { user: {}, error: 'invalid bearer token' } }
  }
  const { username, groups, uid } = known
  const user = { username, groups, ...(uid === undefined ? {} : { uid }) }
  return { ...base, status: { authenticated: true, user, audiences } }
}

/** `authorization.k8s.io/v1`. */
export function reviewAccess(store: Store, body: unknown): unknown {
  const spec = own(body, 'spec')
  const username = textAt(spec, 'user') ?? ''
  const groups = textsOf(own(spec, 'groups'))
  if (username === '' && groups.length === 0)
    throw badRequest('at least one of user or group must be specified')
  const attributes = own(spec, 'resourceAttributes')
  const text = (name: string) => textAt(attributes, name) ?? ''
  const allowed = isAllowed(
    store,
    { username, groups },
    {
      verb: text('verb'),
      group: text('group'),
      resource: text('resource'),
      subresource: text('subresource'),
      namespace: text('namespace'),
      name: text('name'),
    },
  )
  return {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    metadata: {},
    spec,
    status: allowed ? { allowed, reason: 'RBAC: allowed' } : { allowed },
  }
}

/** `authentication.k8s.io/v1` SelfSubjectReview. */
export const reviewSelf = ({ username, groups, uid }: Identity): unknown => ({
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'SelfSubjectReview',
  metadata: {},
  status: { userInfo: { username, groups, ...(uid === undefined ? {} : { uid }) } },
})
