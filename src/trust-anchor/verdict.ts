import type { Failure } from '../core/failure.ts'
import { type Failed, ok, type Result } from '../core/result.ts'
import type { KubeEvent } from '../k8s/objects.ts'
import type { AnchorReason } from './outcome.ts'

/** What came of a declaration, and what there is to say to others than whoever declared it. */
export interface Verdict {
  readonly reason: AnchorReason
  /** For people: names and counts, no byte of any value. Nothing in it changes from one time to the next. */
  readonly message: string
  /** Whether a Secret was created, updated or deleted. */
  readonly wrote: boolean
  /** About Secrets. */
  readonly events: readonly KubeEvent[]
  /** What the look fails with once this is said: whoever asked is to hear of it, and to try again. */
  readonly failure?: Failure
}

export const verdict = (
  reason: AnchorReason,
  message: string,
  { wrote = false, events = [] }: Partial<Pick<Verdict, 'wrote' | 'events'>> = {},
): Verdict => ({ reason, message, wrote, events })

/**
 * A write that failed: a verdict when the API server refuses it, and will again until somebody does something about it. What
 * passes by itself is a failure and nothing else.
 */
export function refused(failed: Failed, events: readonly KubeEvent[] = []): Result<Verdict> {
  const { failure } = failed
  const why = whyRefused(failure)
  if (why === undefined) return failed
  return ok({ ...verdict('WriteRefused', `${why}; what is published already stays`, { events }), failure })
}

function whyRefused(failure: Failure): string | undefined {
  switch (failure.reason) {
    case 'kube_quota_exceeded':
      return `resource quota ${failure.quota} has no room for another Secret`
    case 'kube_forbidden':
      return 'the API server forbids the write: look at the rights of this function, and at admission policies and webhooks'
    case 'kube_invalid':
      return 'the API server, or an admission policy, takes the Secret for wrong'
    default:
      return undefined
  }
}

export const isReady = ({ reason }: Pick<Verdict, 'reason'>): boolean => reason === 'Projected'
