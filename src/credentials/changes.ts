import type { Secret } from '../k8s/objects.ts'
import { type HistoryEntry, readRecord } from './record.ts'

const WORDS = { Mint: 'issued', Revoke: 'revoked', Migrate: 'migrated' } as const

/**
 * Why a precondition did not hold, in words that name who was faster. `known` is the newest history entry that the
 * caller of this function saw before; when it is still the newest, only metadata has moved.
 */
export function describeChange(name: string, now: Secret | undefined, known?: HistoryEntry): string {
  if (now === undefined) return `credential ${name} no longer exists`
  const newest = readRecord(now.metadata.annotations)?.history[0]
  if (newest === undefined || isSame(newest, known)) return `credential ${name} changed: read it again`
  const { operation, by, at } = newest
  if (operation === 'Create') return `credential ${name} created at ${at}`
  return `credential ${name} changed: password ${WORDS[operation]} by ${by} at ${at}`
}

const isSame = (a: HistoryEntry, b: HistoryEntry | undefined): boolean =>
  b !== undefined && a.operation === b.operation && a.at === b.at && a.by === b.by
