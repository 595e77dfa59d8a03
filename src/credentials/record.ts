import { isObject, parseJson, textAt } from '../core/json.ts'
import { cutBytes } from '../core/text.ts'

/** Who can know the live password. */
export type Origin = 'NotIssued' | 'Migrated' | 'Minted' | 'Revoked'
export type Operation = 'Create' | 'Migrate' | 'Mint' | 'Revoke'

export interface HistoryEntry {
  readonly operation: Operation
  /** RFC 3339 in UTC, to the second. */
  readonly at: string
  readonly by: string
  readonly impersonator?: string
}

/** Origin and history of an account's password, kept in the annotations of its Secret. History is newest first. */
export interface AccountRecord {
  readonly origin: Origin
  readonly history: readonly HistoryEntry[]
}

type Annotations = Readonly<Record<string, string>>

const ORIGIN = 'credentials.cozystack.io/origin'
const HISTORY = 'credentials.cozystack.io/history'

const ORIGINS: ReadonlySet<string> = new Set<Origin>(['NotIssued', 'Migrated', 'Minted', 'Revoked'])
const OPERATIONS: ReadonlySet<string> = new Set<Operation>(['Create', 'Migrate', 'Mint', 'Revoke'])
const MAX_ENTRIES = 10
const MAX_BY_BYTES = 256
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

/** Undefined when the annotations carry no origin of ours: then the object is no account Secret. */
export function readRecord(annotations: Annotations | undefined): AccountRecord | undefined {
  const origin = textAt(annotations, ORIGIN)
  if (!isOrigin(origin)) return undefined
  return { origin, history: readHistory(textAt(annotations, HISTORY)) }
}

/** The annotations of a record with one entry more. */
export function writeRecord(record: AccountRecord): Annotations {
  return { [ORIGIN]: record.origin, [HISTORY]: JSON.stringify(record.history) }
}

/** The newest ten entries. `by` and `impersonator` are cut: user names have no limit, annotations do (256 KiB). */
export function addEntry(history: readonly HistoryEntry[], entry: HistoryEntry): readonly HistoryEntry[] {
  return [trim(entry), ...history].slice(0, MAX_ENTRIES)
}

/** Whether somebody may hold the password that works now. */
export const mayBeKnown = (origin: Origin): boolean => origin === 'Minted' || origin === 'Migrated'

const isOrigin = (value: string | undefined): value is Origin => value !== undefined && ORIGINS.has(value)
const isOperation = (value: string | undefined): value is Operation =>
  value !== undefined && OPERATIONS.has(value)

/** People edit annotations: what is no history reads as an empty one, and the next write repairs it. */
function readHistory(text: string | undefined): readonly HistoryEntry[] {
  const parsed = text === undefined ? undefined : parseJson(text)
  if (!Array.isArray(parsed)) return []
  return parsed
    .map(readEntry)
    .filter((entry) => entry !== undefined)
    .slice(0, MAX_ENTRIES)
}

function readEntry(value: unknown): HistoryEntry | undefined {
  if (!isObject(value)) return undefined
  const operation = textAt(value, 'operation')
  const at = textAt(value, 'at')
  const by = textAt(value, 'by')
  if (!isOperation(operation) || at === undefined || !TIMESTAMP.test(at) || by === undefined) return undefined
  const impersonator = textAt(value, 'impersonator')
  return trim({ operation, at, by, ...(impersonator === undefined ? {} : { impersonator }) })
}

/** Field by field: an annotation is read by many tools, and nothing gets into it by the way. */
const trim = ({ operation, at, by, impersonator }: HistoryEntry): HistoryEntry => ({
  operation,
  at,
  by: cutBytes(by, MAX_BY_BYTES),
  ...(impersonator === undefined ? {} : { impersonator: cutBytes(impersonator, MAX_BY_BYTES) }),
})
