import type { Later } from '../core/http.ts'
import type { SyncServices } from '../credentials/sync.ts'
import type { KubeEvent } from '../k8s/objects.ts'
import type { Exchange, Services } from './services.ts'

/** All of it but for where Events go. */
export type SyncParts = Omit<SyncServices, 'emit'>

/** What a sync works with while a request is answered. */
export const syncServicesOf = (services: Services, exchange: Exchange): SyncServices =>
  syncServicesWith(services, exchange.request.afterResponse)

/** The same where there is no request: `later` is given the work that nobody waits for. */
export const syncServicesWith = (services: SyncParts, later: Later): SyncServices => ({
  kube: services.kube,
  definitions: services.definitions,
  deps: services.deps,
  emit: emitterWith(services, later),
  graceMs: services.graceMs,
})

type Parts = Pick<SyncParts, 'kube' | 'deps'>

/** Events never hold up or fail the answer: they are sent when it has gone. */
export const emitterOf =
  (services: Services, exchange: Exchange) =>
  (event: KubeEvent): void => {
    const at = services.deps.now()
    exchange.request.afterResponse(() => send(services, event, at))
  }

/** The same while something long goes on: they are sent as they come, and not all at once when it is over. */
export const emitterWith =
  (services: Parts, later: Later) =>
  (event: KubeEvent): void => {
    const sent = send(services, event, services.deps.now())
    // Handled by `later`, which may look at it late.
    sent.catch(() => undefined)
    later(() => sent)
  }

async function send({ kube, deps }: Parts, event: KubeEvent, at: number): Promise<void> {
  const created = await kube.createEvent(event, at)
  if (!created.ok) deps.log('warn', 'event_lost', { lost: event.reason, reason: created.failure.reason })
}
