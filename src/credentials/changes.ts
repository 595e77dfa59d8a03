import { textAt } from '../core/json.ts'
import type { Secret } from '../k8s/objects.ts'
import { readRecord } from './record.ts'

const WORDS = { Mint: 'issued', Revoke: 'revoked', Migrate: 'migrated' } as const

/**
 * Why a precondition did not hold, in words that name who was faster. `before` is the Secret as it was read earlier in the
 * same request: when the stored value is still the same, only metadata has moved.
 */
export function describeChange(name: string, now: Secret | undefined, before?: Secret): string {
  if (now === undefined) return `credential ${name} no longer exists`
  const newest = readRecord(now.metadata.annotations)?.history[0]
  if (newest === undefined || holdsTheSame(now, before)) return `credential ${name} changed: read it again`
  const { operation, by, at } = newest
  if (operation === 'Create') return `credential ${name} created at ${at}`
  return `credential ${name} changed: password ${WORDS[operation]} by ${by} at ${at}`
}

const holdsTheSame = (now: Secret, before: Secret | undefined): boolean =>
  before !== undefined && textAt(now, 'data', 'password') === textAt(before, 'data', 'password')
