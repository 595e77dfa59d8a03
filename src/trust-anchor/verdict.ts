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
}

export const verdict = (
  reason: AnchorReason,
  message: string,
  { wrote = false, events = [] }: Partial<Pick<Verdict, 'wrote' | 'events'>> = {},
): Verdict => ({ reason, message, wrote, events })

export const isReady = ({ reason }: Pick<Verdict, 'reason'>): boolean => reason === 'Projected'
