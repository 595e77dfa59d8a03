import type { Cause } from '../core/failure.ts'
import { isObject, type Json, own, textAt } from '../core/json.ts'
import { toMicroTimestamp, utf8 } from '../core/text.ts'
import { goError } from './metadata.ts'
import { keyProblems } from './names.ts'
import { EVENTS, type StoredObject } from './objects.ts'
import { invalidValue, requiredValue } from './status.ts'

const MAX_BYTES = { reportingInstance: 128, action: 128, reason: 128 } as const
const MAX_NOTE_BYTES = 1024
const TEXTS = ['reportingController', 'reportingInstance', 'action', 'reason', 'note', 'type']
const MICRO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$/
/** What the conversion from the core group always writes. */
const LEGACY = { deprecatedSource: {}, deprecatedFirstTimestamp: null, deprecatedLastTimestamp: null }
/** Set by clients of the old API; refused with the names of that API's fields. */
const DEPRECATED: readonly (readonly [string, string])[] = [
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
]

/** What is stored of an Event of `events.k8s.io/v1`. Times are kept in UTC with six decimals (`metav1.MicroTime`). */
export function eventContent(sent: Json): { readonly content: Json } | { readonly problem: string } {
  const wrong = TEXTS.find(
    (field) => !['string', 'undefined'].includes(typeof (own(sent, field) ?? undefined)),
  )
  if (wrong !== undefined) return { problem: goError('Event', wrong) }
  const time = own(sent, 'eventTime') ?? undefined
  if (time !== undefined && !(typeof time === 'string' && MICRO_TIME.test(time))) {
    return {
      problem: `parsing time ${JSON.stringify(time)} as "2006-01-02T15:04:05.000000Z07:00": cannot parse`,
    }
  }
  const kept = [...EVENTS.fields, ...DEPRECATED.map(([field]) => field)]
  const entries = kept.map((field) => [field, own(sent, field) ?? undefined] as const)
  const content = Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  return { content: { ...LEGACY, ...content, eventTime: time === undefined ? null : inUtc(time) } }
}

function inUtc(time: string): string {
  // biome-ignore lint/style/noRestrictedGlobals: parses a given time, reads no clock
  const milliseconds = toMicroTimestamp(Date.parse(time))
  return milliseconds.replace(/\d{6}Z$/, `${/\.(\d{6})/.exec(time)?.[1]}Z`)
}

/**
 * `ValidateEventCreate` of `k8s.io/kubernetes/pkg/apis/core/validation/events.go`. Lengths are bytes. What is wrong with
 * `metadata` stands in the middle.
 */
export function eventCauses(event: StoredObject, metadata: readonly Cause[]): readonly Cause[] {
  const hasTime = event.eventTime !== null
  const type = textAt(event, 'type') ?? ''
  return [
    ...(hasTime ? reportCauses(event) : namespaceCauses(event, true)),
    ...metadata,
    ...seriesCauses(event),
    ...(hasTime ? [] : [requiredValue('eventTime')]),
    ...(['Normal', 'Warning'].includes(type) ? [] : [invalidValue('type', '', `has invalid value: ${type}`)]),
    ...DEPRECATED.filter(([field]) => Boolean(event[field])).map(([, name]) =>
      invalidValue(name, '', 'needs to be unset'),
    ),
  ]
}

function reportCauses(event: StoredObject): readonly Cause[] {
  const controller = textAt(event, 'reportingController') ?? ''
  const note = utf8(textAt(event, 'note') ?? '').length
  return [
    ...namespaceCauses(event, false),
    ...(controller === '' ? [requiredValue('reportingController')] : []),
    ...keyProblems(controller).map((problem) => invalidValue('reportingController', controller, problem)),
    ...Object.entries(MAX_BYTES).flatMap(([field, max]) => {
      const length = utf8(textAt(event, field) ?? '').length
      if (length === 0) return [requiredValue(field)]
      return length > max ? [invalidValue(field, '', `can have at most ${max} characters`)] : []
    }),
    ...(note > MAX_NOTE_BYTES
      ? [invalidValue('message', '', `can have at most ${MAX_NOTE_BYTES} characters`)]
      : []),
  ]
}

/** With a time only an empty namespace is wrong, in all but two namespaces. */
function namespaceCauses({ metadata, regarding }: StoredObject, strict: boolean): readonly Cause[] {
  const { namespace = '' } = metadata
  const regarded = textAt(regarding, 'namespace') ?? ''
  const inDefault = namespace === 'default' || (namespace === 'kube-system' && !strict)
  const fits = regarded === '' ? inDefault : !strict || regarded === namespace
  return fits ? [] : [invalidValue('involvedObject.namespace', regarded, 'does not match event.namespace')]
}

function seriesCauses({ series }: StoredObject): readonly Cause[] {
  if (!isObject(series)) return []
  return [
    ...(Number(series.count ?? 0) < 2 ? [invalidValue('series.count', '', 'should be at least 2')] : []),
    ...(own(series, 'lastObservedTime') === undefined ? [requiredValue('series.lastObservedTime')] : []),
  ]
}
