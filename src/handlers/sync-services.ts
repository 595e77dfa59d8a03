import type { Context } from 'hono'
import type { SyncServices } from '../credentials/sync.ts'
import type { KubeEvent } from '../k8s/objects.ts'
import type { AppEnv, Services } from './services.ts'

/** What a sync works with while a request is answered. */
export const syncServicesOf = (services: Services, c: Context<AppEnv>): SyncServices => ({
  kube: services.kube,
  definitions: services.definitions,
  deps: services.deps,
  emit: emitterOf(services, c),
  graceMs: services.graceMs,
})

/** Events never hold up or fail the answer. */
export const emitterOf =
  ({ kube, deps }: Services, c: Context<AppEnv>) =>
  (event: KubeEvent): void => {
    const sent = kube.createEvent(event, deps.now()).then((created) => {
      if (created.ok) return
      deps.log('warn', 'event_lost', { lost: event.reason, reason: created.failure.reason })
    })
    c.env.afterResponse(sent)
  }
