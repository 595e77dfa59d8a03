import { regardingRelease } from '../credentials/events.ts'
import type { HelmRelease, KubeEvent } from '../k8s/objects.ts'
import { type CauseName, hintOf, type Skip } from './causes.ts'

/** How many of the others an Event names. */
const NAMED = 3

/** What was left out of a release: one Event for each cause, said as long as it is so. */
export const skipEvents = (release: HelmRelease, skips: readonly Skip[]): readonly KubeEvent[] =>
  [...Map.groupBy(skips, ({ cause }) => cause)].map(([cause, same]) => ({
    type: 'Warning',
    reason: 'ConversionSkipped',
    action: 'Convert',
    note: noteOf(cause, same),
    isStanding: true,
    regarding: regardingRelease(release),
  }))

function noteOf(cause: CauseName, same: readonly Skip[]): string {
  const named = same.slice(0, NAMED).map(({ message }) => message)
  const more = same.length > NAMED ? `; and ${same.length - NAMED} more` : ''
  return `${cause}: ${named.join('; ')}${more}; ${hintOf(cause)}`
}
