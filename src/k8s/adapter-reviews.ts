import type { Access } from '../core/failure.ts'
import { isObject, type Json, own, textAt, textsOf } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import { type Caller, type KubeResult, senseless } from './call.ts'
import type { Subject, TokenReviewStatus } from './kube.ts'
import { pathOf } from './names.ts'

/** The version of our own API, as an access review names it. */
const API_VERSION = 'v1alpha1'

/** Whose token it is: `authentication.k8s.io/v1` TokenReview. */
export async function reviewToken(
  call: Caller,
  token: string,
  audiences: readonly string[],
  signal: AbortSignal | undefined,
): Promise<KubeResult<TokenReviewStatus>> {
  const status = await review(call, 'authentication.k8s.io', 'TokenReview', { token, audiences }, signal)
  return status.ok ? ok(tokenStatusOf(status.value)) : status
}

/** `authorization.k8s.io/v1` SubjectAccessReview. An answer that is none is a failure: neither yes nor no. */
export async function reviewAccess(
  call: Caller,
  subject: Subject,
  access: Access,
  signal: AbortSignal | undefined,
): Promise<KubeResult<boolean>> {
  const spec = accessSpecOf(subject, access)
  const status = await review(call, 'authorization.k8s.io', 'SubjectAccessReview', spec, signal)
  if (!status.ok) return status
  return ok(own(status.value, 'allowed') === true && own(status.value, 'denied') !== true)
}

/** Who this function is to the API server: `authentication.k8s.io/v1` SelfSubjectReview. */
export async function whoAmI(call: Caller, signal: AbortSignal | undefined): Promise<KubeResult<string>> {
  const status = await review(call, 'authentication.k8s.io', 'SelfSubjectReview', {}, signal)
  if (!status.ok) return status
  const username = textAt(status.value, 'userInfo', 'username')
  return username ? ok(username) : fail(senseless('create SelfSubjectReview', 201))
}

/** The `status` of the answer, which must be a review of this kind. */
async function review(
  call: Caller,
  group: string,
  kind: 'TokenReview' | 'SubjectAccessReview' | 'SelfSubjectReview',
  spec: Json,
  signal: AbortSignal | undefined,
): Promise<KubeResult<Json>> {
  const path = pathOf('apis', group, 'v1', `${kind.toLowerCase()}s`)
  const body = { apiVersion: `${group}/v1`, kind, spec }
  const what = `create ${kind}`
  const answer = await call({ method: 'POST', path, body, what, signal })
  if (!answer.ok) return answer
  const status = own(answer.value, 'status')
  return textAt(answer.value, 'kind') === kind && isObject(status) ? ok(status) : fail(senseless(what, 201))
}

function tokenStatusOf(status: Json): TokenReviewStatus {
  const user = own(status, 'user')
  return {
    authenticated: own(status, 'authenticated'),
    audiences: textsOf(own(status, 'audiences')),
    user: {
      username: textAt(user, 'username') ?? '',
      uid: textAt(user, 'uid'),
      groups: textsOf(own(user, 'groups')),
      extra: extraOf(own(user, 'extra')),
    },
    error: textAt(status, 'error'),
  }
}

const extraOf = (extra: unknown): TokenReviewStatus['user']['extra'] =>
  isObject(extra)
    ? Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, textsOf(values)]))
    : {}

function accessSpecOf({ username, uid, groups, extra }: Subject, access: Access): Json {
  const { verb, group, version = API_VERSION, resource, subresource, namespace, name } = access
  return {
    user: username,
    groups,
    ...(uid === undefined ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
    resourceAttributes: {
      verb,
      group,
      version,
      resource,
      ...(subresource === undefined ? {} : { subresource }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(name === undefined ? {} : { name }),
    },
  }
}
