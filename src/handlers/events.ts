import type { AuthenticateSender } from '../auth/event-sender.ts'
import { ok, type Result } from '../core/result.ts'
import type { CloudEvent } from './cloud-event.ts'
import { type Hint, hintIn } from './hint.ts'
import { hintRoute } from './hint-route.ts'
import { eventsSent, tickSent } from './sender.ts'
import type { Handler, Services } from './services.ts'
import type { SyncHinted } from './sync-hinted.ts'

/**
 * `POST /events`: CloudEvents 1.0 over HTTP, binary, structured or batched. Each is a hint that something happened to a
 * HelmRelease, or to what CAs are published from, which is read again; a PingSource's is a tick. Others mean nothing
 * here, and are done.
 */
export const eventsRoute = (
  services: Services,
  sender: AuthenticateSender,
  syncHinted: SyncHinted,
): Handler =>
  hintRoute(services, 'events', syncHinted, async (exchange, signal) => {
    const events = await eventsSent(exchange, sender, signal)
    return events.ok ? hintsIn(services, events.value) : events
  })

/** `POST /tick`: whoever may send events says that it is time to look at everything. */
export const tickRoute = (services: Services, sender: AuthenticateSender, syncHinted: SyncHinted): Handler =>
  hintRoute(services, 'tick', syncHinted, async (exchange, signal) => {
    const sent = await tickSent(exchange, sender, signal)
    return sent.ok ? ok([{ is: 'tick' }]) : sent
  })

function hintsIn({ anchors }: Services, events: readonly CloudEvent[]): Result<readonly Hint[]> {
  const hints: Hint[] = []
  for (const event of events) {
    const hint = hintIn(event, { anchors: anchors !== undefined })
    if (!hint.ok) return hint
    if (hint.value !== undefined) hints.push(hint.value)
  }
  return ok(hints)
}
