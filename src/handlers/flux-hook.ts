import { isSignedByOneOf } from '../auth/flux-signature.ts'
import { refuse } from '../auth/refuse.ts'
import { isObject, own, parseJson } from '../core/json.ts'
import { fail, ok, type Result } from '../core/result.ts'
import { fromUtf8 } from '../core/text.ts'
import { MAX_BODY_BYTES, readRawBody } from './body.ts'
import { type Hint, hintAt, referenceAt } from './hint.ts'
import { hintRoute } from './hint-route.ts'
import type { Exchange, Services } from './services.ts'
import type { SyncHinted } from './sync-hinted.ts'

/**
 * `POST /hooks/flux`: what Flux's notification-controller sends by a Provider `generic-hmac`, about the HelmRelease that
 * its `involvedObject` names. It has neither time nor nonce, so that anybody who saw one can send it again: that is
 * another look at the same release, and nothing else.
 */
export const fluxHookRoute = (services: Services, syncHinted: SyncHinted) =>
  hintRoute(services, 'flux', syncHinted, (exchange, signal) => read(services, exchange, signal))

async function read(
  { fluxKeys }: Services,
  { request }: Exchange,
  signal: AbortSignal,
): Promise<Result<readonly Hint[]>> {
  const body = await readRawBody(request, signal, MAX_BODY_BYTES)
  if (!body.ok) return body
  // Over the bytes as they came, before anything reads them.
  const isSigned = await isSignedByOneOf(fluxKeys, body.value, request.headers.get('X-Signature'))
  if (!isSigned) return refuse('no key of ours has made X-Signature')
  const event = parseJson(fromUtf8(body.value) ?? '')
  if (!isObject(event))
    return fail({ reason: 'request_malformed', message: 'the body must be a JSON object' })
  const hint = hintAt(referenceAt(own(event, 'involvedObject')))
  if (!hint.ok) return hint
  return ok(hint.value === undefined ? [] : [hint.value])
}
