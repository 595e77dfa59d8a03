import { isSameJson, own } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import type { ConversionKube, StoredConfigMap } from '../k8s/conversion-kube.ts'
import type { CallOptions } from '../k8s/kube.ts'
import { type RecordedRelease, readEntry, releaseOfKey, writeEntry } from './record.ts'

/** In the platform's namespace; more of them, `credential-conversion-1` and so on, when one is full. */
const RECORD_NAME = 'credential-conversion'

/** So many fit into the 1 MiB of a ConfigMap, whatever is said of them (`MAX_ENTRY_BYTES`); as a rule they are 100 KB. */
export const MAX_ENTRIES = 700
/** So few that a Role can name them all. 7,000 releases: of the kinds that are converted, a platform has hundreds. */
const MAX_SHARDS = 10
/** Against those who write at the same time. */
const MAX_TRIES = 10

/** Where the record is kept. */
export interface RecordPlace {
  readonly conversionKube: Pick<ConversionKube, 'getConfigMap' | 'createConfigMap' | 'updateConfigMap'>
  readonly platformNamespace: string
}

/** The record as it was read. */
export interface ConversionRecord {
  /** By `recordKeyOf`. */
  readonly releases: ReadonlyMap<string, RecordedRelease>
  /** Keys that are of no release, or whose value is no entry, as `ConfigMap/key`: what they said must not be guessed. */
  readonly unreadable: readonly string[]
}

/** Of a release: its new entry from the one that is there now. Asked again when somebody else has written: idempotent. */
export type EntryChange = (current: RecordedRelease | undefined) => RecordedRelease | undefined

/** Everything that is recorded; nothing when there is no ConfigMap yet. Fails as reads do. */
export async function readRecord(
  place: RecordPlace,
  options: CallOptions = {},
): Promise<Result<ConversionRecord>> {
  const shards = await readShards(place, options)
  if (!shards.ok) return shards
  const releases = new Map<string, RecordedRelease>()
  const unreadable: string[] = []
  for (const { metadata, data = {} } of shards.value) {
    for (const [key, value] of Object.entries(data)) {
      const entry = readEntry(value)
      if (entry === undefined || releaseOfKey(key) === undefined) unreadable.push(`${metadata.name}/${key}`)
      // One that stands twice was written by two at once: the first is the older.
      else if (!releases.has(key)) releases.set(key, entry)
    }
  }
  return ok({ releases, unreadable })
}

/**
 * Changes entries, each from what it is at that moment, by one guarded write for each ConfigMap that changes: etcd keeps
 * a copy of the whole object for each write, so that many changes belong into one call. An entry that cannot be read is
 * not touched. Fails as writes do, with `kube_conflict` when others are always faster.
 */
export async function changeRecord(
  place: RecordPlace,
  changes: ReadonlyMap<string, EntryChange>,
  options: CallOptions = {},
): Promise<Result<undefined>> {
  let outcome: Result<undefined> = ok(undefined)
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    outcome = await changeOnce(place, changes, options)
    if (outcome.ok || !isRace(outcome.failure.reason)) return outcome
  }
  return outcome
}

const isRace = (reason: string): boolean =>
  reason === 'kube_conflict' || reason === 'kube_exists' || reason === 'kube_absent'

async function changeOnce(
  place: RecordPlace,
  changes: ReadonlyMap<string, EntryChange>,
  options: CallOptions,
): Promise<Result<undefined>> {
  const shards = await readShards(place, options)
  if (!shards.ok) return shards
  const planned = plan(shards.value, changes)
  if (planned.some(({ shard }) => shard >= MAX_SHARDS)) {
    return fail({ reason: 'kube_invalid', call: `keep more than ${MAX_SHARDS * MAX_ENTRIES} releases` })
  }
  for (const { shard, data } of planned) {
    const written = await writeShard(place, shards.value[shard], shard, data, options)
    if (!written.ok) return written
  }
  return ok(undefined)
}

interface Shard {
  readonly shard: number
  readonly data: Readonly<Record<string, string>>
}

/** The ConfigMaps that change: an entry stays where it is, and a new one goes into the first that has room. */
function plan(
  shards: readonly StoredConfigMap[],
  changes: ReadonlyMap<string, EntryChange>,
): readonly Shard[] {
  const before = shards.map(({ data = {} }) => data)
  const after = before.map((data) => new Map(Object.entries(data)))
  for (const [key, change] of changes) {
    const home = after.find((data) => data.has(key))
    const value = home?.get(key)
    const current = readEntry(value)
    if (value !== undefined && current === undefined) continue
    const next = change(current)
    if (next === undefined) home?.delete(key)
    else if (!isSameJson(next, current)) (home ?? roomIn(after)).set(key, writeEntry(next))
  }
  return after.flatMap((entries, shard) => {
    const data = Object.fromEntries(entries)
    return isSameJson(data, before[shard] ?? {}) ? [] : [{ shard, data }]
  })
}

function roomIn(shards: Map<string, string>[]): Map<string, string> {
  const found = shards.find((data) => data.size < MAX_ENTRIES)
  if (found !== undefined) return found
  const added = new Map<string, string>()
  shards.push(added)
  return added
}

const nameOf = (shard: number): string => (shard === 0 ? RECORD_NAME : `${RECORD_NAME}-${shard}`)

/** All that there may be, in their order. */
export const RECORD_NAMES: readonly string[] = Array.from({ length: MAX_SHARDS }, (_, shard) => nameOf(shard))

async function readShards(
  { conversionKube, platformNamespace }: RecordPlace,
  options: CallOptions,
): Promise<Result<readonly StoredConfigMap[]>> {
  const shards: StoredConfigMap[] = []
  for (const name of RECORD_NAMES) {
    const read = await conversionKube.getConfigMap(platformNamespace, name, options)
    if (!read.ok) return read
    if (read.value === undefined) break
    shards.push(withTexts(read.value))
  }
  return ok(shards)
}

/** `data` is what somebody may have written into it. */
const withTexts = (shard: StoredConfigMap): StoredConfigMap => ({
  ...shard,
  data: Object.fromEntries(
    Object.entries(own(shard, 'data') ?? {}).map(([key, value]) => [key, String(value)]),
  ),
})

async function writeShard(
  { conversionKube, platformNamespace }: RecordPlace,
  current: StoredConfigMap | undefined,
  shard: number,
  data: Readonly<Record<string, string>>,
  options: CallOptions,
): Promise<Result<unknown>> {
  if (current !== undefined) return conversionKube.updateConfigMap({ ...current, data }, options)
  const metadata = { name: nameOf(shard), namespace: platformNamespace }
  return conversionKube.createConfigMap({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }, options)
}
