import type { Context } from 'hono'
import type { RequestContext } from '../core/deps.ts'
import type { SyncServices } from '../credentials/sync.ts'
import type { KubeEvent } from '../k8s/objects.ts'
import type { AppEnv, Services } from './services.ts'

type Later = RequestContext['afterResponse']
/** All of it but for where Events go. */
export type SyncParts = Omit<SyncServices, 'emit'>

/** What a sync works with while a request is answered. */
export const syncServicesOf = (services: Services, c: Context<AppEnv>): SyncServices =>
  syncServicesWith(services, c.env.afterResponse)

/** The same where there is no request: `later` is given the work that nobody waits for. */
export const syncServicesWith = (services: SyncParts, later: Later): SyncServices => ({
  kube: services.kube,
  definitions: services.definitions,
  deps: services.deps,
  emit: emitterWith(services, later),
  graceMs: services.graceMs,
})

/** Events never hold up or fail the answer. */
export const emitterOf = (services: Services, c: Context<AppEnv>) =>
  emitterWith(services, c.env.afterResponse)

export const emitterWith =
  ({ kube, deps }: Pick<SyncParts, 'kube' | 'deps'>, later: Later) =>
  (event: KubeEvent): void => {
    const sent = kube.createEvent(event, deps.now()).then((created) => {
      if (created.ok) return
      deps.log('warn', 'event_lost', { lost: event.reason, reason: created.failure.reason })
    })
    later(sent)
  }
