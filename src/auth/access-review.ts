import type { Access } from '../core/failure.ts'
import { fail, ok, type Result } from '../core/result.ts'
import type { CallOptions, Kube } from '../k8s/kube.ts'
import type { Caller } from './authenticator.ts'

/**
 * Asks the cluster whether the caller, with its uid, all of its groups and its extra, may do this
 * (`authorization.k8s.io/v1` SubjectAccessReview). Asked anew every time: no answer is kept. Fails with `forbidden`
 * unless the answer is yes; a failure of the review itself is passed on, and is no answer.
 */
export const createAuthorize =
  ({ kube }: { readonly kube: Pick<Kube, 'reviewAccess'> }) =>
  async (caller: Caller, access: Access, options: CallOptions = {}): Promise<Result<undefined>> => {
    const reviewed = await kube.reviewAccess(caller, access, options)
    if (!reviewed.ok) return reviewed
    return reviewed.value === true
      ? ok(undefined)
      : fail({ reason: 'forbidden', user: caller.username, access })
  }
