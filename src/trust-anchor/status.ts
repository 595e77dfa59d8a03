import { isObject, own, textAt } from '../core/json.ts'
import { toTimestamp } from '../core/text.ts'
import type { TenantProjection } from '../k8s/objects.ts'
import { isReady, type Verdict } from './verdict.ts'

const READY = 'Ready'

/**
 * The TenantProjection with the status that says what came of it; undefined when it says so already. One condition is
 * ours and the others are kept; when it changed is known only of its `status` (`meta.SetStatusCondition` of
 * `k8s.io/apimachinery/pkg/api/meta/conditions.go`).
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
    message: done.message,
  }
  const isSaid = Object.entries(said).every(([field, value]) => own(old, field) === value)
  if (isSaid && own(status, 'observedGeneration') === observedGeneration) return undefined
  const since = textAt(old, 'status') === said.status ? textAt(old, 'lastTransitionTime') : undefined
  const condition = { ...said, lastTransitionTime: since ?? toTimestamp(now) }
  return {
    ...projection,
    status: {
      ...status,
      observedGeneration,
      conditions: [...conditions.filter((each) => !isReadyCondition(each)), condition],
    },
  }
}

const conditionsIn = (status: TenantProjection['status']): readonly unknown[] => {
  const conditions = own(status, 'conditions')
  return Array.isArray(conditions) ? conditions.filter(isObject) : []
}

const isReadyCondition = (condition: unknown): boolean => textAt(condition, 'type') === READY
