import { fail, ok, type Result } from '../core/result.ts'
import type { AnchorOutcome } from '../trust-anchor/outcome.ts'
import { anchorServicesWith } from './anchor-services.ts'
import type { Exchange, Services } from './services.ts'
import { isConflict } from './sync.ts'
import { type Asked, type Done, type Named, syncCallRoute } from './sync-call.ts'

/**
 * `POST …/tenantprojections/{name}/sync`: publishes what it declares, now. Why it is not published is an answer like any
 * other: `200`, and the reason that the TenantProjection has in its condition Ready.
 */
export const projectionSyncRoute = (services: Services) =>
  syncCallRoute<undefined>(services, {
    resource: 'tenantprojections',
    kind: 'TenantProjection',
    param: 'projection',
    // It belongs to the platform alone: whoever may call this may know that there is none.
    prepare: async () => ok(undefined),
    perform: (exchange, projection, _, asked) => publishNow(services, exchange, projection, asked),
  })

async function publishNow(
  services: Services,
  exchange: Exchange,
  { namespace, name }: Named,
  { signal }: Asked,
): Promise<Result<Done>> {
  const anchors = anchorServicesWith(services, exchange.request.afterResponse)
  if (anchors === undefined) return fail({ reason: 'route_unknown' })
  const { reconcile } = await import('../trust-anchor/reconcile.ts')
  const done = await reconcile(anchors, { leg: 'projection', namespace, name }, { signal })
  if (!done.ok) {
    return isConflict(done.failure) ? fail({ reason: 'anchor_refused', name, cause: done.failure }) : done
  }
  if (done.value.is === 'absent') return fail({ reason: 'projection_not_found', name })
  return ok(doneOf(done.value))
}

function doneOf({ reason, message, ready, wrote }: Extract<AnchorOutcome, { is: 'done' }>): Done {
  return {
    message: `${reason}: ${message}`,
    causes: [{ reason, message }],
    fields: { reason, ready, wrote },
  }
}
