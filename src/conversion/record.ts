import { isObject, parseJson, textAt } from '../core/json.ts'
import { utf8 } from '../core/text.ts'
import { type CauseName, isCauseName, type Skip } from './causes.ts'

/** What the record says of a release. Fields that another version has added are kept. */
export interface RecordedRelease {
  /** Of the HelmRelease: another release of the same name is recorded anew. */
  readonly uid: string
  /** Of the application. */
  readonly kind: string
  /** The chart version that it was on when it was recorded (`chartVersionOf`). Never overwritten. */
  readonly chartVersion: string
  /** When it was recorded, RFC 3339. */
  readonly at: string
  /** What was left out of it. Absent when nothing was. */
  readonly skipped?: readonly RecordedSkip[]
  /** When the job was done with it, RFC 3339. */
  readonly done?: string
  /** Usernames of platform accounts that no rotator knows. */
  readonly notRotated?: readonly string[]
}

export interface RecordedSkip extends Skip {
  /** When it was seen last, RFC 3339. */
  readonly at: string
}

const MAX_SKIPS = 3
/** As JSON, where a quotation mark takes two. */
const MAX_MESSAGE_BYTES = 200
const MAX_NOT_ROTATED_BYTES = 200

/**
 * The key of a release in the record: a namespace has no dot, a release may have some. At most 117 bytes for the releases of
 * the platform (63 and 53).
 */
export const recordKeyOf = (namespace: string, release: string): string => `${namespace}.${release}`

/** Whether a ConfigMap takes it (`k8s.io/apimachinery/pkg/util/validation`, IsConfigMapKey). */
export const isRecordKey = (key: string): boolean => /^[-._a-zA-Z0-9]{1,253}$/.test(key)

/** The release of a key. Undefined for a key that is none. */
export function releaseOfKey(
  key: string,
): { readonly namespace: string; readonly release: string } | undefined {
  const dot = key.indexOf('.')
  return dot < 1 || dot === key.length - 1
    ? undefined
    : { namespace: key.slice(0, dot), release: key.slice(dot + 1) }
}

/** A value of the ConfigMap: at most `MAX_ENTRY_BYTES`, and some 150 bytes as a rule. */
export function writeEntry(entry: RecordedRelease): string {
  const { skipped = [], notRotated = [], ...rest } = entry
  return JSON.stringify({
    ...rest,
    ...(skipped.length === 0 ? {} : { skipped: shortSkips(skipped) }),
    ...(notRotated.length === 0 ? {} : { notRotated: thatFit(notRotated) }),
  })
}

/** What is written here, and a chart version of its longest. */
export const MAX_ENTRY_BYTES = 1490

const jsonBytes = (value: unknown): number => utf8(JSON.stringify(value)).length

/** The longest beginning that is not longer than that as JSON. */
export function cutJson(text: string, maxBytes: number): string {
  let bytes = '""'.length
  let cut = ''
  for (const character of text) {
    bytes += jsonBytes(character) - '""'.length
    if (bytes > maxBytes) break
    cut += character
  }
  return cut
}

const thatFit = (usernames: readonly string[]): readonly string[] =>
  usernames.filter((_, index) => jsonBytes(usernames.slice(0, index + 1)) <= MAX_NOT_ROTATED_BYTES)

/** What the last that an entry holds says of the others. */
const MORE = / \(and (\d+) more\)$/
const MAX_MORE_BYTES = 24

/**
 * As many as an entry holds, of each cause one first: what is mended by the same hint need not be told in full. The last
 * says how many more there are, of those that were short already, too.
 */
export function shortSkips<S extends Skip>(skips: readonly S[]): readonly S[] {
  const first = new Map<CauseName, S>()
  for (const each of skips) if (!first.has(each.cause)) first.set(each.cause, each)
  const others = skips.filter((each) => first.get(each.cause) !== each)
  const all = [...first.values(), ...others]
  const short = all.slice(0, MAX_SKIPS).map((each) => ({ ...each, message: each.message.replace(MORE, '') }))
  const more = all.reduce((count, { message }) => count + Number(MORE.exec(message)?.[1] ?? 0), 0)
  const left = more + all.length - short.length
  return short.map((each, index) => ({
    ...each,
    message:
      left > 0 && index === short.length - 1
        ? `${cutJson(each.message, MAX_MESSAGE_BYTES - MAX_MORE_BYTES)} (and ${left} more)`
        : cutJson(each.message, MAX_MESSAGE_BYTES),
  }))
}

/** Undefined for what is no entry: somebody has edited it, and what it said is lost. */
export function readEntry(value: unknown): RecordedRelease | undefined {
  const entry = typeof value === 'string' ? parseJson(value) : undefined
  if (!isObject(entry)) return undefined
  const [uid, kind, chartVersion, at] = ['uid', 'kind', 'chartVersion', 'at'].map((field) =>
    textAt(entry, field),
  )
  if (!uid || kind === undefined || chartVersion === undefined || at === undefined) return undefined
  const { skipped, notRotated, ...rest } = entry
  const skips = Array.isArray(skipped) ? skipped.filter(isSkip) : []
  const usernames = Array.isArray(notRotated) ? notRotated.filter((each) => typeof each === 'string') : []
  return {
    ...rest,
    uid,
    kind,
    chartVersion,
    at,
    ...(skips.length === 0 ? {} : { skipped: skips }),
    ...(usernames.length === 0 ? {} : { notRotated: usernames }),
  }
}

const isSkip = (value: unknown): value is RecordedSkip =>
  isObject(value) &&
  isCauseName(value.cause) &&
  typeof value.message === 'string' &&
  typeof value.at === 'string'

/**
 * The entry for a release that is first seen: what was recorded of this very release stays as it is. Only the chart version
 * is added where Flux had tried none.
 */
export const recordedOnce = (
  current: RecordedRelease | undefined,
  seen: Pick<RecordedRelease, 'uid' | 'kind' | 'chartVersion' | 'at'>,
): RecordedRelease => {
  if (current?.uid !== seen.uid) return seen
  return current.chartVersion === '' ? { ...current, chartVersion: seen.chartVersion } : current
}

/** The entry with what is left out of it now, and of what was before only what is `kept`. */
export function withSkips(
  entry: RecordedRelease,
  skips: readonly Skip[],
  at: string,
  kept: readonly RecordedSkip[] = [],
): RecordedRelease {
  const { skipped: _before, ...rest } = entry
  const skipped = [...skips.map((each) => ({ ...each, at })), ...kept]
  return skipped.length === 0 ? rest : { ...rest, skipped }
}
