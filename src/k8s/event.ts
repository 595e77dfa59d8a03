import { fingerprint } from '../core/fingerprint.ts'
import type { Json } from '../core/json.ts'
import { cutBytes, toMicroTimestamp } from '../core/text.ts'
import type { KubeEvent } from './objects.ts'

const MAX_NOTE_BYTES = 1024
const MAX_NAME = 128
/** With the five random characters that the API server adds, a name stays under 63. */
const MAX_PREFIX = 55

/**
 * An `events.k8s.io/v1` Event (`k8s.io/kubernetes/pkg/apis/core/validation/events.go`): in the namespace of what it
 * regards, time with six decimals, note in bytes.
 */
export function eventOf(event: KubeEvent, atMilliseconds: number, reportingInstance: string): Json {
  const { namespace } = event.regarding
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { namespace, ...nameOf(event) },
    eventTime: toMicroTimestamp(atMilliseconds),
    reportingController: 'credentials.cozystack.io/mintonce',
    reportingInstance: cutBytes(reportingInstance, MAX_NAME) || 'mintonce',
    type: event.type,
    reason: event.reason,
    action: event.action,
    note: cutBytes(event.note, MAX_NOTE_BYTES),
    regarding: { ...event.regarding },
  }
}

/** A standing one has a name that says what it says, so that the API server knows it again. */
function nameOf({ regarding, reason, note, isStanding }: KubeEvent): Json {
  const prefix = `${regarding.name.slice(0, MAX_PREFIX).replace(/[^a-z0-9]+$/, '')}-`
  if (isStanding !== true) return { generateName: prefix }
  return { name: `${prefix}${fingerprint(`${regarding.kind}/${regarding.uid}/${reason}/${note}`)}` }
}
