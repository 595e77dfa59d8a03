import { at, isObject, own, textAt } from '../core/json.ts'
import { toTimestamp } from '../core/text.ts'
import type { TenantProjection } from '../k8s/objects.ts'
import { isReady, type Verdict } from './verdict.ts'

const READY = 'Ready'
/** As whom every write of ours is made (`src/k8s/adapter-objects.ts`). */
const FIELD_MANAGER = 'mintonce'

/**
 * The TenantProjection with the status that says what came of it; undefined when it says so already. One condition is
 * ours and the others are kept; when it changed is known only of its `status` (`meta.SetStatusCondition` of
 * `k8s.io/apimachinery/pkg/api/meta/conditions.go`). The same said in the words of another controller is said: it would
 * take its own words back, and so on for ever (`internal/controller/cacert/reconciler.go` of `cozystack/cozystack`).
 */
export function withStatus(
  projection: TenantProjection,
  done: Verdict,
  now: number,
): TenantProjection | undefined {
  const { status, metadata } = projection
  const observedGeneration = metadata.generation ?? 0
  const conditions = conditionsIn(status)
  const old = conditions.find(isReadyCondition)
  const said = {
    type: READY,
    status: isReady(done) ? 'True' : 'False',
    observedGeneration,
    reason: done.reason,
  }
  const isSaid = Object.entries(said).every(([field, value]) => own(old, field) === value)
  const areWordsLeft = own(old, 'message') === done.message || !areWordsOurs(metadata)
  if (isSaid && areWordsLeft && own(status, 'observedGeneration') === observedGeneration) return undefined
  const since = textAt(old, 'status') === said.status ? textAt(old, 'lastTransitionTime') : undefined
  const condition = { ...said, message: done.message, lastTransitionTime: since ?? toTimestamp(now) }
  return {
    ...projection,
    status: {
      ...status,
      observedGeneration,
      conditions: [...conditions.filter((each) => !isReadyCondition(each)), condition],
    },
  }
}

/** The reason of its condition Ready; undefined when it has none. */
export const readyReason = ({ status }: TenantProjection): string | undefined =>
  textAt(conditionsIn(status).find(isReadyCondition), 'reason')

const conditionsIn = (status: TenantProjection['status']): readonly unknown[] => {
  const conditions = own(status, 'conditions')
  return Array.isArray(conditions) ? conditions.filter(isObject) : []
}

/**
 * Whether the message was written by this function (`metav1.ManagedFieldsEntry`, which the API server keeps: a changed field is
 * its who changed it). Only then is it written anew when it alone is another.
 */
function areWordsOurs(metadata: TenantProjection['metadata']): boolean {
  const entries = own(metadata, 'managedFields')
  return (
    Array.isArray(entries) &&
    entries.some(
      (entry) =>
        textAt(entry, 'manager') === FIELD_MANAGER &&
        at(entry, 'fieldsV1', 'f:status', 'f:conditions', `k:{"type":"${READY}"}`, 'f:message') !== undefined,
    )
  )
}

const isReadyCondition = (condition: unknown): boolean => textAt(condition, 'type') === READY
