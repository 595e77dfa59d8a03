import type { Context } from 'hono'
import { presentedBy } from '../auth/authenticate.ts'
import type { AuthenticateSender } from '../auth/event-sender.ts'
import { ok, type Result } from '../core/result.ts'
import { MAX_BODY_BYTES, readRawBody } from './body.ts'
import { type CloudEvent, contentModeOf, headerAttribute, parseCloudEvents } from './cloud-event.ts'
import type { AppEnv } from './services.ts'

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
  c: Context<AppEnv>,
  authenticate: AuthenticateSender,
  signal: AbortSignal,
): Promise<Result<readonly CloudEvent[]>> {
  const { raw } = c.req
  const inHeaders = credentialsOf(raw.headers)
  const isInBody = contentModeOf(raw.headers) !== 'binary' && !inHeaders.areThere
  if (!isInBody) {
    const known = await authenticate({ ...inHeaders.sent, signal })
    if (!known.ok) return known
  }
  const body = await readRawBody(raw, signal, isInBody ? MAX_BODY_BYTES : MAX_EVENTS_BYTES)
  if (!body.ok) return body
  const events = parseCloudEvents(raw.headers, body.value)
  if (!isInBody) return events
  const keys = events.ok ? events.value.map(({ attribute }) => attribute(KEY) ?? '') : []
  const known = await authenticate({ token: undefined, keys, signal })
  return known.ok ? events : known
}

/** The same where it does not matter what was sent: its body, if it is small enough, is looked at for keys only. */
export async function tickSent(
  c: Context<AppEnv>,
  authenticate: AuthenticateSender,
  signal: AbortSignal,
): Promise<Result<undefined>> {
  if (contentModeOf(c.req.raw.headers) !== 'binary') {
    const events = await eventsSent(c, authenticate, signal)
    return events.ok ? ok(undefined) : events
  }
  const known = await authenticate({ ...credentialsOf(c.req.raw.headers).sent, signal })
  if (!known.ok) return known
  const body = await readRawBody(c.req.raw, signal, MAX_BODY_BYTES)
  return body.ok ? ok(undefined) : body
}

function credentialsOf(headers: Headers) {
  const presented = presentedBy(headers)
  const key = headerAttribute(headers, KEY)
  return {
    sent: { ...presented, keys: key === undefined ? [] : [key] },
    areThere: presented.token !== undefined || presented.refused !== undefined || key !== undefined,
  }
}
