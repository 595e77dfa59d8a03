import type { Access } from '../core/failure.ts'
import { fail, ok, type Result } from '../core/result.ts'
import type { CallOptions, Kube, Subject } from '../k8s/kube.ts'
import type { Caller } from './authenticator.ts'

export interface AuthorizeOptions extends CallOptions {
  /** kube-apiserver has asked the very same before it forwarded the request. */
  readonly isAskedUpstream?: boolean
}

/** Allowed everything, by every authorizer of kube-apiserver (`k8s.io/apiserver/pkg/authentication/user`). */
const MASTERS = 'system:masters'

/**
 * Asks the cluster whether the caller, with its uid, all of its groups and its extra, may do this
 * (`authorization.k8s.io/v1` SubjectAccessReview). Asked anew every time: no answer is kept. Fails with `forbidden`
 * unless the answer is yes; a failure of the review itself is passed on, and is no answer.
 */
export const createAuthorize =
  ({ kube }: { readonly kube: Pick<Kube, 'reviewAccess'> }) =>
  async (
    caller: Caller,
    access: Access,
    { isAskedUpstream = false, ...options }: AuthorizeOptions = {},
  ): Promise<Result<undefined>> => {
    const reviewed = await kube.reviewAccess(subjectOf(caller, isAskedUpstream), access, options)
    if (!reviewed.ok) return reviewed
    return reviewed.value === true
      ? ok(undefined)
      : fail({ reason: 'forbidden', user: caller.username, access })
  }

/**
 * White space around a header's value is lost on the way (RFC 9110, section 5.5): the harmless group " system:masters"
 * of a certificate arrives as the mightiest there is. So it counts only where kube-apiserver, which saw the name
 * as it was, has allowed the same already.
 */
function subjectOf(caller: Caller, isAskedUpstream: boolean): Subject {
  const { username, uid, groups, extra } = caller
  const isDoubtful = caller.vouchedBy === 'front-proxy' && !isAskedUpstream
  return { username, uid, groups: isDoubtful ? groups.filter((group) => group !== MASTERS) : groups, extra }
}
