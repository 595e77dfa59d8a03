import type { Deps } from '../core/deps.ts'
import type { Failed } from '../core/result.ts'
import { ok, type Result } from '../core/result.ts'
import { isOneOf } from '../core/same-secret.ts'
import type { CallOptions, Kube } from '../k8s/kube.ts'
import { refuse } from './refuse.ts'
import { createTokenReviewAuthenticator } from './token-review.ts'

/** Who may send events and ticks: whoever has one of the keys, or a token of one of these users for this audience. */
export interface EventSenders {
  readonly keys: readonly string[]
  readonly oidc: { readonly audience: string; readonly usernames: readonly string[] } | undefined
}

/** What came with a request: a bearer token (RFC 6750), and keys from the attribute `mintoncekey` of its events. */
export interface SentWith {
  readonly token: string | undefined
  /** Why the Authorization header says nothing, if it does not. */
  readonly refused?: Failed
  readonly keys: readonly string[]
  readonly signal?: AbortSignal
}

export type AuthenticateSender = (sent: SentWith) => Promise<Result<undefined>>

interface Options extends Pick<Deps, 'log'> {
  readonly kube: Pick<Kube, 'reviewToken'>
}

/**
 * Undefined when nobody may send. Else fails with `unauthenticated` for whoever proves nothing, and as a TokenReview
 * does when it has no answer. All keys that came must be right, since each event of a batch has its own.
 */
export function createEventSender(
  { keys, oidc }: EventSenders,
  options: Options,
): AuthenticateSender | undefined {
  if (keys.length === 0 && oidc === undefined) return undefined
  const byIdentity = oidc === undefined ? noIdentity : createByIdentity(oidc, options)
  return async (sent) => {
    const right = await Promise.all([...new Set(sent.keys)].map((key) => isOneOf(keys, key)))
    if (right.length > 0 && !right.includes(false)) return ok(undefined)
    const { token, refused, signal } = sent
    if (refused !== undefined) return refused
    if (token === undefined) return refuse('no token, and no right key in an event')
    if (await isOneOf(keys, token)) return ok(undefined)
    return byIdentity(token, signal === undefined ? {} : { signal })
  }
}

const noIdentity = async (): Promise<Result<undefined>> => refuse('the token is no key of an event source')

/** By a token that the cluster has issued to the source itself, for this audience. */
function createByIdentity(
  { audience, usernames }: NonNullable<EventSenders['oidc']>,
  { kube, log }: Options,
): (token: string, options: CallOptions) => Promise<Result<undefined>> {
  const { authenticate } = createTokenReviewAuthenticator({ kube, audiences: [audience], log })
  return async (token, options) => {
    const known = await authenticate({ token, ...options })
    if (!known.ok) return known
    const username = known.value?.username ?? ''
    return usernames.includes(username) ? ok(undefined) : refuse('the token is of no event source')
  }
}
