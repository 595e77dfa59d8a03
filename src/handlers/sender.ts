import { presentedBy } from '../auth/authenticate.ts'
import type { AuthenticateSender } from '../auth/event-sender.ts'
import type { HeaderFields } from '../core/http.ts'
import { ok, type Result } from '../core/result.ts'
import { MAX_BODY_BYTES, readRawBody } from './body.ts'
import { type CloudEvent, contentModeOf, headerAttribute, parseCloudEvents } from './cloud-event.ts'
import type { Exchange } from './services.ts'

/** The extension attribute that may carry a key: a source sets it by `ceOverrides`. */
const KEY = 'mintoncekey'
/** In resource mode an event has the whole HelmRelease, and a batch has many. */
const MAX_EVENTS_BYTES = 8 * 1024 * 1024

/**
 * The events of a request by somebody who may send some. Nothing is read for anybody else, but for this: who has put a
 * key into the events themselves has to be let in to show it, with no more than other bodies may have. Fails with
 * `unauthenticated`, and as `parseCloudEvents` and `readRawBody` do.
 */
export async function eventsSent(
  exchange: Exchange,
  authenticate: AuthenticateSender,
  signal: AbortSignal,
): Promise<Result<readonly CloudEvent[]>> {
  const { request } = exchange
  const inHeaders = credentialsOf(request.headers)
  const isInBody = contentModeOf(request.headers) !== 'binary' && !inHeaders.areThere
  if (!isInBody) {
    const known = await authenticate({ ...inHeaders.sent, signal })
    if (!known.ok) return known
  }
  const body = await readRawBody(request, signal, isInBody ? MAX_BODY_BYTES : MAX_EVENTS_BYTES)
  if (!body.ok) return body
  const events = parseCloudEvents(request.headers, body.value)
  if (!isInBody) return events
  const keys = events.ok ? events.value.map(({ attribute }) => attribute(KEY) ?? '') : []
  const known = await authenticate({ token: undefined, keys, signal })
  return known.ok ? events : known
}

/** The same where it does not matter what was sent: its body, if it is small enough, is looked at for keys only. */
export async function tickSent(
  exchange: Exchange,
  authenticate: AuthenticateSender,
  signal: AbortSignal,
): Promise<Result<undefined>> {
  if (contentModeOf(exchange.request.headers) !== 'binary') {
    const events = await eventsSent(exchange, authenticate, signal)
    return events.ok ? ok(undefined) : events
  }
  const known = await authenticate({ ...credentialsOf(exchange.request.headers).sent, signal })
  if (!known.ok) return known
  const body = await readRawBody(exchange.request, signal, MAX_BODY_BYTES)
  return body.ok ? ok(undefined) : body
}

function credentialsOf(headers: HeaderFields) {
  const presented = presentedBy(headers)
  const key = headerAttribute(headers, KEY)
  return {
    sent: { ...presented, keys: key === undefined ? [] : [key] },
    areThere: presented.token !== undefined || presented.refused !== undefined || key !== undefined,
  }
}
